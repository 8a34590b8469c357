"""The mapping files of ObjectNet with one thing wrong: it is named, or the images and their classes are the same."""

import json
from pathlib import Path

from fuzz_case import Format, Used

from oochub.builders.sources.objectnet import FOLDERS, MAPPING, list_objectnet

_LABELS = {"tie": "Tie", "mug": "Mug", "coaster": "Coaster"}
_MAPPED = {"Tie": "bow tie, bow-tie, bowtie; Windsor tie", "Mug": "coffee mug"}
_ROOT = "objectnet-1.0"


def _make(folder: Path) -> None:
    for name, content in ((FOLDERS, _LABELS), (MAPPING, _MAPPED)):
        (folder / _ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / _ROOT / name).write_text(json.dumps(content))
    for name in _LABELS:
        (folder / _ROOT / "images" / name).mkdir(parents=True)
        (folder / _ROOT / "images" / name / f"{name}.png").write_bytes(b"\x89PNG")


def _use(folder: Path, out: Path) -> Used:
    pictures, gaps, remarks = list_objectnet(folder / _ROOT)
    return Used(numbers=[[stored.name, stored.label] for stored in pictures], notes=(*gaps, *remarks))


OBJECTNET = Format(name="ObjectNet", make=_make, use=_use)
