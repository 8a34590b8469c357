"""Makes Waterbirds from the images of CUB-200-2011 and of Places365, in the layout of the release."""

import csv
import json
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from oochub.errors import OochubError
from oochub.process.follow import follow
from oochub.records.schema import to_json
from oochub.storage.files import check_writable, lock_target, write_whole_folder
from oochub.storage.picture_file import open_picture
from oochub.storage.reading import read_bytes
from oochub.studies.file_kinds import WATERBIRDS
from oochub.studies.waterbirds.cub_images import cub_images
from oochub.studies.waterbirds.pasted_bird import pasted_bird
from oochub.studies.waterbirds.water_species import Species
from oochub.studies.waterbirds.waterbird_rows import SEED, WaterbirdRow, waterbird_rows

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "land": ("b/bamboo_forest", "f/forest/broadleaf"),
    "water": ("o/ocean", "l/lake/natural"),
}
"""Categories of Places365 for land and water, as its folders are named."""
_BIRDS, _PLACES, _SPLITS = ("landbird", "waterbird"), ("land", "water"), ("train", "validation", "test")


@dataclass(frozen=True, kw_only=True)
class Construction:
    """How a Waterbirds was made; `construction.json` beside its `metadata.csv`.

    Attributes:
        seed: Random seed that everything was drawn with.
        species: Name of the list of water birds.
        categories: Categories of Places365, for land and for water.
        rows: Rows of each group in each split: "train/landbird/land".
    """

    seed: int
    species: str
    categories: Mapping[str, tuple[str, ...]]
    rows: Mapping[str, int]


def construct_waterbirds(
    out: str | Path,
    *,
    cub: str | Path,
    places: str | Path,
    segmentations: str | Path | None = None,
    seed: int = SEED,
    species: Species = "released",
) -> Construction:
    """Writes `metadata.csv` and an image for each image of CUB, whole or not at all; `data_dir` of waterbirds.

    Args:
        out: The folder.
        cub: CUB_200_2011, as its archive unpacks, or the folder above.
        places: The folder that holds `b/`, `f/`, `l/` and `o/`, or the one above, as `data_large/` of Places365.
        segmentations: Segmentations of CUB; None takes `segmentations/` in or beside `cub`.
        seed: See `waterbird_rows`, which draws.
        species: See `water_species`.

    Raises:
        OochubError: What is missing or broken in the folders, too few places; nothing is written then.
    """
    check_writable(out, kind=WATERBIRDS)
    birds = _find_birds(_check_folder(cub, "CUB_200_2011"))
    masks = _find_masks(birds, segmentations)
    scenes = _find_scenes(_check_folder(places, "Places365"))
    images = cub_images(birds, masks)
    files = {
        name: [file for category in of for file in _list_pictures(scenes, category)] for name, of in CATEGORIES.items()
    }
    rows = waterbird_rows(images, files, seed=seed, species=species)
    counts = Counter(f"{_SPLITS[row.split]}/{_BIRDS[row.y]}/{_PLACES[row.place]}" for row in rows)
    construction = Construction(seed=seed, species=species, categories=CATEGORIES, rows=dict(sorted(counts.items())))
    with lock_target(out), write_whole_folder(out, kind=WATERBIRDS) as draft:
        for image, row in zip(follow(images, desc="Waterbirds", unit="image", disable=None), rows, strict=True):
            target = draft / row.img_filename
            target.parent.mkdir(exist_ok=True)
            bird, place = birds / "images" / image.file, scenes / row.place_filename[1:]
            try:
                pasted_bird(_read(bird, "RGB"), _read(masks / image.mask, "L"), _read(place, "RGB")).save(
                    target, "JPEG"
                )
            except OochubError as error:
                raise OochubError(f"{bird}: {error}") from None
        with (draft / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([WaterbirdRow._fields, *rows])
        (draft / "construction.json").write_text(json.dumps(to_json(construction), indent=1) + "\n", "utf-8")
    return construction


def _check_folder(given: str | Path, what: str) -> Path:
    path = Path(given).expanduser()
    if not path.is_dir():
        raise OochubError(f"There is no folder of {what} at {path}. Unpack its archive there, or name another folder.")
    return path


def _find_birds(cub: Path) -> Path:
    """The folder that holds the lists."""
    folders = [path for path in (cub, cub / "CUB_200_2011") if (path / "images.txt").is_file()]
    if not folders:
        raise OochubError(f"There is no images.txt in {cub}. Pass the folder CUB_200_2011 of the unpacked archive.")
    return folders[0]


def _find_masks(birds: Path, given: str | Path | None) -> Path:
    if given is not None:
        return _check_folder(given, "CUB's segmentations")
    folders = [path for path in (birds / "segmentations", birds.parent / "segmentations") if path.is_dir()]
    if not folders:
        raise OochubError(
            f"The segmentations of CUB are neither in {birds} nor beside it. Unpack segmentations.tgz there; "
            "it is an archive of its own."
        )
    return folders[0]


def _find_scenes(places: Path) -> Path:
    """The folder that holds the folders of letters."""
    return next(
        (path for path in (places, places / "data_large", places / "data_256") if (path / "o").is_dir()), places
    )


def _list_pictures(scenes: Path, category: str) -> list[str]:
    folder = scenes / category
    names = sorted(path.name for path in folder.glob("*.jpg")) if folder.is_dir() else []
    if not names:
        raise OochubError(
            f"There are no images of the category {category} in {folder}. The folder of Places365 needs "
            f"{', '.join(category for of in CATEGORIES.values() for category in of)}, each with its .jpg files."
        )
    return [f"/{category}/{name}" for name in names]


def _read(file: Path, mode: str) -> Image.Image:
    picture = open_picture(read_bytes(file), name=str(file))
    try:
        return picture.convert(mode)
    except (OSError, SyntaxError, ValueError, struct.error) as error:
        raise OochubError(f"{file}: the image cannot be read ({error}). Download the file again.") from error
