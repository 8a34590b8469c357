"""Predictions changed by a seed, resealed as anyone can: an error, or the numbers that their logits and labels give."""

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from drawn_changes import after, bytes_of, changed_field, field_of, one_of, place_of
from drawn_columns import (
    CHALLENGES,
    Columns,
    Draw,
    cell,
    columns_of,
    metadata_of,
    other_logits,
    retyped,
    rows,
    stale,
)
from fresh_cases import Change, Reader, every_day, fresh
from fuzz_case import Format, Used
from fuzz_predictions import evaluated, numbers_of
from plain_counts import predictions_count, share

import oochub
from oochub.prediction import predictions_file
from oochub.prediction.predictions import Predictions
from oochub.storage.parquet_file import read_seal

_FILE, _FOLDER = "predictions.parquet", "parts.parquet"
_NAMES = ["cat", "dog", "owl"]
_ROWS = 40
_SUMMARY = ("prediction", "confidence", "loss")


def made(seed: int = 0) -> Predictions:
    """Forty rows of three classes with challenges and groups; the model is right in most."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, _ROWS)
    logits = rng.normal(size=(_ROWS, 3)) + 1.5 * np.eye(3)[label]
    challenge = rng.choice(["easy", "easy", "hard_positive", "hard_negative"], _ROWS)
    group = rng.choice(["day", "night"], _ROWS)
    return Predictions.from_arrays(
        logits=logits, label=label, class_names=_NAMES, challenge=challenge, group=group, model="mine"
    )


def counts_of(predictions: Predictions, report: Any) -> dict[str, Any]:
    """What the library says of the numbers that `plain_counts.counted` counts."""
    names = predictions.class_names
    groups: dict[str, list[Any]] = {}
    for row in report.group_rows:
        groups.setdefault(row.group, []).append((row.n, float(row.accuracy) * row.n))
    found = {
        "rows": dict(predictions.metadata.rows),
        "labels": _tally(predictions.label, names),
        "answers": _tally(predictions.prediction, names),
        "all": [report["accuracy"].n, round(float(report["accuracy"]), 9)],
        "sides": {
            role: [part.metrics["accuracy"].n, round(float(part.metrics["accuracy"]), 9)]
            for role in ("in", "out")
            if (part := report.slice_of(role)) is not None
        },
        "groups": {
            str(name): [sum(n for n, _ in parts), round(sum(right for _, right in parts) / sum(n for n, _ in parts), 9)]
            for name, parts in sorted(groups.items())
        },
    }
    return json.loads(json.dumps(found))


def _tally(codes: Any, names: list[str]) -> dict[str, int]:
    found, counts = np.unique(codes, return_counts=True)
    return {str(names[code]) if code >= 0 else "none": int(n) for code, n in zip(found, counts, strict=True)}


def _use(name: str):
    def use(folder: Path, out: Path) -> Used:
        report = evaluated(folder / name, out, metrics=["accuracy"])
        counts = counts_of(Predictions.load(folder / name), report)
        return Used(numbers=numbers_of(report), notes=report.notes, counts=counts)

    return use


def _make_parts(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictions_file, "_ONE_FILE", 1)
        made().save(folder / _FOLDER)


def listed(change: Change) -> Change:
    """A change of a part, after which the manifest lists it as it is now, with seals that fit."""

    def changed(folder: Path, rng: Random) -> str:
        done = change(folder, rng)
        manifest = folder / _FOLDER / "_manifest.json"
        content = json.loads(manifest.read_text())
        for part in content["parts"]:
            file = folder / _FOLDER / part["file"]
            part["seal"] = str(read_seal(file))
            part["rows"] = _rows_of(file)
        resealed(content, manifest)
        return f"{done}, listed"

    return changed


def _rows_of(file: Path) -> int:
    return int(pq.read_metadata(file).num_rows)


def resealed(content: dict[str, Any], manifest: Path) -> None:
    """Writes a manifest with a seal that fits it."""
    content.pop("seal", None)
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    manifest.write_text(json.dumps({**content, "seal": digest}))


def _manifest_field(folder: Path, rng: Random) -> str:
    manifest = folder / _FOLDER / "_manifest.json"
    content = json.loads(manifest.read_text())
    content.pop("seal")
    done = changed_field(content, rng)
    resealed(content, manifest)
    return f"{done}, resealed"


def _many_parts(folder: Path, rng: Random) -> str:
    manifest = folder / _FOLDER / "_manifest.json"
    content = json.loads(manifest.read_text())
    number = rng.choice((2, 50, 3_000))
    content["parts"] = content["parts"] * number
    resealed(content, manifest)
    return f"the part {number} times"


def _read(name: str) -> Callable[[Path], Any]:
    return lambda folder: oochub.evaluate(folder / name, metrics=["accuracy"], resamples=100)


def _columns(pattern: str) -> dict[str, Change]:
    """The changes of a file of predictions, whether alone or a part."""
    return {
        "labels": columns_of(pattern, cell("label", values=(0, 1, 2, -1, 3, 99, -2, 1.5, None))),
        "logits": columns_of(pattern, one_draw(other_logits, _one_logit)),
        "stale columns": columns_of(pattern, stale(*_SUMMARY)),
        "forged summary": columns_of(pattern, forged_summary, sealed=True),
        "challenge words": columns_of(pattern, cell("challenge", values=CHALLENGES)),
        "groups": columns_of(pattern, cell("group", values=("Day", " day", "", None, "night/", "x" * 999))),
        "types": columns_of(pattern, retyped("label", "logits", "split", "example_id", "challenge", "group")),
        "rows": columns_of(pattern, rows),
        "splits": columns_of(pattern, cell("split", values=("Test", "test ", "train", "tset", "", None))),
        "metadata": metadata_of(pattern, b"oochub"),
        "sums": metadata_of(pattern, b"oochub_sums"),
        "bytes": bytes_of(pattern),
        "place": place_of(pattern),
    }


def _one_logit(columns: Columns, rng: Random) -> str:
    at, column = rng.randrange(_ROWS), rng.randrange(3)
    value = rng.choice((math.nan, math.inf, -math.inf, 1e300, 1e38, 0.0, None, 50.0, -50.0))
    columns["logits"] = [list(row) for row in columns["logits"]]
    columns["logits"][at][column] = value
    if rng.random() < 0.2:
        columns["logits"][at].append(0.0)
    return f"logit {column} of row {at} is {value}"


def forged_summary(columns: Columns, rng: Random) -> str:
    """A stored summary that says of every row that the model is right, beside honest logits; by whatever names."""
    names = [name for name in columns if any(word in name for word in _SUMMARY)] or list(_SUMMARY)
    for name in names:
        if "prediction" in name:
            columns[name] = list(columns["label"])
        elif rng.random() < 0.5:
            columns[name] = [0.0 if "loss" in name else 1.0 for _ in columns["label"]]
    return f"forged {', '.join(names)}"


def one_draw(*draws: Draw) -> Draw:
    """One of several draws."""
    return lambda columns, rng: rng.choice(draws)(columns, rng)


def _whole(name: str) -> Format:
    make = _make_parts if name == _FOLDER else lambda folder: made().save(folder / name)
    return Format(
        name="predictions" if name == _FILE else "predictions in parts",
        make=make,
        use=_use(name),
        count=lambda folder: predictions_count(folder / name),
        names=("group", "challenge", "label", "logits", "split"),
    )


_PART = f"{_FOLDER}/part-*.parquet"
READERS = (
    Reader(
        kind=_whole(_FILE),
        changes={
            **_columns(_FILE),
            "after a read": after(_read(_FILE), one_of(*list(_columns(_FILE).values())[:5])),
        },
        share=1.5,
    ),
    Reader(
        kind=_whole(_FOLDER),
        changes={
            **{name: listed(change) for name, change in _columns(_PART).items() if name not in ("bytes", "place")},
            "bytes": bytes_of(_PART, f"{_FOLDER}/_manifest.json"),
            "place": place_of(_PART, f"{_FOLDER}/_manifest.json"),
            "JSON field": one_of(_manifest_field, field_of(f"{_FOLDER}/_manifest.json")),
            "many parts": _many_parts,
        },
    ),
)


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", fresh(READERS))
def test_predictions(campaign, kind, case):
    campaign.run(kind, case)


@pytest.mark.parametrize("kind, case", every_day(READERS))
def test_predictions_every_day(campaign, kind, case):
    campaign.run(kind, case)


def test_the_count_is_that_of_a_loop(tmp_path):
    """Reference: a loop over the rows."""
    predictions = made()
    predictions.save(tmp_path / _FILE)
    right = 0
    for logits, label in zip(predictions.logits, predictions.label, strict=True):
        right += max(range(3), key=lambda k: logits[k]) == label
    assert predictions_count(tmp_path / _FILE)["all"] == [_ROWS, round(right / _ROWS, 9)]
    assert 0 < right < _ROWS and share(np.array([True, False])) == [2, 0.5]
