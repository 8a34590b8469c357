"""Entries of a leaderboard for tests: predictions of a toy benchmark from arrays, and their report, in a folder."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import oochub
from oochub.hub.leaderboard_repository import write_entry
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.prediction.predictions import Predictions
from oochub.records.schema import to_json
from oochub.stats.delong import delong
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


def draw_entries(checked: CheckedEntry, number: int) -> list[CheckedEntry]:
    """One checked entry under many names, each with scores of its own out of context, and their AUC."""
    draws, made = np.random.default_rng(0), []
    assert checked.values is not None and checked.report is not None and checked.entry is not None
    label = checked.values.label
    for k, skill in enumerate(draws.uniform(0.2, 2.5, number)):
        score = (2 * label - 1) * skill + draws.normal(size=len(label))
        out = delong(label, score)
        parts = tuple(
            replace(part, metrics={**part.metrics, "auc": out}) if part.role == "out" else part
            for part in checked.report.slices
        )
        made.append(
            replace(
                checked,
                name=f"entry-{k}",
                entry=replace(checked.entry, model=f"model {k}", who="somebody"),
                report=replace(checked.report, slices=parts),
                values=replace(checked.values, values=score, number=out),
            )
        )
    return made


def describe_checked(checked: CheckedEntry) -> tuple[object, bytes]:
    """Everything of a checked entry, for a comparison: JSON types, and the bytes of what it is tested by."""
    return to_json(replace(checked, values=None)), pack_values(checked.values)
