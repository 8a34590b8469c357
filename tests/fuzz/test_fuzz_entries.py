"""An entry of a leaderboard with one thing wrong: the site is made all the same, and says what is wrong."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fuzz_case import SAFE, SAID, SAME, Case, Format, Used
from fuzz_predictions import predictions
from mutations import bytes_cases, json_cases, json_text_cases, place_cases

import oochub
from oochub.leaderboard.site import Site
from oochub.leaderboard.write_entry import write_entry

_PLACE = "results/one"
_TEXTS = ("entry.json", "report.json")
_SENT = {"track": "open", "selection": "in_domain", "supervision": "labels", "date": "2026-11-22", "who": "me"}


def _make(folder: Path) -> None:
    file = folder / "preds.parquet"
    predictions().save(file)
    oochub.evaluate(file, metrics=["accuracy"], resamples=100).save(folder / "report.json")
    sent = write_entry(folder / "report.json", folder / "results", model="made", **_SENT)
    (folder / "report.json").unlink()
    file.unlink()
    sent.rename(folder / "results" / "one")


def _contents() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        _make(Path(folder))
        return {name: json.loads((Path(folder) / _PLACE / name).read_text("utf-8")) for name in _TEXTS}


def _use(folder: Path, out: Path) -> Used:
    site = Site.write(folder / "results", out / "site")
    rows = [row for board in site.boards for row in board.rows]
    numbers = {row.name: [dict(row.report.slices[0].metrics), row.rank] for row in rows if not row.reason}
    return Used(numbers=numbers, notes=(*(row.reason for row in rows), *(each.reason for each in site.unread)))


def _cases() -> Iterator[Case]:
    contents = _contents()
    for name in _TEXTS:
        file = f"{_PLACE}/{name}"
        yield from (*json_cases(file, contents[name], lambda *_: SAFE), *json_text_cases(file), *place_cases(file))
    yield from (*bytes_cases(f"{_PLACE}/preds.parquet", expect=SAFE), *place_cases(f"{_PLACE}/preds.parquet"))


ENTRIES = Format(name="entries", make=_make, use=_use)
CASES = [replace(case, expect=frozenset({SAME, SAID})) for case in _cases()]  # no entry is worth a refusal of all


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_entries(campaign, case):
    campaign.run(ENTRIES, case)
