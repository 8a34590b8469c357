"""Leaderboards of three entries, one of them changed by a seed: the site is made, and what is verified is counted."""

import csv
import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import ANY

import pytest
from drawn_changes import bytes_of, changed_field, field_of, one_of, place_of
from drawn_columns import CHALLENGES, cell, columns_of, metadata_of, other_logits, retyped, rows, stale
from fresh_cases import Change, Reader, every_day, fresh
from fuzz_case import CHANGED, SAME, Format, Used
from leaderboard_entries import made_predictions, sent_entry
from plain_counts import predictions_count
from test_fresh_predictions import forged_summary

import oochub
from oochub.leaderboard.site import Site

_CHANGED = "results/changed"
_PREDICTIONS = f"{_CHANGED}/preds.parquet"
_NUMBER = re.compile(r"[-+]?\d|[-+]?(inf|nan)\b")


def _make(folder: Path) -> None:
    for name, skill in (("changed", 1.5), ("first", 2.0), ("second", 0.8)):
        entry = sent_entry(folder / "results", predictions=made_predictions(skill, rows=60), model=name)
        entry.rename(folder / "results" / name)


def _use(folder: Path, out: Path) -> Used:
    site = Site.write(folder / "results", out / "site")
    entries = [row for board in site.boards for row in board.rows]
    verified = {
        row.name: [row.report["accuracy"].n, round(float(row.report["accuracy"]), 9)]
        for row in entries
        if not row.reason
    }
    table = (out / "site" / "leaderboard.csv").read_text("utf-8")
    formulas = sum(
        cell[:1] in tuple("=+-@\t\r") and not _NUMBER.match(cell)
        for line in csv.reader(io.StringIO(table))
        for cell in line
    )
    counts = {name: verified.get(name, ANY) for name in _names(folder)} | {"formulas": formulas}
    numbers = {row.name: [verified.get(row.name), row.rank, row.reason] for row in entries}
    return Used(numbers={**numbers, "unread": [each.name for each in site.unread]}, counts=counts)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "results").iterdir())


def _count(folder: Path) -> Any:
    """Of every entry whose predictions plain code can count; another may not be verified."""
    counts: dict[str, Any] = {"formulas": 0}
    for name in _names(folder):
        try:
            counts[name] = predictions_count(folder / "results" / name / "preds.parquet")["all"]
        except Exception as error:
            counts[name] = f"not counted: {error!r}"
    return counts


def _reported(change: Change) -> Change:
    """A change of predictions after which, in most cases, the report is made of them as they are now."""

    def changed(folder: Path, rng: Random) -> str:
        done = change(folder, rng)
        if rng.random() < 0.7:
            try:
                oochub.evaluate(folder / _PREDICTIONS, resamples=100).save(folder / _CHANGED / "report.json")
            except Exception:  # whatever no evaluation takes is sent with the report of before
                return done
            return f"{done}, reported"
        return done

    return changed


def _other_labels(folder: Path, rng: Random) -> str:
    """The entry of a sender whose labels are others; its report is of them, and its date is the first."""
    change: Change = columns_of(_PREDICTIONS, cell("label", values=(0, 1)), sealed=True)
    done = change(folder, rng)
    entry = json.loads((folder / _CHANGED / "entry.json").read_text())
    entry["date"] = rng.choice(("1999-01-01", "2026-11-20", "2030-01-01"))
    (folder / _CHANGED / "entry.json").write_text(json.dumps(entry))
    return f"{done}, sent on {entry['date']}"


def _words(folder: Path, rng: Random) -> str:
    """A word of the sender that a spreadsheet, a page or a path might take for more."""
    file = folder / _CHANGED / "entry.json"
    entry = json.loads(file.read_text())
    key = rng.choice(sorted(entry))
    entry[key] = rng.choice(
        ('=HYPERLINK("https://host","x")', "+1+1", "-2+3", "@SUM(A1)", "\t=1", "<img src=x onerror=alert(1)>", "",
         "\u202eabc", "../../x", "a\nb", "javascript:alert(1)", "x" * 9_999)
    )  # fmt: skip
    file.write_text(json.dumps(entry))
    return f"entry.json {key}: {entry[key]!r:.40}"


def _folder_name(folder: Path, rng: Random) -> str:
    name = rng.choice((b"\xff\xfe", b"=1+1", b"a b", b"\xe2\x80\xae", b"x" * 250, b"<b>", b"-x", b"%2e%2e", b"#"))
    (folder / _CHANGED).rename(folder / "results" / os.fsdecode(name))
    return f"the folder is {name!r:.30}"


def _copied(folder: Path, rng: Random) -> str:
    """Another entry's predictions or report in the place of one's own."""
    file = rng.choice(("preds.parquet", "report.json", "entry.json"))
    (folder / _CHANGED / file).write_bytes((folder / "results" / "first" / file).read_bytes())
    return f"{file} of another entry"


def _report_of(change: Callable[[dict[str, Any], Random], str]) -> Change:
    def changed(folder: Path, rng: Random) -> str:
        file = folder / _CHANGED / "report.json"
        report = json.loads(file.read_text())
        done = change(report, rng)
        file.write_text(json.dumps(report))
        return f"report.json: {done}"

    return changed


def _numbers(report: dict[str, Any], rng: Random) -> str:
    metric = rng.choice(sorted(report["slices"][0]["metrics"]))
    report["slices"][0]["metrics"][metric]["value"] = rng.choice((1.0, 0.999, 0.0))
    return f"{metric} is {report['slices'][0]['metrics'][metric]['value']}"


def _intervals(report: dict[str, Any], rng: Random) -> str:
    key, value = rng.choice((("seed", 1), ("seed", 2**32 - 1), ("resamples", 100), ("resamples", 9_999), ("seed", -1)))
    report["provenance"][key] = value
    return f"{key} {value}"


ENTRIES = Format(name="leaderboard", make=_make, use=_use, count=_count)
READERS = (
    Reader(
        kind=ENTRIES,
        changes={
            "forged summary": _reported(columns_of(_PREDICTIONS, forged_summary, sealed=True)),
            "labels": _other_labels,
            "logits": _reported(columns_of(_PREDICTIONS, other_logits, sealed=True)),
            "stale columns": _reported(columns_of(_PREDICTIONS, stale("prediction", "confidence", "loss"))),
            "sums": one_of(metadata_of(_PREDICTIONS, b"oochub_sums"), metadata_of(_PREDICTIONS, b"oochub")),
            "types": _reported(columns_of(_PREDICTIONS, retyped("label", "logits", "split", "challenge", "group"))),
            "rows": _reported(columns_of(_PREDICTIONS, rows)),
            "challenge words": _reported(columns_of(_PREDICTIONS, cell("challenge", values=CHALLENGES))),
            "report": one_of(_report_of(_numbers), _report_of(_intervals), _report_of(changed_field)),
            "JSON field": field_of(f"{_CHANGED}/entry.json"),
            "words": _words,
            "folder's name": _folder_name,
            "another's files": _copied,
            "bytes": bytes_of(f"{_CHANGED}/*"),
            "place": place_of(f"{_CHANGED}/*"),
        },
        expect=frozenset({SAME, CHANGED}),  # no entry is worth a refusal of all
    ),
)


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", fresh(READERS))
def test_entries(campaign, kind, case):
    campaign.run(kind, case)


@pytest.mark.parametrize("kind, case", every_day(READERS))
def test_entries_every_day(campaign, kind, case):
    campaign.run(kind, case)
