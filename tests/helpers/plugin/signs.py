"""Signs: round and square signs on a ground that misleads, of a package of its own; one config, splits as in WILDS."""

import json
from pathlib import Path
from typing import Any, ClassVar

import datasets
import numpy as np

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary

_SPLITS = {"train": 64, "val": 24, "id_test": 24, "test": 24}
_SHAPES = ("round", "square")

signs = Benchmark(
    name="signs",
    title="Signs",
    summary="Round and square signs whose ground goes with the shape in training, and does not in the test.",
    version="1.0.0",
    homepage="",
    citation="@misc{signs, title = {Signs}}",
    raw_files=(
        RawFile(path="signs.json", url="drawn", size="1 kB", license="CC0"),
        RawFile(path="images/", url="drawn", size="136 PNGs", license="CC0"),
    ),
    in_context=Rows(name="towns of training", split="id_test"),
    out_of_context=Rows(name="new towns", split="test"),
    primary_metric="accuracy",
    metrics=("accuracy", "worst_group"),
    chance=0.5,
    words=Vocabulary(example="image", inside="in towns of training", outside="in new ones"),
    images_license="CC0",
    annotations_license="CC0",
    validation_split="val",
    toy_world="signs:_drawn",
)


class Signs(BenchmarkBuilder):
    """One config without a name; `group` is text and `groups` a list, which need no ClassLabel."""

    BENCHMARK: ClassVar[Benchmark] = signs

    def _features(self) -> datasets.Features:
        return datasets.Features(
            {
                "example_id": datasets.Value("string"),
                "image": datasets.Image(),
                "label": datasets.ClassLabel(names=list(_SHAPES)),
                "environment": datasets.Value("string"),
                "group": datasets.Value("string"),
                "groups": datasets.List(datasets.Value("string")),
            }
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        folder = self._folder()
        rows = json.loads((folder / "signs.json").read_text("utf-8"))
        return self._splits(folder / "images", rows, BuildFacts())


def _drawn(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    from PIL import Image, ImageDraw

    folder, rng = Path(folder), np.random.default_rng(seed)
    (folder / "images").mkdir(parents=True)
    rows: dict[str, list[dict[str, Any]]] = {split: [] for split in _SPLITS}
    for split, n in _SPLITS.items():
        new = split == "test"
        for k in range(n):
            shape, town = _SHAPES[k % 2], int(rng.integers(50, 100) if new else rng.integers(50))
            picture = Image.new("RGB", (16, 16), (town, 40 if (k % 2) ^ new else 200, 90))
            draw = ImageDraw.Draw(picture)
            (draw.ellipse if shape == "round" else draw.rectangle)((4, 4, 12, 12), fill=(250, 250, 250))
            picture.save(folder / "images" / f"{split}_{k}.png")
            place = {"environment": f"town {town}", "group": f"{shape}/town {town}", "groups": [shape, f"town {town}"]}
            rows[split].append({"example_id": f"{split} {k}", "file": f"{split}_{k}.png", "label": shape, **place})
    (folder / "signs.json").write_text(json.dumps(rows), "utf-8")
    (folder / "toy_world.json").write_text("{}", "utf-8")
    return folder
