"""Files of other programs with one thing wrong, scored as answers: refused, or the same numbers."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from fuzz_case import CHANGED, REFUSED, SAID, SAME, Format, Used
from fuzz_predictions import ROWS, arrays, evaluated, numbers_of
from mutations import json_cases, json_text_cases, place_cases

NAMES = ["cat", "dog", "owl"]
IDS = [f"id{number}" for number in range(ROWS)]


@functools.cache
def data() -> DatasetDict:
    """The rows that the answers are for."""
    features = {"example_id": Value("string"), "label": ClassLabel(names=NAMES), "group": Value("string")}
    rows = {"example_id": IDS, "label": arrays()["label"].tolist(), "group": arrays()["group"].tolist()}
    return DatasetDict({"test": Dataset.from_dict(rows, Features(features))})


def chosen() -> list[str]:
    """What the model answered to each row."""
    return [NAMES[number] for number in arrays()["logits"].argmax(axis=1)]


def _score(name: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        report = evaluated(folder / name, out, benchmark=data())
        return Used(numbers=numbers_of(report), notes=report.notes)

    return use


def samples() -> dict[str, Any]:
    """What FiftyOne exports, with plain lists as logits."""
    rows = zip(IDS, arrays()["label"], chosen(), arrays()["logits"].tolist(), strict=True)
    return {
        "samples": [
            {
                "_id": {"$oid": f"{number:024x}"},
                "filepath": f"data/{name}.jpg",
                "tags": [],
                "example_id": name,
                "split": "test",
                "ground_truth": {"_cls": "Classification", "label": NAMES[label]},
                "prediction": {"_cls": "Classification", "label": said, "confidence": 0.5, "logits": logits},
            }
            for number, (name, label, said, logits) in enumerate(rows)
        ]
    }


TOLD = {"version": "1.22.1", "media_type": "image", "default_classes": NAMES, "info": {"model": "mine"}}


def _make_fiftyone(folder: Path) -> None:
    (folder / "fo").mkdir()
    (folder / "fo" / "samples.json").write_text(json.dumps(samples()))
    (folder / "fo" / "metadata.json").write_text(json.dumps(TOLD))


FIFTYONE = Format(name="FiftyOne", make=_make_fiftyone, use=_score("fo"))


def _of_samples(place: str, change: str) -> frozenset[str]:
    """What is read of a sample; logits that are missing in one row leave the labels alone, which are other numbers."""
    if place == "samples[0].prediction" or place.startswith("samples[0].prediction"):
        return frozenset({REFUSED, SAME, SAID, CHANGED})
    if place.startswith(("samples[0].filepath", "samples[0].tags", "samples[0]._id")):
        return frozenset({SAME})
    return frozenset({REFUSED, SAME})


def _of_metadata(place: str, change: str) -> frozenset[str]:
    """Without the names of the classes, the labels alone are read."""
    return frozenset({REFUSED, SAME, CHANGED}) if place.startswith("default_classes") else frozenset({SAME})


CASES = [
    *((FIFTYONE, case) for case in json_cases("fo/samples.json", samples(), _of_samples)),
    *((FIFTYONE, case) for case in json_cases("fo/metadata.json", TOLD, _of_metadata)),
    *((FIFTYONE, case) for name in ("samples", "metadata") for case in json_text_cases(f"fo/{name}.json")),
    *((FIFTYONE, case) for case in place_cases("fo/samples.json")),
]


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_bridges(campaign, kind, case):
    campaign.run(kind, case)
