"""ImageNet-9: nine coarse ImageNet classes with foregrounds placed on backgrounds of the same or of another class."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, make_features
from oochub.builders.sources.class_folders import check_names, iterate_folders, list_class_folders
from oochub.builders.sources.raw_table import RawColumn
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary

_CLASSES = (
    *("dog", "bird", "wheeled vehicle", "reptile", "carnivore"),
    *("insect", "musical instrument", "primate", "fish"),
)
"""By the number that a class's folder begins with, 00 to 08."""
_IMAGENET = {
    "dog": "151-170 173-268",
    "bird": "7-24 87-100 127-146",
    "wheeled vehicle": (
        "407-408 428 436 444 468 511 547 555 561 565 569 573 586 603 609 612 627 656 661 665 670-671 675 "
        "690 705 717 734 751 757 791 802-803 817 820 829 847 864 866-867 870 880"
    ),
    "reptile": "33-68",
    "carnivore": "269-280 286-299 356-362 387-388",
    "insect": "300-326",
    "musical instrument": (
        "401-402 420 432 486 494 513 541 546 558 566 577 579 593-594 641-642 683-684 687 699 776 822 875 881 889"
    ),
    "primate": "365-384",
    "fish": "0-6 389-397",
}
"""The classes of ImageNet-1K that are of each class, by their numbers, as in the authors' in_to_in9.json."""
_IMAGES_PER_CLASS = 450  # of each variant: 4,050 in all, in equal parts
_VARIANTS = {
    "original": "as it is",
    "mixed_same": "on another background of the same class",
    "mixed_rand": "on a background of a class drawn at random",
    "mixed_next": "on a background of the next class",
    "only_fg": "the foreground on black",
    "only_bg_b": "the background, the foreground's box black",
    "only_bg_t": "the background, the foreground's box filled with it",
    "no_fg": "the foreground cut out black",
}
_NEEDED = ("mixed_same", "mixed_rand")
_FOLDER = RawColumn(pattern="0[0-8][_ -].+", form="one of the nine classes, 00_dog to 08_fish")
_PASTED = re.compile(r"fg_(?P<foreground>.+)_bg_.+")
_SHOWN = 3
_HOME = "https://github.com/MadryLab/backgrounds_challenge"
_LICENSE = "ImageNet terms of access: non-commercial research and education"


def _list_numbers(ranges: str) -> tuple[int, ...]:
    ends = [[int(end) for end in part.split("-")] for part in ranges.split()]
    return tuple(number for first, *last in ends for number in range(first, (last or [first])[0] + 1))


imagenet_9 = Benchmark(
    name="imagenet_9",
    title="ImageNet-9",
    summary="Nine coarse classes of ImageNet, each foreground on a background of its own class and of another one.",
    version="1.1.0",
    homepage=_HOME,
    sources=("imagenet",),
    citation="""@inproceedings{xiao2021noise,
  title = {Noise or Signal: The Role of Image Backgrounds in Object Recognition},
  author = {Xiao, Kai and Engstrom, Logan and Ilyas, Andrew and Madry, Aleksander},
  booktitle = {International Conference on Learning Representations},
  year = {2021}
}""",
    raw_files=tuple(
        RawFile(
            path=f"{variant}/val/",
            url=f"{_HOME}/releases",
            size="not stated",
            license=_LICENSE,
            required=variant in _NEEDED,
            note=f"<00 to 08>_<class>/<image>: {what}",
        )
        for variant, what in _VARIANTS.items()
    ),
    in_context=Rows(name="mixed_same", split="test", where={"variant": ("mixed_same",)}),
    out_of_context=Rows(name="mixed_rand", split="test", where={"variant": ("mixed_rand",)}),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=1 / len(_CLASSES),
    words=Vocabulary(
        example="image",
        inside="on usual backgrounds",
        outside="on random ones",
        cause="the background",
    ),
    context_column="variant",
    pair="foreground",
    closed={
        "variant": tuple(_VARIANTS),
        "group": tuple(f"{label}/{variant}" for label in _CLASSES for variant in _VARIANTS),
    },
    images_license=_LICENSE,
    annotations_license="not stated",
    toy_world="toy_imagenet_9",
    imagenet_classes={name: _list_numbers(ranges) for name, ranges in _IMAGENET.items()},
)


class Imagenet9(BenchmarkBuilder):
    """The folder `bg_challenge/` of the release: variants, in each `val/`, nine class folders and images.

    The gap is the paper's BG-Gap: the accuracy on `mixed_rand` minus that on `mixed_same`. Both sides show the same
    foregrounds, so its interval is that of pairs by `foreground`, the id of the image that the foreground is cut from:
    the name of an original, and what stands between `fg_` and `_bg_` in the name of a mixed image. A foreground that
    only one of the two has is noted, and counts unpaired. All variants are rows of the split `test`; those that are not
    in the folder are noted. `group` is class/variant.

    A model of the 1,000 classes of ImageNet answers by the authors' map of 370 of them, by which a dog is no carnivore,
    and cats, grouse and two hounds are of no class. Its probability of a class is the sum of those of its classes. The
    authors count an answer that is none of the 370 as wrong; here the most probable of the nine is the answer, so
    accuracies are somewhat higher than theirs.

    Source: Xiao et al. 2021, Sections 2 and 4; backgrounds_challenge 46d224b, `README.md`, `in9_eval.py`,
    `challenge_eval.py`, `in9_classes.txt`; the names of images by `main.py` of roleofimagebackgrounds, the code of the
    paper's submission; the map by `in_to_in9.json`. Section 2 of the paper says that the test set has 4,050 images, as
    many of each class; another number of a variant is noted as partial.

    >>> Imagenet9.BENCHMARK.out_of_context.where
    {'variant': ('mixed_rand',)}
    """

    BENCHMARK: ClassVar[Benchmark] = imagenet_9

    def _features(self) -> datasets.Features:
        variants = tuple(_VARIANTS)
        names = {"label": _CLASSES, "environment": variants, "group": imagenet_9.closed["group"], "variant": variants}
        return make_features(image=datasets.Image(), **names, foreground="string")

    def _watched(self, folder: Path) -> Iterable[Path]:
        for variant in _VARIANTS:
            yield from iterate_folders(folder / variant)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        folder = self._folder()
        present = [variant for variant in _VARIANTS if (folder / variant / "val").is_dir()]
        rows = [row for variant in present for row in _list_rows(folder, variant, within=self._within)]
        missing = [variant for variant in _VARIANTS if variant not in present]
        notes = [f"partial: without the variants {', '.join(missing)}"] if missing else []
        notes += _note_counts(rows, present)
        notes += _note_partners(_check_foregrounds(rows, folder))
        return self._splits(folder, {"test": pa.Table.from_pylist(rows)}, BuildFacts(), notes)


def _list_rows(folder: Path, variant: str, *, within: Path | None) -> list[dict[str, str]]:
    images_of = list_class_folders(folder / variant, within=within)["val"]
    folders = check_names(folder / variant / "val", "class folder", images_of, _FOLDER)
    folders.add("number", [name[1] for name in images_of], RawColumn(is_unique=True))
    labels = {int(name[1]): name for name in images_of}
    empty = [name for number, name in enumerate(_CLASSES) if not images_of.get(labels.get(number, ""))]
    if empty:
        raise OochubError(
            f"{folder / variant}/val/ has no image of {' and '.join(empty)}. There is a folder for each of the nine "
            "classes, 00_dog to 08_fish: unpack the release again."
        )
    return [
        _make_row(f"{variant}/val/{labels[number]}/{image}", name, variant)
        for number, name in enumerate(_CLASSES)
        for image in images_of[labels[number]]
    ]


def _make_row(file: str, label: str, variant: str) -> dict[str, str]:
    names = {"label": label, "environment": variant, "group": f"{label}/{variant}", "variant": variant}
    example_id = file.rpartition(".")[0]
    image = example_id.rpartition("/")[2]
    pasted = _PASTED.fullmatch(image)
    return {
        "example_id": example_id,
        "file": file,
        **names,
        "foreground": pasted["foreground"] if pasted else image,
    }


def _check_foregrounds(rows: list[dict[str, str]], folder: Path) -> dict[str, dict[str, str]]:
    """The foregrounds of each variant with their files; refuses one that is of two classes, or twice in a variant."""
    first: dict[str, dict[str, str]] = {}
    image_of: dict[str, dict[str, str]] = {}
    for row in rows:
        name, own = row["foreground"], image_of.setdefault(row["variant"], {})
        other = first.setdefault(name, row)
        if other["label"] != row["label"]:
            raise OochubError(
                f"{folder} has the foreground {name} as {other['label']} in {other['file']} and as {row['label']} in "
                f"{row['file']}. Move it to its class, or unpack the release again."
            )
        if name in own:
            raise OochubError(
                f"{folder} has the foreground {name} twice in {row['variant']}: {own[name]} and {row['file']}. Each "
                "variant has it once: remove one of them."
            )
        own[name] = row["file"]
    return image_of


def _note_counts(rows: list[dict[str, str]], present: list[str]) -> list[str]:
    """The variants that have another number of images than the published one, with the class that differs most."""
    counts = Counter((row["variant"], row["label"]) for row in rows)
    variants_of: dict[str, list[str]] = {}
    for variant in present:
        own = {name: counts[variant, name] for name in _CLASSES}
        worst = max(own, key=lambda name: abs(own[name] - _IMAGES_PER_CLASS))
        if own[worst] != _IMAGES_PER_CLASS:
            images = f"{sum(own.values()):,} of {_IMAGES_PER_CLASS * len(_CLASSES):,} images"
            variants_of.setdefault(f"{images} ({own[worst]:,} of {_IMAGES_PER_CLASS} of {worst})", []).append(variant)
    return [f"partial: {text} in {', '.join(variants)}" for text, variants in variants_of.items()]


def _note_partners(found: dict[str, dict[str, str]]) -> list[str]:
    """The foregrounds that one side of the gap has and the other one lacks."""
    notes = []
    for side, other in (_NEEDED, _NEEDED[::-1]):
        alone = [file for name, file in found[side].items() if name not in found[other]]
        if alone:
            more = ", ..." if len(alone) > _SHOWN else ""
            notes.append(
                f"partial: {len(alone):,} of {len(found[side]):,} foregrounds of {side} have no image in {other} "
                f"({', '.join(alone[:_SHOWN])}{more})"
            )
    return notes
