"""Hard ImageNet: 15 ImageNet classes with strong spurious cues, with an object mask for each image."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, make_features
from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES, LABELS
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary, WorstOfGroups
from oochub.storage.picture_file import check_inside

_SPLITS = {"train": "train", "test": "val"}
"""Split to the name of its folders."""
_PUBLISHED, _CLASSES = 750, 15  # test images and classes
_SHOWN = 3
_Row = dict[str, str | int]
_HOME = "https://mmoayeri.github.io/HardImageNet"
_IMAGES_LICENSE = "ImageNet terms of access: non-commercial research and education"
_MASKS_LICENSE = "CC0 (page of the paper)"


def _declare_files(split: str, folder: str) -> tuple[RawFile, RawFile]:
    required = split == "test"
    masks = RawFile(
        path=f"{folder}/", url=_HOME, size="not stated", license=_MASKS_LICENSE, required=required,
        note="masks: <wnid>_<name of the image in ImageNet>",
    )  # fmt: skip
    images = RawFile(
        path=f"imagenet/{folder}/", url="https://image-net.org", size="not stated", license=_IMAGES_LICENSE,
        required=required, note="<wnid>/<image> of ImageNet, as ImageNet has it",
    )  # fmt: skip
    return masks, images


hard_imagenet = Benchmark(
    name="hard_imagenet",
    title="Hard ImageNet",
    summary="Images of 15 classes of ImageNet whose objects are small beside strong spurious cues.",
    version="1.0.0",
    homepage=_HOME,
    sources=("imagenet", "hard imagenet"),
    citation="""@inproceedings{moayeri2022hard,
  title = {Hard ImageNet: Segmentations for Objects with Strong Spurious Cues},
  author = {Moayeri, Mazda and Singla, Sahil and Feizi, Soheil},
  booktitle = {Advances in Neural Information Processing Systems, Datasets and Benchmarks Track},
  year = {2022}
}""",
    raw_files=tuple(raw for split, folder in _SPLITS.items() for raw in _declare_files(split, folder)),
    in_context=Rows(name="all", split="test"),
    out_of_context=WorstOfGroups(name="worst class", split="test"),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=0.001,
    words=Vocabulary(
        example="image",
        inside="on all images",
        outside="on those of the worst class",
        inside_title="over all images",
        outside_title="on the worst class",
    ),
    context_column="group",
    images_license=_IMAGES_LICENSE,
    annotations_license=_MASKS_LICENSE,
    toy_world="toy_hard_imagenet",
)


class HardImagenet(BenchmarkBuilder):
    """The masks of the release, `val/` and perhaps `train/`, with the images of ImageNet that they are of.

    An image is a row if it has a mask: the masks of `val/` make the split test, those of `train/` the split train.
    `example_id` is the name of the mask, and `mask` its file below the raw folder. Labels are 0 to 999 in the standard
    order, so that a model of ImageNet, or one of images and texts, answers as it is. The gap is that of the worst
    class. How much a model needs the object is asked by its masks, as PNG files named by `example_id`: `oochub audit
    MODEL hard_imagenet --probe background --masks FOLDER` answers without the object, and with it alone.

    The release ranks the training images by the strength of their cues in a pickle, which is not read here, and which
    end of it is strong is not said in what was read; so there is no column of it.

    Source: Moayeri, Singla and Feizi 2022; HardImageNet a39e3f9, `README.md`, `datasets/hard_imagenet.py` (the names
    of masks and images), `index.html` (15 classes, 750 test images; "19k" training images, which are not counted).

    >>> HardImagenet.BENCHMARK.out_of_context.column
    'group'
    """

    BENCHMARK: ClassVar[Benchmark] = hard_imagenet

    def _watched(self, folder: Path) -> Iterable[Path]:
        for name in _SPLITS.values():
            for place in (folder / name, folder / "imagenet" / name):
                if place.is_dir():
                    yield place
                    yield from sorted(path for path in place.iterdir() if path.is_dir())

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        folder = self._folder()
        rows: dict[str, list[_Row]] = {}
        notes: list[str] = []
        for split, name in _SPLITS.items():
            if (folder / name).is_dir():
                rows[split], absent = _read_masks(folder, name, within=self._within)
                notes += _note_absent(absent, len(rows[split]), name)
        if not rows["test"]:
            raise OochubError(
                f"None of the masks in {folder / 'val'} has its image in {folder / 'imagenet/val'}. Put the folders of "
                "the classes of ImageNet there, as ImageNet has them."
            )
        kept = {split: of for split, of in rows.items() if of}
        labels = sorted({int(row["label"]) for of in kept.values() for row in of})
        names = [_shorten(label) for label in labels]
        self.info.features = make_features(
            image=datasets.Image(), label=IMAGENET_1K_NAMES, environment=names, group=names, mask="string"
        )
        notes += self._partial(kept, {"test": _PUBLISHED})
        if len(labels) != _CLASSES:
            notes.append(f"partial: {len(labels)} of {_CLASSES} classes")
        tables = {split: pa.Table.from_pylist(of) for split, of in kept.items()}
        return self._splits(folder, tables, BuildFacts(present_classes=tuple(labels)), notes)


def _read_masks(folder: Path, name: str, *, within: Path | None) -> tuple[list[_Row], list[str]]:
    """The rows of the masks of a folder, and the masks whose image is not there."""
    place = folder / name
    rows: list[_Row] = []
    absent: list[str] = []
    masks = sorted(path.name for path in place.iterdir() if not path.name.startswith("."))
    images = _list_images(folder / "imagenet" / name, {mask.partition("_")[0] for mask in masks} & {*LABELS})
    table = RawTable(file=place, place=lambda row: masks[row])
    table.require(
        [mask.partition("_")[0] in LABELS and mask.partition("_")[2] for mask in masks],
        "a mask is named <wnid>_<image>, with a wnid of ImageNet-1K, such as n03218198_ILSVRC2012_val_00000293.JPEG",
    )
    stems = [mask.rpartition(".")[0] or mask for mask in masks]
    table.add("image", stems, RawColumn(is_unique=True))
    for mask, stem in zip(masks, stems, strict=True):
        wnid, _, image = mask.partition("_")
        file = images.get((wnid, image.rpartition(".")[0]))
        if file is None:
            absent.append(mask)
            continue
        if within:
            check_inside(folder / file, root=within)
        label = LABELS[wnid]
        group = _shorten(label)
        rows.append(
            {"example_id": stem, "file": file, "label": label, "environment": group, "group": group,
             "mask": f"{name}/{mask}"}
        )  # fmt: skip
    return rows, absent


def _list_images(place: Path, wnids: set[str]) -> dict[tuple[str, str], str]:
    """The images of these classes of ImageNet by wnid and name without ending; the folder may hold other classes."""
    folder_of: dict[tuple[str, str], str] = {}
    for wnid in sorted(wnids):
        for image in (place / wnid).iterdir() if (place / wnid).is_dir() else ():
            folder_of[wnid, image.name.rpartition(".")[0]] = f"imagenet/{place.name}/{wnid}/{image.name}"
    return folder_of


def _note_absent(absent: list[str], found: int, name: str) -> list[str]:
    if not absent:
        return []
    more = ", ..." if len(absent) > _SHOWN else ""
    return [
        f"partial: {len(absent):,} of {len(absent) + found:,} masks in {name} have no image in imagenet/{name} "
        f"({', '.join(absent[:_SHOWN])}{more})"
    ]


def _shorten(label: int) -> str:
    return IMAGENET_1K_NAMES[label].partition(", ")[0]
