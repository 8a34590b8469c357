"""Right among all classes or among those present: worked by hand, in the metrics and for detectors."""

import shlex
import sys

import numpy as np
import pyarrow as pa
import pytest

import oochub
from oochub.cli import main
from oochub.prediction.predictions import Predictions
from oochub.records.schema import to_json

# Five classes, of which the set has images of 1 and 3.
# Answers among all are 1, 0, 3, 4 and 1; among those present 1, 3, 3, 1 and 1.
_LOGITS = [[0, 5, 1, 2, 3], [9, 2, 1, 4, 0], [0, 1, 2, 7, 3], [0, 2, 1, 1, 6], [0, 3, 1, 2, 2]]
_LABEL = [1, 3, 3, 3, 3]


def _made(config, logits, label, **facts):
    n = len(logits)
    columns = {
        "example_id": [f"{config}{k}" for k in range(n)],
        "split": ["test"] * n,
        "label": label,
        "logits": [np.array(one, np.float32) for one in logits],
    }
    metadata = {
        "benchmark": "someone", "config": config, "version": "1.0.0", "model": {"id": "made"}, "facts": facts,
        "class_names": list("abcde"), "rows": {"test": n},
    }  # fmt: skip
    return Predictions(pa.table(columns), metadata)


def _sets():
    return [_made("renditions", _LOGITS, _LABEL), _made("ood", [[1, 0, 0, 0, 0], [0, 0, 6.5, 0, 0]], [-1, -1])]


def test_detection_rows_say_which_and_count_by_it():
    """Right among all: rows 0 and 2; among those present also row 1. Max-Logit: 5, 9, 7, 6, 3 against 1 and 6.5."""
    rows = {
        classes: to_json(oochub.evaluate(_sets(), detectors=["max_logit"], classes=classes, metrics=["accuracy"]))
        for classes in ("all", "present")
    }
    every, present = (rows[classes]["detection"][0] for classes in ("all", "present"))
    assert every["classes"] == {"rule": "all", "n": 5} and present["classes"] == {"rule": "present", "n": 2}
    assert (every["n_incorrect"], present["n_incorrect"]) == (3, 2)
    # failures among all: 9, 6, 3, 1, 6.5 against 5 and 7: wins 2 and 4 of 5; among those present 6, 3, 1, 6.5
    # against 5, 9 and 7: wins 2, 4 and 4 of 4
    assert every["metrics"]["auroc_failure"]["value"] == pytest.approx((2 + 4) / 10)
    assert present["metrics"]["auroc_failure"]["value"] == pytest.approx((2 + 4 + 4) / 12)
    assert every["metrics"]["auroc_new_class"] == present["metrics"]["auroc_new_class"]


def test_accuracy_and_loss_are_among_them():
    every = oochub.evaluate(_sets()[0], metrics=["accuracy", "nll"])
    present = oochub.evaluate(_sets()[0], metrics=["accuracy", "nll"], classes="present")
    assert (float(every["accuracy"]), float(present["accuracy"])) == (2 / 5, 3 / 5)
    logits = np.array(_LOGITS, float)[:, [1, 3]]
    chosen = logits[np.arange(5), [0, 1, 1, 1, 1]]
    assert float(present["nll"]) == pytest.approx(np.mean(np.log(np.exp(logits).sum(1)) - chosen))
    assert to_json(present)["notes"][-1] == "answers are limited to the 2 classes present, not all 5"
    assert not any("classes present" in note for note in to_json(every)["notes"])
    assert to_json(present)["mistakes"][0]["predicted"] == "b"


def test_what_the_builder_recorded_is_present_too():
    """A class without an image in this file stays an allowed answer when the data set has it."""
    recorded = _made("renditions", _LOGITS, _LABEL, present_classes=[0, 1, 3])
    report = oochub.evaluate(recorded, metrics=["accuracy"], classes="present")
    assert float(report["accuracy"]) == 2 / 5  # row 1 is class a again
    assert "limited to the 3 classes present" in to_json(report)["notes"][-1]


def test_all_classes_present_changes_nothing():
    full = _made("photos", _LOGITS, [1, 0, 2, 3, 4])
    first, second = (to_json(oochub.evaluate(full, classes=one)) for one in ("all", "present"))
    assert [first[key] for key in ("slices", "notes")] == [second[key] for key in ("slices", "notes")]


def test_by_command(tmp_path, capsys):
    """The report's command holds each file as one word. Planted fault seen: names without quotes."""
    files = [one.save(tmp_path / f"{k} $(echo).parquet") for k, one in enumerate(_sets())]

    def run(*words):
        sys.argv = ["oochub", "evaluate", *map(str, files), "--out", str(tmp_path / "r.json"), *words]
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code, capsys.readouterr()

    code, shown = run("--detector", "msp", "--classes", "present")
    assert code == 0 and "Answers are limited to the 2 classes present." in shown.out, shown.err
    command = oochub.Report.load(tmp_path / "r.json").provenance.command
    assert command.endswith("--classes present --detector msp")
    assert shlex.split(command)[2:-6] == [file.name for file in files], command
    code, shown = run("--detector", "msp", "--classes", "presnt")
    assert code == 2 and "'presnt' is not one of" in shown.err and "'present'" in shown.err
