"""The benchmark's own rows decide between senders: what is scored is their answers, under its labels and sides."""

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from leaderboard_entries import sent_entry
from sklearn.metrics import accuracy_score
from typer.testing import CliRunner

import oochub
from oochub.app import app
from oochub.errors import OochubError, OochubWarning
from oochub.exchange.answers_file import AnswersFile, join_answers
from oochub.leaderboard.benchmark_rows import BenchmarkRows
from oochub.leaderboard.compared_rows import digest_compared_rows
from oochub.leaderboard.leaderboard_entry import BoardKey
from oochub.leaderboard.site import Site, load_truth
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildFacts

ROWS = 120


@pytest.fixture(scope="module")
def birds(tmp_path_factory):
    """Own data as a table: a bird in its place, or in another's."""
    rng = np.random.default_rng(0)
    bird = rng.choice(["gull", "wren"], ROWS)
    usual = np.where(bird == "gull", "sea", "land")
    place = np.where(rng.random(ROWS) < 0.7, usual, np.where(usual == "sea", "land", "sea"))
    folder = tmp_path_factory.mktemp("birds")
    table = pd.DataFrame({"example_id": [f"b{k:03d}" for k in range(ROWS)], "label": bird, "context": place})
    for split, part in (("train", table[:40]), ("test", table[40:])):
        (folder / "birds").mkdir(exist_ok=True)
        part.to_csv(folder / "birds" / f"{split}.csv", index=False)
    return folder / "birds"


def _predictions(birds, seed, skill=1.5, model="m"):
    data = oochub.load(birds)["test"]
    label = np.array(data["label"])
    rng = np.random.default_rng(seed)
    score = (2 * label - 1) * skill * rng.random(len(label)) + rng.normal(size=len(label))
    answers = pa.table({"example_id": data["example_id"], "logits": np.stack([0 * score, score], 1).tolist()})
    file = AnswersFile(name=f"{model}.csv", sha256="", table=answers)
    return join_answers(file, {"test": data}, model_name=model)


def _forged(made, **columns):
    """The same answers beside other labels, sides or ids."""
    table = made.table
    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(name), pa.array(values, table.schema.field(name).type))
    return Predictions(table, made.metadata)


def _rows(site):
    (board,) = site.boards
    return {row.entry.model: row for row in board.rows}


@pytest.mark.slow
def test_the_benchmarks_own_labels_decide(birds, tmp_path):
    """Three forged entries, sent first, against one honest: without the labels each set is apart, with them one stands.

    The truth is scikit-learn's on the labels of the table. Once it was given it is remembered. Seen: the three were
    verified, the one was not. Planted fault seen: the truth is not kept.
    """
    made = _predictions(birds, 1)
    right = _forged(made, label=made.prediction)
    for number in range(3):
        sent_entry(tmp_path / "results", predictions=right, model=f"forged {number}", date="1999-01-01")
    sent_entry(tmp_path / "results", predictions=made, model="honest")
    site = Site.write(tmp_path / "results", tmp_path / "site")
    assert site.boards[0].undecided and [len(part.rows) for part in site.boards[0].sets] == [3, 1]
    assert all(row.reason for row in _rows(site).values())
    Site.write(tmp_path / "results", tmp_path / "site", truth=[birds])
    site = Site.write(tmp_path / "results", tmp_path / "site")
    rows = _rows(site)
    wrong = int((made.prediction != made.label).sum())
    assert rows["honest"].rank == (1, 1) and not site.boards[0].undecided
    assert float(rows["honest"].report["accuracy"]) == pytest.approx(accuracy_score(made.label, made.prediction))
    for number in range(3):
        assert (
            f"{wrong} of its labels differ from the benchmark's own, first that of b" in rows[f"forged {number}"].reason
        )
    page = (site.folder / "boards" / f"custom-{made.metadata.config}.html").read_text("utf-8")
    assert "under the labels, sides and groups of birds" in page


@pytest.mark.slow
def test_sides_and_groups_are_the_benchmarks(birds, tmp_path):
    """Rows that were answered wrong are called easy: the board's numbers are those of the true sides."""
    made = _predictions(birds, 1)
    wrong = made.prediction != made.label
    moved = _forged(made, challenge=np.where(wrong, "easy", made.column("challenge")))
    sent_entry(tmp_path / "results", predictions=moved, model="moved", resamples=1000)
    (row,) = _rows(Site.write(tmp_path / "results", tmp_path / "site", truth=[birds])).values()
    true = oochub.evaluate(made, resamples=1000)
    assert "was sent as" in row.reason
    assert row.report.headline("out").to_dict() == true.headline("out").to_dict()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda made: made.take(np.arange(len(made) - 3)), "3 rows of the benchmark are missing, first b117 of test"),
        (lambda made: _forged(made, example_id=["x", *made.column("example_id")[1:]]), "1 of its rows are not in"),
        (lambda made: _forged(made, split=["other"] * len(made)), ""),
    ],
)
def test_other_rows_are_not_the_benchmarks(birds, tmp_path, change, words):
    made = _predictions(birds, 1)
    if not words:
        table = made.table.set_column(1, "split", pa.array(["other"] * len(made)))

        changed, words = Predictions(table, replace(made.metadata, rows={"other": len(made)})), "has no split other"
    else:
        changed = change(made)
    with pytest.raises(OochubError, match=words):
        BenchmarkRows.load(str(birds)).under(changed)


@pytest.mark.slow
def test_any_order_of_rows_and_classes_is_fine(birds):
    """Answers of a model that numbers the classes the other way round, row by row from the end."""
    made = _predictions(birds, 1)
    turned = made.take(np.arange(len(made))[::-1])
    table = turned.table.set_column(
        turned.column_names.index("logits"), "logits", pa.array(turned.logits[:, ::-1].tolist(), pa.list_(pa.float32()))
    )
    table = table.set_column(turned.column_names.index("label"), "label", pa.array(1 - turned.label))
    other = Predictions(table, replace(made.metadata, class_names=tuple(made.class_names[::-1])))
    rows = BenchmarkRows.load(str(birds))
    for each in (made, turned, other):
        own = rows.under(each)
        assert own.label.tolist() == each.label.tolist() and own.digest == each.digest
        assert own.column("group").tolist() == each.column("group").tolist()
        assert float(oochub.evaluate(own)["accuracy"]) == pytest.approx(accuracy_score(made.label, made.prediction))


@pytest.mark.slow
def test_what_was_kept_under_other_labels_is_not_taken(birds, tmp_path):
    """Planted fault seen: the rows left out of the key of the cache; other rows of a version replaced those given."""
    sent_entry(tmp_path / "results", predictions=_predictions(birds, 1))
    changed = tmp_path / "birds"
    changed.mkdir()
    for file in birds.iterdir():
        text = file.read_text()
        (changed / file.name).write_text(text.replace("gull", "w").replace("wren", "gull").replace(",w,", ",wren,"))
    first = Site.write(tmp_path / "results", tmp_path / "site", truth=[birds])
    with pytest.raises(OochubError, match=r"differ from them: 120 rows relabelled\. Changed rows are a new version"):
        Site.write(tmp_path / "results", tmp_path / "site", truth=[changed])
    (kept,) = (tmp_path / "results" / "truth").iterdir()
    shutil.rmtree(kept)
    other = Site.write(tmp_path / "results", tmp_path / "site", truth=[changed])
    assert (
        not first.boards[0].rows[0].reason
        and "labels differ from the benchmark's own" in other.boards[0].rows[0].reason
    )


@pytest.mark.slow
def test_the_command(birds, tmp_path):
    made = _predictions(birds, 1)
    sent_entry(tmp_path / "results", predictions=made, model="honest")
    sent_entry(tmp_path / "results", predictions=_forged(made, label=made.prediction), model="forged")
    said = [str(tmp_path / "results"), "--out", str(tmp_path / "site")]
    shown = CliRunner().invoke(app, ["leaderboard", *said])
    assert shown.exit_code == 0 and "0 verified" in shown.stdout and "--truth SOURCE" in " ".join(shown.stdout.split())
    shown = CliRunner().invoke(app, ["leaderboard", *said, "--truth", str(birds), "--json"])
    content = json.loads(shown.stdout)
    assert content["verified"] == 1 and [name for name in content["not_verified"] if "forged" in name]


@pytest.mark.slow
def test_rows_of_which_there_is_no_entry_are_said(birds, tmp_path):
    (tmp_path / "results").mkdir()
    with pytest.warns(OochubWarning, match="There are no entries for custom/birds"):
        Site.write(tmp_path / "results", tmp_path / "site", truth=[birds])
    with pytest.raises(OochubError, match="are named twice"):
        Site.write(tmp_path / "results", tmp_path / "site", truth=[birds, birds])


def test_names_of_classes_tell_rows_apart_only_where_sides_are_named_by_them():
    """Planted fault seen: names that no side needs, and none where they do."""
    rows = {"logits": [[1.0, 0.0]] * 2, "label": [0, 1], "example_id": ["a", "b"], "group": ["cat/sofa", "dog/sofa"]}
    both = [Predictions.from_arrays(**rows, class_names=names) for names in (["cat", "dog"], ["dog", "cat"])]
    assert len({digest_compared_rows(each) for each in both}) == 1
    facts = BuildFacts(usual_contexts={"cat": ("sofa",), "dog": ("lawn",)})
    named = [Predictions(each.table, replace(each.metadata, facts=facts)) for each in both]
    assert len({digest_compared_rows(each) for each in (*both, *named)}) == 3


def test_each_benchmark_has_its_own_rows_once(monkeypatch):
    """Planted fault seen: rows that are named are not read."""
    rows = {
        name: SimpleNamespace(key=BoardKey(name[0], "one", name[3:]), source=name)
        for name in ("a1-1.0.0", "a2-1.0.0", "b1-1.0.0", "b2-2.0.0")
    }
    monkeypatch.setattr(BenchmarkRows, "load", rows.get)
    named = ["a1-1.0.0", "b1-1.0.0", "b2-2.0.0"]
    assert load_truth([]) == {} and [*load_truth(named).values()] == [rows[name] for name in named]
    with pytest.raises(OochubError, match=r"a/one .* are named twice: a1-1.0.0 and a2-1.0.0"):
        load_truth(["a1-1.0.0", "a2-1.0.0"])
