"""The raw folders of WILDS, and how their files are changed: an error that names a file, or rows."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from datasets import load_dataset
from drawn_changes import bytes_of, cells_of, field_of, lines_of, one_of, place_of
from fresh_cases import Change
from fuzz_case import Format, Used

import oochub
from oochub.records.build_record import BuildRecord

SIZES: dict[str, str | int] = {
    "amazon": 4,
    "camelyon17": 20,
    "civilcomments": 20,
    "fmow": 24,
    "globalwheat": 3,
    "iwildcam": 6,
    "ogb_molpcba": 8,
    "poverty_fold_a": 2,
    "py150": 4,
    "rxrx1": "small",
}
"""The config of each data set, and how large its toy folder is."""
_REGIONS = ("Africa", "Americas", "Asia", "Europe", "Oceania")
_CELLS = ("HEPG2", "HUVEC", "RPE", "U2OS")


def _use(config: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        data = load_dataset("wilds", config, data_dir=str(folder), streaming=True)
        parts = {split: part.with_format("numpy") for split, part in data.items()}
        if "image" in data["train"].features:  # the bytes, which are stored as they are
            parts = {split: part.decode(False) for split, part in parts.items()}
        numbers = {split: [_without_content(row) for row in part] for split, part in parts.items()}
        return Used(numbers=numbers, notes=tuple(BuildRecord.of(data["train"].info).notes))

    return use


def _without_content(row: dict[str, Any]) -> dict[str, Any]:
    """The row without the bytes of its image, its array as a digest."""
    array = {"array": hashlib.sha256(row["array"].tobytes()).hexdigest()} if "array" in row else {}
    return {**{name: value for name, value in row.items() if name != "image"}, **array}


def wilds(config: str) -> Format:
    """The toy folder of a config."""

    def make(folder: Path) -> None:
        oochub.get("benchmark", "wilds").of(config).render_toy_world(folder, size=SIZES[config])

    return Format(name=f"wilds {config}", make=make, use=_use(config))


_SPLITS = ("train", "val", "test", "id_val", "Train", "validation", "0", "1", "2", "-1", "9")
_REPOSITORIES = "metadata/repo_file_names"
_FILES: dict[str, tuple[dict[str, Change], tuple[str, ...]]] = {
    "amazon": (
        {"cells": cells_of("reviews.csv", values=("0", "6", "5.0", "True")),
         "splits": cells_of("splits/user.csv", values=_SPLITS)},
        ("reviews.csv", "splits/user.csv"),
    ),
    "camelyon17": ({"cells": cells_of("metadata.csv", values=_SPLITS)}, ("metadata.csv", "patches/*/*.png")),
    "civilcomments": (
        {"cells": cells_of("all_data_with_identities.csv", values=("0.5", "1.0", *_SPLITS))},
        ("all_data_with_identities.csv",),
    ),
    "fmow": (
        {"cells": cells_of("rgb_metadata.csv", values=("USA", "XXX", "usa", *_SPLITS)),
         "regions": cells_of("country_code_mapping.csv", values=(*_REGIONS, "america", "Europa", "europe"))},
        ("*.csv",),
    ),
    "globalwheat": (
        {"cells": cells_of("official_*.csv", values=(
            "0 0 96 96", "90 90 97 97", "5000 5000 6000 6000", "5 5 5 9", "9 9 5 5", "no_box", "-5 0 9 9"))},
        ("official_*.csv", "metadata_domain.csv", "images/*.png"),
    ),
    "iwildcam": (
        {"cells": cells_of("metadata.csv", values=_SPLITS), "class names": cells_of("categories.csv")},
        ("*.csv", "train/*.jpg"),
    ),
    "ogb_molpcba": ({}, ("raw/*.gz", "split/scaffold/*.gz", "raw/*.npy")),
    "poverty_fold_a": (
        {"cells": cells_of("dhs_metadata.csv", values=("kenya", "Kenya", "atlantis", "True", "true"))},
        ("dhs_metadata.csv", "images/*.npz"),
    ),
    "py150": (
        {"JSON field": field_of("processed/*_input.json", "processed/*_tok_type.json"),
         "names": one_of(lines_of(f"{_REPOSITORIES}/*.txt"), cells_of(f"{_REPOSITORIES}/repo_ids.csv"))},
        ("processed/*.json", f"{_REPOSITORIES}/*"),
    ),
    "rxrx1": (
        {"cells": cells_of("metadata.csv", values=(*_CELLS, "hepg2", "HELA", "1", "2", *_SPLITS))},
        ("metadata.csv",),
    ),
}  # fmt: skip


def wilds_changes(config: str) -> dict[str, Change]:
    """What can be done to the files of a config: what their form allows, and damage."""
    own, files = _FILES[config]
    return {**own, "bytes": bytes_of(*files), "place": place_of(*files)}


WILDS = {config: wilds(config) for config in SIZES}
