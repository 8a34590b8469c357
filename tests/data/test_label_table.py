"""A folder of which a table names a few images: rows, faults that are said before a model is asked, and the audit."""

import csv
import json
import random

import numpy as np
import pytest
import torch
from planted_pictures import PROCESSOR, USUAL, Onlooker, planted_folder

import oochub
from oochub.data.label_table import open_few_labels
from oochub.errors import OochubError
from oochub.evaluation.unlabeled_rows import KnownRows, estimate_numbers
from oochub.prediction.predictions import Predictions
from oochub.report.report import Report
from oochub.settings.data_settings import DataSettings, LabelSettings


class Doubtful(Onlooker):
    """Right more often the surer it is: noise that the image decides, beside what the object says; counts passes."""

    passes = 0

    def forward(self, pixel_values):
        Doubtful.passes += 1
        noise = 2 * torch.sin(9973 * pixel_values[:, 0, 0, 0] + 331 * pixel_values[:, 1, 0, 0])
        found = super().forward(pixel_values)
        sign = found.logits[:, 1] / 2 + noise
        found.logits = torch.stack([-sign, sign], dim=1) / 2
        return found


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """400 images in one folder, their true rows, and a table of 60 with a label, 200 more with a context alone."""
    folder = planted_folder(tmp_path_factory.mktemp("few") / "squares", train=1, test=200) / "test"
    rows = list(csv.reader((folder / "metadata.csv").open(encoding="utf-8")))[1:]
    random.Random(0).shuffle(rows)
    (folder / "metadata.csv").unlink()
    return folder, rows, write(folder.parent / "few.csv", [*rows[:60], *([n, "", c] for n, _, c in rows[60:260])])


def write(file, rows, head=("file_name", "label", "context")):
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([head, *rows])
    return file


def read(folder, table, **more):
    data = {name: more.pop(name) for name in ("label", "context", "cluster", "data_dir") if name in more}
    return open_few_labels(folder, LabelSettings(labels=str(table), **more), DataSettings(**data)).rows["train"]


def test_rows_of_a_folder(world):
    """By hand, in each form of table; Windows spells a path with backslashes. Fault planted: labels in listed order."""
    folder, rows, table = world
    data = read(folder, table)
    truth = {name[:-4]: (label, context) for name, label, context in rows}
    labeled, placed = ({name[:-4] for name, *_ in rows[:end]} for end in (60, 260))
    assert len(data) == 400 and data.column_names[:4] == ["example_id", "image", "label", "context"]
    for row in data.remove_columns("image"):
        label, context = truth[row["example_id"]]
        assert row["label"] == (data.features["label"].str2int(label) if row["example_id"] in labeled else -1)
        assert row["context"] == (data.features["context"].str2int(context) if row["example_id"] in placed else -1)
        assert (row["group"] >= 0) == (row["example_id"] in labeled)
    lines = [{"file_name": f".\\{n}", "tone": la, "place": c} for n, la, c in rows[:60]]
    other = folder.parent / "few.jsonl"
    other.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    named = read(folder, other, label="tone", context="place")
    assert named["label"][:] == data["label"][:] and set(named["context"][:]) == {-1, 0, 1}


def test_another_folder_has_images_without_labels(world, tmp_path):
    """Names of both folders are alike, so ids are paths. Fault planted: a label for the image of the same name."""
    folder, _, table = world
    more = planted_folder(tmp_path / "more", train=3, test=0) / "train"
    data = read(folder, table, unlabeled=str(more))
    assert len(data) == 406 and len(set(data["example_id"][:])) == 406
    assert sum(label >= 0 for label in data["label"][:]) == 60 and set(data["label"][400:]) == {-1}


def test_whole_numbers_stay_numbers(world, tmp_path):
    folder, rows, _ = world
    table = write(tmp_path / "few.csv", [[name, int(label == "light"), c] for name, label, c in rows[:9]])
    assert set(read(folder, table)["label"][:]) == {-1, 0, 1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": "no.csv"}, "no.csv does not exist"),
        ({"rows": [["absent.png", "light", "red"]]}, "'absent.png', and there is no such image"),
        ({"rows": [["../x.png", "light", "red"]]}, "there is no such image"),
        ({"rows": [["light0.png", "light", "red"], ["light0.png", "dark", "red"]]}, "both name light0.png"),
        ({"rows": [["light0.png", "", "red"]]}, "No row of .* has a label"),
        ({"rows": [["light0.png", "light", ""], ["light1.png", "dark", "red"]]}, "1 of 2 rows .* have no context"),
        ({"rows": [["light0.png", "grey", "red"], ["light1.png", "light", "blue"]]}, "grey"),
        ({"rows": [["light0.png", "light"]], "head": ["file_name", "label"]}, "No context column found"),
        ({"rows": [["light0.png", "light"]], "head": ["file_name", "breed"]}, "label"),
        ({"rows": [["light0.png", "light"]], "head": ["image", "label"]}, "file_name"),
        ({"source": "spawrious/o2o_hard"}, "needs a folder of images"),
        ({"cluster": "x"}, "cluster= cannot be combined with labels="),
        ({"unlabeled": "nowhere"}, "needs a folder of images, got 'nowhere'"),
        ({"labels": None, "proxy": ["p.parquet"]}, "proxy= requires a table"),
        ({"proxy": ["p.parquet"]}, "p.parquet"),
    ],
)
def test_faults_are_said_before_the_model_is_asked(world, tmp_path, change, words):
    folder, _, table = world
    rows, head = change.pop("rows", None), change.pop("head", ("file_name", "label", "context"))
    given = {"labels": table if rows is None else write(tmp_path / "few.csv", rows, head), **change}
    Doubtful.passes = 0
    with pytest.raises(OochubError, match=words):
        oochub.audit(Doubtful("object"), given.pop("source", folder), image_processor=PROCESSOR, **given)
    assert Doubtful.passes == 0


@pytest.mark.slow
def test_an_audit_of_few_labels(world, tmp_path):
    """Numbers of the labeled images alone are those of an audit of these; the others add to them."""
    folder, _, table = world
    given = {"image_processor": PROCESSOR, "usual": USUAL}
    report = oochub.audit(Doubtful("object"), folder, labels=table, out=tmp_path / "audit", **given)
    found = report.findings["few_labels"]
    assert (found.n_labeled, found.n_unlabeled, found.n_contexts, found.proxies) == (60, 340, 200, ())
    alone = {row.name: row.alone for row in found.rows}
    assert alone["accuracy"] == report["accuracy"] and report.slice("all").n == 60
    for name in ("in_context", "out_of_context"):
        assert alone[name] == report[f"{name}/accuracy"]
    assert alone["gap"] == pytest.approx(report["gap"])
    saved = {row.name: row.saved for row in found.rows}
    assert 0.1 < saved["accuracy"] < 340 / 400 and found.correlation > 0.4 and found.p_value > 0.01
    assert oochub.get("section", "few_labels")().found(Report.load(tmp_path / "audit/report.json")) == found
    assert "Few labels" in (tmp_path / "audit/report.html").read_text("utf-8")
    assert report["few_labels/accuracy/together"] == next(iter(found.rows)).together
    same = oochub.audit(
        Doubtful("object"), folder, labels=table, proxy=tmp_path / "audit/predictions.parquet", **given
    ).findings["few_labels"]
    assert [row.together for row in same.rows] == [row.together for row in found.rows] and len(same.proxies) == 1
    other = Predictions.load(tmp_path / "audit/predictions.parquet")
    turned = other.take(np.arange(len(other))[::-1])
    again = oochub.audit(Doubtful("object"), folder, labels=table, proxy=turned, **given).findings["few_labels"]
    assert [row.together for row in again.rows] == pytest.approx([row.together for row in found.rows])
    with pytest.raises(OochubError, match="has no prediction for 399 of 400 images"):
        oochub.audit(Doubtful("object"), folder, labels=table, proxy=other.take(np.arange(1)), **given)


@pytest.mark.slow
def test_all_labels_leave_nothing_to_add(world, tmp_path):
    folder, rows, _ = world
    report = oochub.audit(
        Doubtful("object"), folder, labels=write(tmp_path / "all.csv", rows), image_processor=PROCESSOR, usual=USUAL
    )
    found = report.findings["few_labels"]
    assert found.n_unlabeled == 0 and found.p_value is None
    assert all(row.saved == 0 and row.alone == row.together for row in found.rows)
    assert "nothing to add" in report.to_markdown()


@pytest.mark.slow
def test_labels_that_were_not_chosen_at_random_are_said(world, tmp_path):
    """The images of which the model is sure have labels. Fault planted: the p-value of the labeled ones alone."""
    folder, rows, table = world
    given = {"image_processor": PROCESSOR, "usual": USUAL}
    oochub.audit(Doubtful("object"), folder, labels=table, out=tmp_path / "audit", **given)
    every = Predictions.load(tmp_path / "audit/predictions.parquet")
    sure = np.argsort(-every.probability.max(axis=1))[:100]
    names = {f"{each}.png" for each in every.column("example_id")[sure]}
    chosen = write(tmp_path / "sure.csv", [row for row in rows if row[0] in names])
    said = oochub.audit(Doubtful("object"), folder, labels=chosen, **given).to_markdown()
    assert "do not look like a random choice" in said


@pytest.mark.slow
def test_pairs_that_no_label_has():
    """20 classes in 10 contexts, 100 labels, so that most pairs are unseen: 200 worlds, on average the truth."""
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        context, label = rng.integers(0, 10, 2_000), rng.integers(0, 20, 2_000)
        label = np.where(rng.random(2_000) < 0.5, context + 10 * rng.integers(0, 2, 2_000), label)
        usual = label % 10 == context
        mean = np.where(usual, 0.85, 0.6)
        chance = rng.beta(3 * mean, 3 - 3 * mean)
        answer = np.where(rng.random(2_000) < chance, label, (label + rng.integers(1, 20, 2_000)) % 20)
        probability = np.repeat((1 - chance)[:, None] / 19, 20, axis=1)
        probability[np.arange(2_000), answer] = chance
        numbers = estimate_numbers(
            KnownRows(
                label=label[:100],
                prediction=answer,
                probability=probability,
                context=context,
                is_usual=usual[:100],
                is_unusual=~usual[:100],
            )
        )
        found.append([numbers[name].together.value for name in ("in_context", "out_of_context", "gap")])
    for values, truth in zip(np.transpose(found), (0.85, 0.6, -0.25), strict=True):
        assert values.mean() == pytest.approx(truth, abs=0.012)
