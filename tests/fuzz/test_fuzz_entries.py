"""An entry of a leaderboard with one thing wrong: the site is made all the same, and says what is wrong."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzz_case import SAFE, SAID, SAME, Case, Format, Used
from fuzz_predictions import ROWS, predictions
from mutations import bytes_cases, json_cases, json_text_cases, place_cases

import oochub
from oochub.leaderboard.site import Site
from oochub.leaderboard.write_entry import write_entry
from oochub.storage.parquet_file import seal

_PLACE = "results/one"
_TEXTS = ("entry.json", "report.json")
_TEXTS_OF_A_SCHEMA = (
    *(b"", b"{", b"[]", b"null", b"1", b'""', b"\xff", b"[" * 100_000, b'{"digest": null}', b'{"digest": "0"}'),
    *(b'{"digest": ["0"]}', b'{"rows": {"test": 1e400}}', b'{"class_names": []}', b'{"kind": "boxes"}'),
)
_TRUE = [int(label) for label in predictions().label]
_COLUMNS = {
    "a perfect summary": {"prediction": pa.array(_TRUE, pa.int32()), "confidence": [1.0] * ROWS, "loss": [0.0] * ROWS},
    "a summary of class 99": {"prediction": pa.array([99] * ROWS, pa.int32())},
    "a summary of texts": {"prediction": ["cat"] * ROWS, "confidence": ["1"] * ROWS, "loss": [""] * ROWS},
    "labels of 1.5": {"label": [1.5] * ROWS},
    "labels of 99": {"label": [99] * ROWS},
    "two logits of three classes": {"logits": [[0.0, 1.0]] * ROWS},
    "logits of nan": {"logits": [[float("nan")] * 3] * ROWS},
    "logits of another model": {"logits": [[0.0, 1.0, 0.0]] * ROWS},
    "splits of nothing": {"split": pa.nulls(ROWS, pa.string())},
    "images that are none": {"thumbnail": [b"<script>"] * ROWS},
    "group as a list": {"group": [["day"]] * ROWS},
}
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


def _sealed(folder: Path, *, said: dict[bytes, bytes] | None = None, columns: dict[str, Any] | None = None) -> None:
    """Changes what a file of predictions holds, and seals it anew, as anybody can."""
    file = folder / _PLACE / "preds.parquet"
    table = pq.read_table(file)
    for name, values in (columns or {}).items():
        place, values = table.schema.get_field_index(name), pa.array(values)
        table = table.append_column(name, values) if place < 0 else table.set_column(place, name, values)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, **(said or {})}), file)
    seal(file)


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
    for key in (b"oochub", b"oochub_sums", b"oochub_part"):
        for content in _TEXTS_OF_A_SCHEMA:
            yield Case(name=f"{key.decode()} is {content[:20]!r}, sealed", mutate=partial(_sealed, said={key: content}))
    for name, values in _COLUMNS.items():
        yield Case(name=f"{name}, sealed", mutate=partial(_sealed, columns=values))


ENTRIES = Format(name="entries", make=_make, use=_use)
CASES = [replace(case, expect=frozenset({SAME, SAID})) for case in _cases()]  # no entry is worth a refusal of all


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_entries(campaign, case):
    campaign.run(ENTRIES, case)
