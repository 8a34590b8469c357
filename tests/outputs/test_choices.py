"""Answers that are none of the classes: wrong, counted, never left out; against plain loops over the rows."""

import html
import io
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rich.console import Console
from sklearn.metrics import f1_score

import oochub
from oochub.cli import main
from oochub.comparison.compare import _compare_predictions as paired_comparison
from oochub.errors import OochubError
from oochub.output import get_output
from oochub.prediction.predictions import Predictions
from oochub.report.report import Report

NAMES = ["cat", "dog", "cow"]
PLACES = ["grass", "road", "snow"]
USUAL = {"cat": ["road"], "dog": ["grass"], "cow": ["snow"]}
N = 120


def drawn(seed=0, outside=0.15, **more):
    """Columns of 120 answers, a share of them none of the classes; easy where the context is usual."""
    rng = np.random.default_rng(seed)
    label, place = rng.integers(0, 3, N), rng.integers(0, 3, N)
    answer = np.where(rng.random(N) < 0.6, label, rng.integers(0, 3, N))
    answer[rng.random(N) < outside] = -1
    context = [PLACES[k] for k in place]
    usual = [where in USUAL[NAMES[y]] for y, where in zip(label, context, strict=True)]
    return {
        "label": label.tolist(),
        "prediction": answer.tolist(),
        "context": context,
        "challenge": ["easy" if each else "hard" for each in usual],
        "group": [f"{NAMES[y]}/{where}" for y, where in zip(label, context, strict=True)],
        "answer": [f"I see <b>{k}</b> & more" for k in range(N)],
    } | more


def predicted(columns=None, **more):
    return Predictions.from_arrays(class_names=NAMES, **(columns or drawn()), **more)


def with_contexts(columns):
    """The same, with a record of the usual contexts."""
    rows = {"example_id": [str(k) for k in range(N)], "split": ["test"] * N, **columns}
    told = {"model": {"id": "m"}, "class_names": NAMES, "rows": {"test": N}, "benchmark": "mine", "config": "own"}
    return Predictions(pa.table(rows), told | {"kind": "choices", "version": "1", "facts": {"usual_contexts": USUAL}})


@pytest.fixture
def run(monkeypatch):
    """Runs a command; gives its exit status."""

    def exit_status(*words):
        monkeypatch.setattr(sys, "argv", ["oochub", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    return exit_status


def share(columns, wanted=lambda row: True):
    """By a loop: rows, right ones, and answers that are none."""
    rows = [k for k in range(len(columns["label"])) if wanted(k)]
    right = sum(columns["label"][k] == columns["prediction"][k] >= 0 for k in rows)
    return len(rows), right, sum(columns["prediction"][k] == -1 for k in rows)


def test_an_answer_that_fits_no_class_is_wrong_and_stays_a_row():
    """Every number by a loop. Planted faults seen: rows with -1 left out; -1 that finds the last class."""
    columns = drawn()
    report = oochub.evaluate(predicted(columns), metrics=["accuracy", "error_rate", "f1_macro", "worst_group"])
    sides = {"all": lambda k: True}
    sides |= {"in_context": lambda k: columns["challenge"][k] == "easy"}
    sides |= {"out_of_context": lambda k: columns["challenge"][k] == "hard"}
    for name, wanted in sides.items():
        n, right, outside = share(columns, wanted)
        part = report.slice(name)
        assert (part.n, part.none_of_them) == (n, outside) and outside > 0
        assert part.metrics["accuracy"].n == part.metrics["error_rate"].n == n
        assert report[f"{name}/accuracy"] == pytest.approx(right / n)
        assert report[f"{name}/error_rate"] == pytest.approx(1 - right / n)
        assert report[f"{name}/none_of_them"] == pytest.approx(outside / n)
    kept = [k for k in range(N) if columns["prediction"][k] >= 0]
    dropped = np.mean([columns["label"][k] == columns["prediction"][k] for k in kept])
    assert report["accuracy"] < dropped - 0.05  # leaving them out would decide the result
    f1 = f1_score(columns["label"], columns["prediction"], labels=[0, 1, 2], average="macro")
    assert report["f1_macro"] == pytest.approx(f1) and report.slice("all").metrics["f1_macro"].n == N
    of_group = {g: share(columns, lambda k, g=g: columns["group"][k] == g) for g in set(columns["group"])}
    assert report["worst_group.accuracy"] == pytest.approx(min(right / n for n, right, _ in of_group.values()))
    assert report.worst_group["accuracy"].estimate == report["worst_group.accuracy"]
    assert sum(row.n for row in report.group_rows) == N
    assert not {"worst_group.nll", "nll"} & {key for part in report.slices for key in part.metrics}


def test_a_row_outside_the_label_set_is_not_known_whatever_was_answered():
    """Fault planted: label -1 and prediction -1 count as right."""
    predictions = predicted({"label": [-1, -1, 0, 1], "prediction": [-1, 0, -1, 1]})
    arrays = predictions.output.arrays(predictions)
    assert arrays["correct"].tolist() == [False, False, False, True] and arrays["loss"].tolist() == [1, 1, 1, 0]
    assert predictions.output.wrong(arrays).tolist() == [True, True, True, False]
    report = oochub.evaluate(predictions)
    assert (report["accuracy"], report.slice("all").n, report.slice("all").none_of_them) == (0.5, 2, 1)
    assert "1 of 2 answers fits no class and counts as wrong" in report.notes


def test_a_model_that_never_names_a_class_has_accuracy_0():
    report = oochub.evaluate(predicted(drawn() | {"prediction": [-1] * N}))
    assert report["accuracy"] == 0 and report.slice("all").none_of_them == report.slice("all").n == N
    assert oochub.evaluate(predicted(drawn() | {"prediction": [-1] * N}), metrics=["f1_macro"])["f1_macro"] == 0
    assert "none of them" in report.to_html()


@pytest.mark.parametrize("none", [-1, None, float("nan"), ""], ids=repr)
def test_none_of_them_may_be_given_in_several_ways(none):
    """-1, None and nan among numbers; None, "" and "-1" among names."""
    numbers = [0, none, 2] if none != "" else ["cat", none, "cow"]
    for given in (numbers, ["cat", "-1" if none == -1 else none, "cow"]):
        by_arrays = Predictions.from_arrays(prediction=given, label=[0, 1, 2], class_names=NAMES)
        frame = pd.DataFrame({"prediction": given, "label": ["cat", "dog", "cow"]})
        by_frame = Predictions.from_pandas(frame, class_names=NAMES)
        assert by_arrays.prediction.tolist() == by_frame.prediction.tolist() == [0, -1, 2]
        assert by_arrays.metadata.none_of_them == {"test": 1}


def test_a_name_that_is_no_class_is_an_error():
    for given, words in (
        (["cat", "horse", ""], r"among the classes cat, dog, cow; got horse"),
        ([0, -2, 1], r"1 predictions are not one of the 3 classes or -1, first -2"),
        ([0, 3, 1], r"1 predictions are not one of the 3 classes or -1, first 3"),
        ([0.5, None, 1.0], r"class number, its name, or -1 for none, got 0\.5"),
    ):
        with pytest.raises(OochubError, match=words):
            Predictions.from_arrays(prediction=given, label=[0, 1, 2], class_names=NAMES)
    with pytest.raises(OochubError, match="no classes are named"):
        Predictions.from_arrays(prediction=["cat", "dog"], label=[0, 1])


def test_a_class_may_be_called_none_of_them():
    predictions = Predictions.from_arrays(
        prediction=["none of them", None], label=[0, 0], class_names=["a", "none of them"]
    )
    assert predictions.prediction.tolist() == [1, -1]
    shown = [mistake.predicted for mistake in oochub.evaluate(predictions).mistakes]
    assert sorted(shown) == ["none of them", "none of these classes"]


def test_the_count_is_that_of_the_rows_and_travels_with_the_file(tmp_path):
    """Fault planted: a count that is read from the file, whatever its rows are."""
    columns = drawn(split=["train"] * 40 + ["test"] * 80)
    predictions = predicted(columns)
    counted = Counter(s for s, a in zip(columns["split"], columns["prediction"], strict=True) if a < 0)
    assert predictions.metadata.none_of_them == dict(counted)
    again = Predictions.load(predictions.save(tmp_path / "p.parquet"))
    assert again.metadata == predictions.metadata and again.column("answer").tolist() == columns["answer"]
    assert again.take(np.array([k for k in range(N) if columns["prediction"][k] >= 0])).metadata.none_of_them == {
        "train": 0,
        "test": 0,
    }
    assert (
        f"{sum(counted.values())} of {N} answers fit no class" in repr(again) and "fit no class" in again._repr_html_()
    )
    sure = Predictions.from_arrays(logits=np.eye(3), label=[0, 1, 2])
    assert sure.metadata.none_of_them is None and "fit no class" not in repr(sure)


def test_every_form_of_a_report_says_how_many(tmp_path):
    columns = drawn()
    report = oochub.evaluate(predicted(columns))
    (n, _, outside), (easy, _, of_easy), (hard, _, of_hard) = (
        share(columns, lambda k, side=side: side in ("all", columns["challenge"][k]))
        for side in ("all", "easy", "hard")
    )
    said = (
        f"{outside} of {n} answers fit no class and count as wrong: easy {of_easy} of {easy}, hard {of_hard} of {hard}"
    )
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(report.to_terminal())
    forms = {
        "terminal": console.export_text(),
        "markdown": report.to_markdown(),
        "compact": report.to_latex(),
        "full": report.to_latex("full"),
        "page": html.unescape(report.to_html()),
        "notebook": html.unescape(report._repr_html_()),
    }
    assert [name for name, text in forms.items() if said not in " ".join(text.split())] == []
    frame = report.to_pandas().set_index(["slice", "metric"])
    assert frame.loc[("out_of_context", "none_of_them"), "value"] == pytest.approx(of_hard / hard)
    again = Report.load(report.save(tmp_path / "r.json"))
    assert again.slice("out_of_context").none_of_them == of_hard and again.notes == report.notes
    assert oochub.evaluate(predicted(drawn(outside=0))).notes == ()


def test_words_that_the_model_wrote_stand_with_the_worst_mistakes_and_are_escaped():
    report = oochub.evaluate(predicted())
    kinds = {mistake.kind for mistake in report.mistakes}
    assert {"no_class", "confused"} <= kinds
    for mistake in report.mistakes:
        assert mistake.wrote == f"I see <b>{mistake.example_id}</b> & more"
        assert (mistake.predicted == "none of them") == (mistake.kind == "no_class")
    page = report.to_html()
    first = report.mistakes[0]
    assert f"wrote <q>I see &lt;b&gt;{first.example_id}&lt;/b&gt; &amp; more</q>" in page and "<b>7</b>" not in page
    assert "said none of them" in page and "<q>none of them</q>" not in page
    without = {name: column for name, column in drawn().items() if name != "answer"}
    assert all(mistake.wrote is None for mistake in oochub.evaluate(predicted(without)).mistakes)
    own = Predictions.from_arrays(logits=np.eye(3)[[1, 0]], label=[0, 1], answer=["my own column", "of the data"])
    assert [mistake.wrote for mistake in oochub.evaluate(own).mistakes] == [None, None]


def test_confusion_by_context_has_a_column_for_none_of_them():
    """Cells and the share by loops."""
    columns = drawn()
    report = oochub.evaluate(with_contexts(columns))
    cells = Counter(zip(columns["context"], columns["label"], columns["prediction"], strict=True))
    called = [*NAMES, "none of them"]
    found = {
        (each.context, cell.label, cell.predicted): cell.n for each in report.errors.contexts for cell in each.confusion
    }
    assert found == {(where, NAMES[y], called[a]): n for (where, y, a), n in cells.items()}
    hits, given, even = [], Counter(a for a in columns["prediction"] if a >= 0), []
    for where, y, a in zip(columns["context"], columns["label"], columns["prediction"], strict=True):
        there = [k for k, name in enumerate(NAMES) if where in USUAL[name] and k != y]
        if a in (y, -1) or not there or len(there) == 2:
            continue
        hits.append(a in there)
        even.append(sum(given[k] for k in there) / sum(given[k] for k in range(3) if k != y))
    assert (report.errors.share, report.errors.share.n) == (pytest.approx(np.mean(hits)), len(hits))
    assert report.errors.chance_of_answers == pytest.approx(np.mean(even)) and report.errors.chance == 0.5
    assert "or their answer fits no class" in report.to_markdown()
    classes, rows = oochub.get("section", "where_errors_go")().chart(report)
    assert classes == called and all(sum(row.shares) == pytest.approx(1) for row in rows)
    assert "none of them" in report.to_html()
    silent = oochub.evaluate(with_contexts(columns | {"prediction": [-1] * N}))
    assert silent.errors.share.reason == "every wrong answer fits no class"


def test_two_models_are_compared_on_all_rows():
    """reference: McNemar's counts by a loop, -1 of either model as a wrong answer."""
    one, other = drawn(), drawn()
    rng = np.random.default_rng(5)
    other["prediction"] = np.where(rng.random(N) < 0.3, -1, one["prediction"]).tolist()
    compared = paired_comparison(predicted(one, model="a"), predicted(other, model="b"))
    right = [
        np.array([y == a for y, a in zip(each["label"], each["prediction"], strict=True)]) for each in (one, other)
    ]
    part = compared.slice("all")
    assert part.n == N and part.numbers["accuracy"].first.n == part.numbers["accuracy"].second.n == N
    assert (part.only_first, part.only_second) == ((right[0] & ~right[1]).sum(), (right[1] & ~right[0]).sum())
    assert part.numbers["accuracy"].difference == pytest.approx(right[1].mean() - right[0].mean())
    counts = [sum(a < 0 for a in each["prediction"]) for each in (one, other)]
    for count, which in zip(counts, ("first", "second"), strict=True):
        assert f"{count} of {N} answers fit no class of the {which} model; each counts as wrong" in compared.notes
    assert compared.flips == ()


def test_a_csv_may_leave_an_answer_empty(tmp_path, capsys, run):
    """Through the shell: an empty cell is none of them, a strange name is an error that names the file."""
    columns = drawn()
    data = pd.DataFrame({"text": [f"t{k}" for k in range(N)], "label": [NAMES[y] for y in columns["label"]]})
    data.to_csv(tmp_path / "data.csv", index=False)
    answers = pd.DataFrame({"example_id": range(N)})
    answers["prediction"] = ["" if a < 0 else NAMES[a] for a in columns["prediction"]]
    answers["answer"] = [f"it is a {name or 'horse'}" for name in answers["prediction"]]
    answers.to_csv(tmp_path / "mine.csv", index=False)
    options = ["--benchmark", str(tmp_path / "data.csv"), "--label-column", "label"]
    options += ["--out", str(tmp_path / "r.json")]
    assert not run("evaluate", tmp_path / "mine.csv", *options), capsys.readouterr().err
    report = Report.load(tmp_path / "r.json")
    n, right, outside = share(columns)
    assert (report["accuracy"], report.slice("all").n) == (pytest.approx(right / n), n)
    assert {each.wrote for each in report.mistakes} <= {"it is a horse", *(f"it is a {name}" for name in NAMES)}
    assert f"{outside} of {n} answers fit no class" in capsys.readouterr().out
    answers.loc[3, "prediction"] = "horse"
    answers.to_csv(tmp_path / "mine.csv", index=False)
    assert run("evaluate", tmp_path / "mine.csv", *options) == 2
    assert "its prediction cannot be read" in (err := capsys.readouterr().err) and "horse" in err


def test_an_output_of_one_column_is_the_class_itself():
    """The contract of modes that answer in words. Fault planted: the argmax of one column, which is always 0."""
    kind = get_output("choices")
    stored = kind.store(np.array([[2], [-1], [0]], np.float32))
    assert stored["prediction"].to_pylist() == [2, -1, 0] and stored["prediction"].type == pa.int64()
    assert kind.store(np.array([[0.1, 0.9], [3, 2]], np.float32))["prediction"].to_pylist() == [1, 0]


def test_classes_cannot_be_restricted_after_the_choice():
    with pytest.raises(OochubError, match="from which another class can be chosen"):
        oochub.evaluate(predicted(), classes="present")
    assert oochub.evaluate(predicted(), match="label").matched_gap.metric == "accuracy"
