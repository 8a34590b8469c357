"""Entries of a leaderboard for tests: predictions of a toy benchmark from arrays, and their report, in a folder."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import oochub
from oochub.leaderboard.checked_entry import CheckedEntry
from oochub.leaderboard.write_entry import write_entry
from oochub.prediction.predictions import Predictions
from oochub.records.schema import to_json
from oochub.stats.paired_values import pack_values

ROWS = 300


def made_predictions(skill: float, *, seed: int = 0, rows: int = ROWS, model: str = "made", **columns) -> Predictions:
    """Predictions of a benchmark of its own: two labels, a third of the rows hard; the same rows whatever the skill."""
    fixed, drawn = np.random.default_rng(5), np.random.default_rng(seed)
    label = fixed.integers(0, 2, rows)
    hard = np.where(label == 1, "hard_positive", "hard_negative")
    challenge = np.where(fixed.random(rows) < 1 / 3, hard, "easy")
    score = (2 * label - 1) * (skill - 0.8 * (challenge != "easy")) + drawn.normal(size=rows)
    given = {"challenge": challenge, "group": fixed.choice(["sea", "land"], rows)} | columns
    names = {"benchmark": "board_toy", "config": "one", "model": model}
    return Predictions.from_arrays(logits=np.stack([0 * score, score], 1), label=label, **given, **names)


def sent_entry(
    results: Path,
    skill: float = 1.5,
    *,
    predictions: Predictions | None = None,
    resamples: int = 100,
    seed: int = 0,
    **said,
) -> Path:
    """The folder of a new entry in a folder of results; with 1,000 resamples its intervals are those of a board."""
    made = made_predictions(skill, seed=int(100 * skill)) if predictions is None else predictions
    files = results.parent / f"{results.name}-files"
    files.mkdir(exist_ok=True)
    made.save(files / "preds.parquet")
    oochub.evaluate(files / "preds.parquet", resamples=resamples, seed=seed).save(files / "report.json")
    usual = {"track": "open", "selection": "in_domain", "supervision": "labels", "model": "made", "date": "2026-11-20"}
    return write_entry(files / "report.json", results, **usual | said)


def describe_checked(checked: CheckedEntry) -> tuple[object, bytes]:
    """Everything of a checked entry, for a comparison: JSON types, and the bytes of what it is tested by."""
    return to_json(replace(checked, values=None)), pack_values(checked.values)
