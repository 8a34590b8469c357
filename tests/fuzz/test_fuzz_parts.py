"""Folders of parts of predictions with one thing wrong, evaluated and shown: refused, or the same numbers."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from fuzz_case import REFUSED, SAME, Format, Used
from fuzz_predictions import evaluated, numbers_of, predictions
from mutations import bytes_cases, json_cases, place_cases

from oochub.prediction import predictions_file

_FOLDER, _MANIFEST = "predictions.parquet", "predictions.parquet/_manifest.json"
_PART = f"{_FOLDER}/part-00000.parquet"


def _make(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictions_file, "_ONE_FILE", 1)
        predictions().save(folder / _FOLDER)


def _use(folder: Path, out: Path) -> Used:
    report = evaluated(folder / _FOLDER, out)
    return Used(numbers=numbers_of(report), notes=report.notes)


def _manifest() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        _make(Path(folder))
        return json.loads((Path(folder) / _MANIFEST).read_text("utf-8"))


PARTS = Format(name="predictions in parts", make=_make, use=_use)
CASES = [
    *((PARTS, case) for case in bytes_cases(_PART, expect=frozenset({REFUSED}), flips=40)),
    *((PARTS, case) for case in bytes_cases(_MANIFEST, expect=frozenset({REFUSED}), flips=40)),
    *((PARTS, case) for file in (_PART, _MANIFEST) for case in place_cases(file)),
    *((PARTS, case) for case in json_cases(_MANIFEST, _manifest(), lambda place, change: frozenset({REFUSED, SAME}))),
]


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_parts(campaign, kind, case):
    campaign.run(kind, case)
