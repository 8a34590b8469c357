"""CelebA hair color: blond or not, which is correlated with sex; blond men are rare and often misclassified."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from oochub.benchmark import Archive, Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, make_features
from oochub.builders.sources.raw_table import RawColumn, RawTable, of_splits
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary, WorstOfGroups
from oochub.storage.reading import read_lines

_HAIR, _SEX = {"-1": "not_blond", "1": "blond"}, {"-1": "female", "1": "male"}
_SPLITS = {"0": "train", "1": "validation", "2": "test"}
_GROUPS = tuple(f"{hair}/{sex}" for hair in _HAIR.values() for sex in _SEX.values())
_ROWS = {"train": 162_770, "validation": 19_867, "test": 19_962}
_TERMS = "CelebA: non-commercial research"
_HOME = "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html"


def _declare_raw_file(path: str, note: str) -> RawFile:
    return RawFile(path=path, also=f"celebA_v*/{path}", url=_HOME, size="1.4 GB", license=_TERMS, note=note)


def _declare_archive(name: str, size: int, sha256: str) -> Archive:
    source = "tensorflow/datasets, tensorflow_datasets/url_checksums/celeb_a.txt"
    return Archive(name=name, size=size, digest=f"sha256:{sha256}", source=source)


celebA = Benchmark(
    name="celebA",
    title="CelebA hair color",
    summary="Faces of celebrities, blond or not; in training 6% of the blond ones are men.",
    version="1.0.0",
    homepage=_HOME,
    sources=("celeba",),
    expected_rows=_ROWS,
    citation="""@inproceedings{liu2015faceattributes,
  title = {Deep Learning Face Attributes in the Wild},
  author = {Liu, Ziwei and Luo, Ping and Wang, Xiaogang and Tang, Xiaoou},
  booktitle = {Proceedings of the International Conference on Computer Vision},
  year = {2015}
}""",
    raw_files=(
        _declare_raw_file("list_attr_celeba.*", ".csv, as WILDS and Kaggle have it, or .txt, as its authors do"),
        _declare_raw_file("list_eval_partition.*", ".csv or .txt"),
        _declare_raw_file("img_align_celeba/", "202,599 JPEGs"),
    ),
    archives=(
        _declare_archive(
            "img_align_celeba.zip", 1_443_490_838, "46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74"
        ),
        _declare_archive(
            "list_attr_celeba.txt", 26_721_026, "f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0"
        ),
        _declare_archive(
            "list_eval_partition.txt", 2_836_386, "fc955bcb3ef8fbdf7d5640d9a8693a8431b5f2ee291a5c1449a1549e7e073fe7"
        ),
    ),
    in_context=Rows(name="all faces", split="test"),
    out_of_context=WorstOfGroups(split="test"),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=0.5,
    words=Vocabulary.of("over all faces", "in the worst group", example="image", pair="one blond face and one other"),
    context_column="sex",
    closed={"group": _GROUPS},
    templates=("a photo of a celebrity whose hair is {}.",),
    images_license=_TERMS,
    annotations_license=_TERMS,
    toy_world="toy_celebA",
)


@dataclass
class CelebAConfig(BenchmarkConfig):
    """Options of `load_dataset("celebA", ...)`.

    Attributes:
        strict: Refuse rows that are not as many as the release's 162,770, 19,867 and 19,962, instead of noting it.
        follow_links: Read images that links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    strict: bool = False


class CelebA(BenchmarkBuilder):
    """Label `Blond_Hair`, context `Male`, both attributes of CelebA's own list; the folder is that of WILDS or Kaggle.

    The sides are all test rows against the worst of the four groups, as in Sagawa et al. and WILDS: a face that is not
    blond is as often a man's as a woman's, so no sex is its usual context, and the criterion `mismatch` does not apply.
    The training environments are the four groups. `example_id` is the file's stem.

    Source: Sagawa et al. 2020, Section 3.1; WILDS, `celebA_dataset.py`.

    >>> CelebA.BENCHMARK.out_of_context.description
    'the worst of the groups by group, split test'
    """

    BENCHMARK: ClassVar[Benchmark] = celebA
    BUILDER_CONFIG_CLASS = CelebAConfig

    def _features(self) -> datasets.Features:
        labels, sexes = _HAIR.values(), _SEX.values()
        return make_features(image=datasets.Image(), label=labels, environment=_GROUPS, group=_GROUPS, sex=sexes)

    def _watched(self, folder: Path) -> Iterable[Path]:
        return [*super()._watched(folder), _find_picture_folder(folder)]

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        folder = self._folder()
        pictures = _find_picture_folder(folder)
        attributes = _read_table(
            celebA.raw_files[0].find(folder) or folder / celebA.raw_files[0].path,
            {
                "image_id": RawColumn(is_unique=True, folder=pictures),
                "Blond_Hair": RawColumn(codes=_HAIR),
                "Male": RawColumn(codes=_SEX),
            },
        )
        partition = _read_table(
            celebA.raw_files[1].find(folder) or folder / celebA.raw_files[1].path,
            {"image_id": RawColumn(is_unique=True), "partition": RawColumn(codes=_SPLITS)},
        )
        hair, sex, files = attributes["Blond_Hair"], attributes["Male"], attributes["image_id"]
        groups = [f"{label}/{context}" for label, context in zip(hair, sex, strict=True)]
        rows = pa.table(
            {
                "example_id": [file.rpartition(".")[0] for file in files],
                "file": files,
                "label": hair,
                "environment": groups,
                "group": groups,
                "sex": sex,
            }
        )
        parts = of_splits(rows, _assign_splits(attributes, partition), _ROWS)
        notes = self._partial(parts, _ROWS)
        self._check_whole(f"{folder} is not the release", notes)
        facts = BuildFacts().with_groups(parts["train"]["group"].to_pylist(), _GROUPS)
        return self._splits(pictures, parts, facts, notes)


def _read_table(file: Path, columns: Mapping[str, RawColumn]) -> RawTable:
    """One of the two tables: CSV, or the text of CelebA's authors, whose attributes follow a count and their names."""
    if file.suffix == ".csv":
        return RawTable.of_csv(file, columns)
    lines = [line.split() for line in read_lines(file)]
    if "partition" in columns:
        return RawTable.of_rows(file, list(columns), enumerate(lines, 1), columns)
    count, names = [*lines, [], []][:2]
    table = RawTable.of_rows(file, ["image_id", *names], enumerate(lines[2:], 3), columns)
    if count != [str(len(table))]:
        raise OochubError(
            f"{file} has {len(table):,} rows, but its first line says {' '.join(count)[:80]!r}. Download it again."
        )
    return table


def _find_picture_folder(folder: Path) -> Path:
    """The folder of images, which Kaggle's archive holds twice, one in the other."""
    place = celebA.raw_files[2].find(folder) or folder / "img_align_celeba"
    return nested if (nested := place / place.name).is_dir() else place


def _assign_splits(attributes: RawTable, partition: RawTable) -> list[str]:
    """The split of each row of the attributes (n,)."""
    for table, other in ((attributes, partition), (partition, attributes)):
        names, listed = table["image_id"], set(other["image_id"])
        table.require(
            [name in listed for name in names],
            lambda row, names=names, other=other: f"{names[row][:80]!r} is not in {other.file}",
        )
    split_of = dict(zip(partition["image_id"], partition["partition"], strict=True))
    return [split_of[name] for name in attributes["image_id"]]
