"""Shards of a built WebDataset and their index with one thing wrong: the shard is named, or the rows are the same."""

import hashlib
import io
from pathlib import Path

import datasets
from fuzz_case import Format, Used
from PIL import Image

from oochub.data.shards import ShardRows
from oochub.repository.write_webdataset import SplitRows, write_webdataset

_FEATURES = datasets.Features(
    {
        "example_id": datasets.Value("string"),
        "image": datasets.Image(decode=False),
        "label": datasets.ClassLabel(names=["no car", "car"]),
        "area": datasets.Value("float32"),
        "objects": datasets.List(datasets.Value("int64")),
    }
)


def _rows(count: int) -> datasets.Dataset:
    pictures = []
    for k in range(count):
        file = io.BytesIO()
        Image.new("RGB", (4, 4), (40 * k, 99, 199)).save(file, "PNG")
        pictures.append({"bytes": file.getvalue(), "path": f"{k}.png"})
    columns = {"image": pictures, "label": [k % 2 for k in range(count)], "area": [k / 7 for k in range(count)]}
    ids = [f"row {k}" for k in range(count)]
    return datasets.Dataset.from_dict(
        {"example_id": ids, **columns, "objects": [list(range(k)) for k in range(count)]}, _FEATURES
    )


def _make(folder: Path) -> None:
    splits = {
        name: SplitRows(count, lambda count=count: _rows(count).with_format("arrow").iter(5))
        for name, count in (("train", 16), ("test", 2))
    }
    write_webdataset(splits, folder, name="tiny", features=_FEATURES)


def _use(folder: Path, out: Path) -> Used:
    parts = ShardRows(folder).as_streaming_dataset()
    numbers = {}
    for name, part in parts.items():
        rows = list(part.cast_column("image", datasets.Image(decode=False)))
        numbers[name] = [row | {"image": hashlib.sha256(row["image"]["bytes"]).hexdigest()} for row in rows]
    return Used(numbers=numbers)


SHARDS = Format(name="shards", make=_make, use=_use)
