"""MetaShift's cats and dogs: cats are mostly indoors and dogs outdoors, as SubpopBench divides them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import datasets
import numpy as np
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, make_features
from oochub.builders.sources.class_folders import iterate_folders, list_class_folders
from oochub.errors import OochubError, did_you_mean
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary

_FOLDER = "MetaShift-Cat-Dog-indoor-outdoor"
_PLACES = {
    "cat/indoor": "train/cat/cat(indoor)",
    "dog/outdoor": "train/dog/dog(outdoor)",
    "cat/outdoor": "test/cat/cat(outdoor)",
    "dog/indoor": "test/dog/dog(indoor)",
}
"""The folder of each group, in the order in which SubpopBench reads them; the first two are usual."""
_GROUPS = tuple(_PLACES)
_CLASSES, _CONTEXTS = ("dog", "cat"), ("outdoor", "indoor")
_SEED, _TESTED, _VALIDATED = 42, 0.25, 0.1
_LICENSE = "of Visual Genome's images; MetaShift's code is MIT"
_HOME = "https://metashift.readthedocs.io"

metashift = Benchmark(
    name="metashift",
    title="MetaShift cats and dogs",
    summary="Cats and dogs of Visual Genome; most cats are indoors and most dogs outdoors.",
    version="1.0.0",
    homepage=_HOME,
    sources=("metashift", "visual genome", "gqa"),
    citation="""@inproceedings{liang2022metashift,
  title = {MetaShift: A Dataset of Datasets for Evaluating Contextual Distribution Shifts and Training Conflicts},
  author = {Liang, Weixin and Zou, James},
  booktitle = {International Conference on Learning Representations},
  year = {2022}
}

@inproceedings{yang2023change,
  title = {Change is Hard: A Closer Look at Subpopulation Shift},
  author = {Yang, Yuzhe and Zhang, Haoran and Katabi, Dina and Ghassemi, Marzyeh},
  booktitle = {International Conference on Machine Learning},
  year = {2023}
}""",
    raw_files=(
        RawFile(
            path=f"{_FOLDER}/",
            url="https://github.com/YyzHarry/SubpopBench (subpopbench/scripts/download.py)",
            size="not stated",
            license=_LICENSE,
            note="train/cat/cat(indoor), train/dog/dog(outdoor), test/cat/cat(outdoor), test/dog/dog(indoor)",
        ),
    ),
    in_context=Rows(name="usual places", split="test", where={"group": _GROUPS[:2]}),
    out_of_context=Rows(name="other places", split="test", where={"group": _GROUPS[2:]}),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=0.5,
    words=Vocabulary(
        example="image",
        inside="in usual places",
        outside="in unusual ones",
        pair="one cat and one dog",
    ),
    context_column="place",
    closed={"group": _GROUPS},
    images_license=_LICENSE,
    annotations_license="MIT",
    toy_world="toy_metashift",
)


class Metashift(BenchmarkBuilder):
    """The four folders of cats and dogs, indoors and outdoors, divided anew as SubpopBench does it.

    The folders' own train and test do not count: a quarter of all images are tested and a tenth are for validation,
    drawn with numpy's seed 42, so that the other places are in training too. The images are taken in the order of their
    names; SubpopBench takes them as the file system lists them, so that its rows are others where that order is
    another one. The sides are cats indoors and dogs outdoors against the other two groups. The environments are the
    groups.

    Source: Liang and Zou 2022, Section 4; SubpopBench 4d3dbbe, `scripts/download.py`, `generate_metadata_metashift`.
    How many images the folders hold is not stated there, so counts are not checked.

    >>> Metashift.BENCHMARK.in_context.where
    {'group': ('cat/indoor', 'dog/outdoor')}
    """

    BENCHMARK: ClassVar[Benchmark] = metashift

    def _features(self) -> datasets.Features:
        names = {"label": _CLASSES, "environment": _GROUPS, "group": _GROUPS, "place": _CONTEXTS}
        return make_features(image=datasets.Image(), **names)

    def _watched(self, folder: Path) -> Iterable[Path]:
        for split in ("train", "test"):
            yield from iterate_folders(folder / _FOLDER / split)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        root = self._folder() / _FOLDER
        rows = [row for group, place in _PLACES.items() for row in _list_rows(root, group, place, self._within)]
        split_of = _divide(len(rows))
        parts = {
            split: pa.Table.from_pylist([row for row, of in zip(rows, split_of, strict=True) if of == number])
            for number, split in enumerate(("train", "validation", "test"))
        }
        if not len(parts["validation"]):
            raise OochubError(f"{root} holds {len(rows)} images, too few to divide. Download it again.")
        names = [row["file"].rpartition("/")[2] for row in rows]
        again = len(names) - len(set(names))
        notes = [f"images that are in two of the four folders: {again:,}"] if again else []
        facts = BuildFacts().with_groups(parts["train"]["group"].to_pylist(), _GROUPS)
        return self._splits(root, parts, facts, notes)


def _list_rows(root: Path, group: str, place: str, within: Path | None) -> list[dict[str, str]]:
    """The images of a group, in the order of their names."""
    split, label, name = place.split("/")
    images_of = list_class_folders(root / split, within=within).get(label, {}) if (root / split).is_dir() else {}
    images = [image for image in images_of.get(name, []) if image.endswith(".jpg")]
    if not images:
        near = did_you_mean(name, images_of)
        raise OochubError(f"{root} has no image <id>.jpg in {place}/.{near} Unpack the archive again.")
    context = group.partition("/")[2]
    names = {"label": label, "environment": group, "group": group, "place": context}
    return [{"example_id": f"{group}/{image[:-4]}", "file": f"{place}/{image}", **names} for image in images]


def _divide(count: int) -> list[int]:
    """0, 1 or 2 for each image: train, validation or test, drawn as SubpopBench draws them."""
    rng = np.random.RandomState(_SEED)
    tested = rng.choice(np.arange(count), size=int(count * _TESTED), replace=False)
    rest = np.setdiff1d(np.arange(count), tested)
    split_of = np.zeros(count, dtype=np.int64)
    split_of[rng.choice(rest, size=int(count * _VALIDATED), replace=False)] = 1
    split_of[tested] = 2
    return [int(split) for split in split_of]
