"""ImageNet-X: validation images of ImageNet, with the factors by which each differs from prototypes of its class."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import datasets

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, make_features
from oochub.builders.sources.raw_table import RawColumn, RawRecords, RawTable
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES, LABELS
from oochub.errors import OochubError
from oochub.records.build_record import ANNOTATED, CHOSEN_ON, CONTEXTS_COLUMN, BuildFacts, FoundContexts
from oochub.records.sides import Rows, Vocabulary, WorstOfGroups
from oochub.storage.picture_file import check_inside
from oochub.storage.reading import parse_json, read_lines

_FACTORS: Mapping[str, str] = {
    "pose": "the object is posed or placed differently",
    "background": "the background differs",
    "pattern": "the object has another pattern",
    "color": "the object has another color",
    "smaller": "the object is smaller",
    "shape": "the object has another shape",
    "partial_view": "only a part of the object is seen",
    "subcategory": "the object is of another kind of its class",
    "texture": "the object has another texture",
    "larger": "the object is larger",
    "darker": "the image is darker",
    "object_blocking": "another object stands before it",
    "person_blocking": "a person stands before it",
    "style": "the image is in another style",
    "brighter": "the image is brighter",
    "multiple_objects": "there are several objects",
}
"""The factors in the order of the paper, and what each says of an image beside prototypes of its class."""
_NUMBERS = {name: number for number, name in enumerate(_FACTORS)}
_ROWS, _ANNOTATED = 46_110, 48_868  # without prototypes, and all of the file
_PACKAGE, _ANNOTATIONS, _IMAGES = "imagenet_x", "annotations", "val"
_PROTOTYPES = "prototypical_paths.csv"
_WORDS = ("justification", "one_word")
_NAME = r"ILSVRC2012_val_\d{8}\.JPEG"
_IMAGES_LICENSE = "ImageNet terms of access: non-commercial research and education"
_LICENSE = "CC BY-NC 4.0 (LICENSE of the package; its metadata say BSD 3-Clause)"
_HOME = "https://facebookresearch.github.io/imagenetx/site/home"

_top = Benchmark(
    name="imagenet_x",
    title="ImageNet-X",
    summary="Validation images of ImageNet, each with what makes it differ from prototypes of its class.",
    version="1.0.0",
    homepage=_HOME,
    sources=("imagenet", "imagenet x"),
    citation="""@inproceedings{idrissi2023imagenetx,
  title = {ImageNet-X: Understanding Model Mistakes with Factor of Variation Annotations},
  author = {Idrissi, Badr Youbi and Bouchacourt, Diane and Balestriero, Randall and Evtimov, Ivan and Hazirbas, Caner
    and Ballas, Nicolas and Vincent, Pascal and Drozdzal, Michal and Lopez-Paz, David and Ibrahim, Mark},
  booktitle = {International Conference on Learning Representations},
  year = {2023}
}""",
    expected_rows={"test": _ROWS},
    raw_files=(
        RawFile(
            path=f"{_IMAGES}/", url="https://image-net.org", size="6.7 GB", license=_IMAGES_LICENSE,
            note="validation images of ImageNet, in folders of classes (wnid) or all in one",
        ),
        RawFile(
            path=f"{_PACKAGE}/{_ANNOTATIONS}/", url="https://pypi.org/project/imagenet-x/", size="4.4 MB",
            license=_LICENSE, required=False, note="annotations; else those of your `pip install imagenet-x` are read",
        ),
    ),
    in_context=Rows(name="all", split="test"),
    out_of_context=WorstOfGroups(name="worst factor", split="test", column="groups"),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=0.001,
    words=Vocabulary(
        example="image",
        inside="on all images",
        outside="on those of the worst factor",
        inside_title="over all images",
        outside_title="on the worst factor",
    ),
    group_column="groups",
    context_column="groups",
    closed={"groups": tuple(_FACTORS)},
    images_license=_IMAGES_LICENSE,
    annotations_license=_LICENSE,
    toy_world="toy_imagenet_x",
    tried_configs=("top",),
)  # fmt: skip
imagenet_x = replace(
    _top,
    configs={
        "multi": replace(
            _top,
            summary="Validation images of ImageNet, each with all that makes it differ from prototypes of its class.",
        )
    },
)


@dataclass
class ImagenetXConfig(BenchmarkConfig):
    """Options of `load_dataset("imagenet_x", "top" | "multi", ...)`.

    Attributes:
        prototypes: Keep the annotated images that are prototypes of their class, 48,868 in all; the package drops them.
        follow_links: Read images that links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    prototypes: bool = False


class ImagenetX(BenchmarkBuilder):
    """The images of `val/` that are annotated, in the split `test`; annotations are those of the package `imagenet-x`.

    A factor says how an image differs from three prototypes of its class, so it is a property of the image and its
    class, not one that is usual or unusual for the class. The config `top` has the one factor that differs most, as the
    paper's figures do; `multi` has all that differ. Each factor is a context that people annotated: the report tests
    the accuracy of the images with it against the others of their class, corrected over the 16 factors, and beside the
    gap stands the paper's error ratio, the error of the images with the factor over that of all images. The sides are
    all images and the worst factor.

    The annotations are read from `imagenet_x/annotations/` in the raw folder, else from the installed package, which is
    not imported. Labels are 0 to 999 in the standard order.

    Source: Idrissi et al. 2023; `imagenet-x` 0.0.7: `utils.py` (`load_annotations`: 48,868 annotated images, without
    prototypes 46,110), `aggregate.py` (`error_ratio`).

    >>> ImagenetX.BENCHMARK.out_of_context.column
    'groups'
    """

    BENCHMARK: ClassVar[Benchmark] = imagenet_x
    BUILDER_CONFIG_CLASS = ImagenetXConfig
    BUILDER_CONFIGS: ClassVar[list[ImagenetXConfig]] = [ImagenetXConfig(name="top"), ImagenetXConfig(name="multi")]

    def _features(self) -> datasets.Features:
        words = dict.fromkeys(_WORDS, "string")
        groups = datasets.List(datasets.Value("string"))
        contexts = {CONTEXTS_COLUMN: datasets.List(datasets.ClassLabel(names=list(_FACTORS))), CHOSEN_ON: "bool"}
        names = {"label": IMAGENET_1K_NAMES, "environment": ("val",)}
        return make_features(image=datasets.Image(), **names, groups=groups, **words, **contexts)

    def _watched(self, folder: Path) -> Iterable[Path]:
        place = folder / _IMAGES
        if place.is_dir():
            yield place
            yield from sorted(path for path in place.iterdir() if path.is_dir())
        own = folder / _PACKAGE / _ANNOTATIONS
        yield from sorted(own.iterdir()) if own.is_dir() else ()

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        folder = self._folder()
        table = _read_annotations(_find_annotations(folder), self.config.name, prototypes=self.config.prototypes)
        images = _find_images(folder / _IMAGES, {*table["file_name"]})
        if not images:
            raise OochubError(
                f"None of the {len(table):,} annotated images is in {folder / _IMAGES}. Put the validation images of "
                "ImageNet there, named ILSVRC2012_val_<number>.JPEG, in folders of classes or all in one."
            )
        table = table.where([name in images for name in table["file_name"]])
        wnids = [images[name].parent.name for name in table["file_name"]]
        table.require(
            [LABELS.get(wnid, number) == number for wnid, number in zip(wnids, table["class"], strict=True)],
            lambda row: f"class is {table['class'][row]}, but the image stands in the folder {wnids[row]}",
        )
        rows = [_make_row(table, number, images, folder) for number in range(len(table))]
        for path in images.values() if self._within else ():
            check_inside(path, root=folder)
        contexts = FoundContexts(
            way=ANNOTATED,
            names=tuple(_FACTORS),
            words=tuple(_FACTORS.values()),
            chosen_rows=0,
            class_rows={},
            class_counts={},
            settings={"factors": self.config.name},
        )
        published = _ANNOTATED if self.config.prototypes else _ROWS
        notes = self._partial({"test": rows}, {"test": published})
        return self._splits(folder, {"test": rows}, BuildFacts(found_contexts=contexts), notes)


def _find_annotations(folder: Path) -> Path:
    """The folder of annotations: the raw folder's own, else that of the installed package, which is not imported."""
    own = folder / _PACKAGE / _ANNOTATIONS
    if own.is_dir():
        return own
    package = find_spec(_PACKAGE)
    for place in (package.submodule_search_locations or ()) if package else ():
        if (Path(place) / _ANNOTATIONS).is_dir():
            return Path(place) / _ANNOTATIONS
    raise OochubError(
        f"The annotations of ImageNet-X are not installed, and there is no {own}. Run `pip install --no-deps "
        "imagenet-x` (4.4 MB, CC BY-NC 4.0), which oochub reads and does not run."
    )


def _read_annotations(place: Path, which: str, *, prototypes: bool) -> RawTable:
    """The annotated images, without prototypes if these are not asked for."""
    columns = {
        "file_name": RawColumn(pattern=_NAME, form="ILSVRC2012_val_<number>.JPEG", is_unique=True),
        "class": RawColumn(kind="count", highest=len(IMAGENET_1K_NAMES) - 1, form="ImageNet's classes"),
        **dict.fromkeys(_FACTORS, RawColumn(kind="count", highest=1, form="0 or 1")),
        **dict.fromkeys(_WORDS, RawColumn(default="")),
    }
    file = place / f"imagenet_x_val_{which}_factor.jsonl"
    lines = [parse_json(line, name=f"{file}, line {number}") for number, line in enumerate(read_lines(file), start=1)]
    records = RawRecords.of(file, {"lines": lines}, "lines")
    table = replace(records.table, columns={name: records.read(name, column) for name, column in columns.items()})
    if prototypes:
        return table
    listed = {*RawTable.of_csv(place / _PROTOTYPES, {"file_name": RawColumn()})["file_name"]}
    return table.where([name not in listed for name in table["file_name"]])


def _find_images(place: Path, names: set[str]) -> dict[str, Path]:
    """The place of each of these images, in folders of classes or beside them."""
    folders = [place, *sorted(path for path in place.iterdir() if path.name in LABELS and path.is_dir())]
    return {image.name: image for folder in folders for image in folder.iterdir() if image.name in names}


def _make_row(table: RawTable, number: int, images: Mapping[str, Path], folder: Path) -> dict[str, Any]:
    name = table["file_name"][number]
    factors = [factor for factor in _FACTORS if table[factor][number]]
    return {
        "example_id": name.rpartition(".")[0],
        "file": images[name].relative_to(folder).as_posix(),
        "label": int(table["class"][number]),
        "environment": "val",
        "groups": factors,
        **{words: table[words][number] for words in _WORDS},
        CONTEXTS_COLUMN: [_NUMBERS[factor] for factor in factors],
        CHOSEN_ON: False,
    }
