"""CounterAnimal: animals of ImageNet's classes on a background that is common for them and on one that is not."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, make_features
from oochub.builders.sources.class_folders import (
    Folders,
    check_names,
    check_no_copies,
    iterate_folders,
    list_class_folders,
)
from oochub.builders.sources.raw_table import RawColumn
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary

_FOLDER = "LAION-final"
_PARTS = ("common", "counter")
_CLASS = RawColumn(
    pattern=r"\d{1,3} +\S.*", form='named <number of ImageNet\'s class, 0 to 999> <name>, such as "9 ostrich"'
)
_GROUP = RawColumn(pattern="(common|counter)-.+", form="common-<background> or counter-<background>")
_HOME = "https://counteranimal.github.io"
_NOT_STATED = "not stated; the images are from iNaturalist"

counter_animal = Benchmark(
    name="counter_animal",
    title="CounterAnimal",
    summary="Photographs of animals on common backgrounds, and on ones on which CLIP does worse.",
    version="1.0.0",
    homepage=_HOME,
    sources=("counteranimal", "inaturalist"),
    citation="""@inproceedings{wang2024sober,
  title = {A Sober Look at the Robustness of {CLIP}s to Spurious Features},
  author = {Wang, Qizhou and Lin, Yong and Chen, Yongqiang and Schmidt, Ludwig and Han, Bo and Zhang, Tong},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2024}
}""",
    raw_files=(
        RawFile(
            path=f"{_FOLDER}/",
            url=_HOME,
            size="not stated",
            license=_NOT_STATED,
            note="<number of ImageNet's class> <name>/{common,counter}-<background>/<image>",
        ),
    ),
    in_context=Rows(name="common", split="test", where={"part": ("common",)}),
    out_of_context=Rows(name="counter", split="test", where={"part": ("counter",)}),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=0.001,
    words=Vocabulary(example="image", inside="on common backgrounds", outside="on counter ones", place="on"),
    context_column="background",
    closed={"part": _PARTS},
    images_license=_NOT_STATED,
    annotations_license="not stated",
    toy_world="toy_counter_animal",
)


class CounterAnimal(BenchmarkBuilder):
    """The folder `LAION-final/`: a folder for each class, in it one of common and one of counter images.

    A class folder's name begins with the number of its class in ImageNet-1K, so that labels are 0 to 999 and a model of
    ImageNet, or one of images and texts, answers as it is. The names of its two folders say the background
    ("common-snow"). The gap is the accuracy on counter minus that on common; all rows are tested. `group` is
    class/background.

    The authors chose each pair of backgrounds by where a CLIP model does worse, so a gap of CLIP models is partly by
    choice; one of other models is not.

    Source: Wang et al. 2024, Section 3. The layout is that which public loaders of the archive read (the folder, the
    number before the name, the prefixes common- and counter-). How many images there are is not stated in what was
    read, so counts are not checked.

    >>> CounterAnimal.BENCHMARK.in_context.where
    {'part': ('common',)}
    """

    BENCHMARK: ClassVar[Benchmark] = counter_animal

    def _watched(self, folder: Path) -> Iterable[Path]:
        return iterate_folders(folder / _FOLDER)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        place = self._folder() / _FOLDER
        images_of = list_class_folders(place, within=self._within)
        pairs = _read_pairs(place, images_of)
        check_no_copies(images_of, place)
        rows = [
            _make_row(f"{name}/{part}-{background}/{image}", pair.label, part, background)
            for name, pair in sorted(pairs.items(), key=lambda item: item[1].label)
            for part, background in zip(_PARTS, pair.backgrounds, strict=True)
            for image in images_of[name][f"{part}-{background}"]
        ]
        groups = dict.fromkeys(row["group"] for row in rows)
        names = {"label": IMAGENET_1K_NAMES, "environment": _PARTS, "group": list(groups), "part": _PARTS}
        backgrounds = sorted({row["background"] for row in rows})
        self.info.features = make_features(image=datasets.Image(), **names, background=backgrounds)
        labels = tuple(sorted(pair.label for pair in pairs.values()))
        return self._splits(place, {"test": pa.Table.from_pylist(rows)}, BuildFacts(present_classes=labels))


class _Pair(NamedTuple):
    """The class of a folder, and its common and its counter background."""

    label: int
    backgrounds: tuple[str, str]


def _read_pairs(place: Path, found: Folders) -> dict[str, _Pair]:
    """Refuses no class at all, two folders of one class, a class without a common or a counter background."""
    if not found:
        raise OochubError(f"{place} holds no class folder. Unpack the archive again.")
    classes = check_names(place, "class folder", found, _CLASS)
    labels = {name: int(name.partition(" ")[0]) for name in found}
    classes.add("number", list(map(str, labels.values())), RawColumn(is_unique=True))
    pairs = {}
    for name, own in found.items():
        check_names(place / name, "folder", own, _GROUP)
        backgrounds = {folder.partition("-")[0]: folder.partition("-")[2] for folder in own}
        missing = [part for part in _PARTS if part not in backgrounds or not own[f"{part}-{backgrounds[part]}"]]
        if missing or len(own) > len(_PARTS):
            raise OochubError(
                f"{place / name} must have images in one folder common-<background>/ and one counter-<background>/, "
                f"got {', '.join(sorted(own))}{f', without an image of {missing[0]}' if missing else ''}. Unpack the "
                "archive again."
            )
        pairs[name] = _Pair(labels[name], (backgrounds["common"], backgrounds["counter"]))
    return pairs


def _make_row(file: str, label: int, part: str, background: str) -> dict[str, Any]:
    group = f"{IMAGENET_1K_NAMES[label].partition(', ')[0]}/{background}"
    names = {"environment": part, "group": group, "part": part, "background": background}
    return {"example_id": file.rpartition(".")[0], "file": file, "label": label, **names}
