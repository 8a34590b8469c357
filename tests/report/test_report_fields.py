"""Reports with one field deleted or replaced: an error that names the field."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

import oochub
from oochub.errors import OochubError
from oochub.records.schema import to_json
from oochub.report.report import Report

ROWS = 80
DELETED = object()


def _sides():
    """Easy and hard rows, groups, a gap at equal areas, calibration, mistakes."""
    rows, rng = np.arange(ROWS), np.random.default_rng(0)
    label, hard = rows % 2, np.where(rows % 2, "hard_positive", "hard_negative")
    z = rng.normal(size=ROWS) + 2 * label - 1
    columns = {"challenge": np.where(rows % 4 < 2, "easy", hard), "area": rng.uniform(size=ROWS)}
    columns["group"] = np.where(label, "a", "b")
    predictions = oochub.Predictions.from_arrays(logits=np.stack([0 * z, z], 1), label=label, **columns)
    return oochub.evaluate(predictions, match="area", resamples=100)


def _detection():
    rng = np.random.default_rng(0)
    sets = [
        oochub.Predictions.from_arrays(logits=rng.normal(size=(60, 3)), label=label, config=config)
        for config, label in (("known", rng.integers(0, 3, 60)), ("new", np.full(60, -1)))
    ]
    return oochub.evaluate(sets, detectors=["msp", "energy"], resamples=100)


def _errors():
    """Three classes in three contexts, of which two are a class's own in training."""
    rng = np.random.default_rng(0)
    label, place = rng.integers(0, 3, ROWS), rng.choice(["sea", "land", "air"], ROWS).tolist()
    columns = {
        "label": label,
        "logits": rng.normal(size=(ROWS, 3)),
        "context": place,
        "challenge": ["easy", "hard"] * 40,
    }
    told = oochub.Predictions.from_arrays(**columns, class_names=["a", "b", "c"], config="own")
    facts = replace(told.metadata.facts, usual_contexts={"a": ("sea",), "b": ("land",), "c": ()})
    return oochub.evaluate(replace(told, metadata=replace(told.metadata, facts=facts)), resamples=100)


CONTENT = {make.__name__: to_json(make()) for make in (_sides, _detection, _errors)}


def _changed(content, place, value):
    changed = copy.deepcopy(content)
    parent = changed
    for key in place[:-1]:
        parent = parent[key]
    if value is DELETED:
        del parent[place[-1]]
    else:
        parent[place[-1]] = value
    return changed


def _read(folder, content):
    path = folder / "report.json"
    path.write_text(json.dumps(content), "utf-8")
    return Report.load(path)


@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        ("_sides", ("groups", "rows", 0, "n"), -1, r"groups\.rows\[0\]\.n must be a whole number, 0 or larger, got -1"),
        ("_sides", ("groups", "rows", 0, "accuracy", "value"), 3, r"accuracy must be an estimate in \[0, 1\]"),
        ("_sides", ("slices", 0, "metrics", "auc", "value"), 3, "auc of the slice all is 3, which is not possible"),
        ("_sides", ("slices", 0, "metrics", "nll", "value"), float("inf"), "nll.value must be a finite number"),
        ("_sides", ("gap", "low"), 9.0, "gap.low must be at most high"),
        ("_sides", ("gap", "n"), -3, "gap.n must be a whole number, 0 or larger"),
        ("_sides", ("slices", 0, "title"), "\ud800", "half of a character"),
        ("_sides", ("slices", 0, "role"), "sideways", "role must be one of all, in"),
        ("_sides", ("calibration", "sideways"), None, "calibration must be one of in, out"),
        ("_sides", ("benchmark", "words"), 3, "benchmark.words must be an object"),
        ("_sides", ("matched_gap", "share_out"), 1.5, r"share_out must be a finite number in \[0, 1\]"),
        ("_sides", ("calibration", "in", "bins", 0, "accuracy"), "high", "accuracy must be a finite number"),
        ("_sides", ("provenance", "predictions", "integrity"), "maybe", "must be one of checked, not checked"),
        ("_sides", ("provenance",), DELETED, "the field provenance is missing"),
        ("_detection", ("detection", 0, "n_ood"), 2.5, "n_ood must be a whole number"),
        ("_errors", ("errors", "share", "value"), 2, r"errors\.share must be an estimate in \[0, 1\]"),
        ("_errors", ("errors", "contexts", 0, "confusion", 0, "n"), -1, r"confusion\[0\]\.n must be a whole number, 0"),
        ("_errors", ("errors", "source"), "guess", "errors.source must be one of counts, usual"),
        ("_detection", ("detection",), {}, "detection must be a list"),
    ],
)
def test_a_field_that_cannot_be_is_named(name, place, value, words, tmp_path):
    with pytest.raises(OochubError, match=words):
        _read(tmp_path, _changed(CONTENT[name], place, value))


@pytest.mark.parametrize("content", [None, [], "x", 3, {}, {"schema_version": 1}])
def test_what_is_no_report_is_said(content, tmp_path):
    with pytest.raises(OochubError, match=r"report\.json"):
        _read(tmp_path, content)
