"""A toy of ImageNet-Hard: drawn things of ImageNet from three origins in two Parquet files, some with two classes."""

import io
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from oochub.builders.toy_worlds._folder import Files, World
from oochub.builders.toy_worlds._things import ID_THINGS, PHOTO, SKETCH, paint
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES, LABELS

_FILES = 2
_WORLD = World("toy_imagenet_hard", {"small": 24, "medium": 300}, _FILES)
_ORIGINS = {"imagenet": PHOTO, "imagenet_sketch": SKETCH, "objectnet": PHOTO}
_TOGETHER = 5
"""Rows of a group of a file."""


def toy_imagenet_hard(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws `data/validation-00000-of-00002.parquet` and its sibling: image, label, origin and english_label.

    Every third image has a second right class, the next one of the drawn. The words of `origin` are the toy's own.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Images: "small" (24), "medium" (300), or a number.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of `imagenet_hard` takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_imagenet_hard(tempfile.mkdtemp() + "/imagenet_hard", size=6)
    >>> sorted(path.name for path in root.glob("data/*"))
    ['validation-00000-of-00002.parquet', 'validation-00001-of-00002.parquet']
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    rows = [_draw_row(k, seed) for k in range(count)]
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.List(datasets.Value("int64")),
            "origin": datasets.Value("string"),
            "english_label": datasets.List(datasets.Value("string")),
        }
    )
    for number in range(_FILES):
        table = pa.Table.from_pylist(rows[number::_FILES], schema=features.arrow_schema)
        file = io.BytesIO()
        pq.write_table(table, file, row_group_size=_TOGETHER, compression="none")  # images are compressed already
        yield f"data/validation-{number:05}-of-{_FILES:05}.parquet", file.getvalue()


def _draw_row(number: int, seed: int) -> dict[str, object]:
    things, origins = list(ID_THINGS.items()), list(_ORIGINS.items())
    (wnid, thing), (origin, style) = things[number % len(things)], origins[number % len(origins)]
    picture = paint(np.random.default_rng([seed, number]), thing, style)
    file = io.BytesIO()
    picture.save(file, "JPEG", **_WORLD.saved)
    labels = [LABELS[wnid]]
    if number % 3 == 0:
        labels.append(LABELS[things[(number + 1) % len(things)][0]])
    names = [IMAGENET_1K_NAMES[label].partition(", ")[0] for label in labels]
    image = {"bytes": file.getvalue(), "path": f"{number}.jpg"}
    return {"image": image, "label": labels, "origin": origin, "english_label": names}
