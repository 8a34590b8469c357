"""What a file of this folder declares of a data set of WILDS, and the rows that it reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import make_features
from oochub.builders.sources.raw_table import of_splits
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows

BASE = Benchmark(
    name="wilds",
    title="WILDS",
    summary="Ten data sets whose test data come from other hospitals, cameras, users, years or countries.",
    version="1.0.0",
    homepage="https://wilds.stanford.edu",
    citation="""@inproceedings{koh2021wilds,
  title = {{WILDS}: A Benchmark of in-the-Wild Distribution Shifts},
  author = {Koh, Pang Wei and Sagawa, Shiori and Marklund, Henrik and Xie, Sang Michael and Zhang, Marvin and others},
  booktitle = {International Conference on Machine Learning},
  year = {2021}
}""",
    raw_files=(),
    in_context=Rows(name="domains of training", split="id_test"),
    out_of_context=Rows(name="other domains", split="test"),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece"),
    chance=float("nan"),
    validation_split="val",
    images_license="each data set has its own",
    annotations_license="each data set has its own",
)
"""What the declarations of the data sets share; each is made of it with `dataclasses.replace`."""


@dataclass(frozen=True, kw_only=True)
class WildsRows:
    """The rows of one config of a data set.

    Attributes:
        features: Features of the rows: the shared columns first, then every metadata field.
        splits: The official name of each split to its rows, in the order of the raw table. The columns are named as
            the features; an image or an array is not read yet: `file` says where it lies below the folder.
        columns: The columns that are read from a row's `file` while it is built, and how.
        facts: What the build record keeps, beside rows, groups and their counts.
        notes: Caveats that every card and report repeats.
    """

    features: datasets.Features
    splits: Mapping[str, pa.Table]
    columns: Mapping[str, Callable[[Path], Any]] = field(default_factory=dict)
    facts: BuildFacts = field(default_factory=BuildFacts)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        declared: Mapping[str, tuple[Any, Any]],
        split: Sequence[str],
        names: Sequence[str],
        files: Sequence[str] | None = None,
        **others: Any,
    ) -> "WildsRows":
        """The rows of a table; `example_id` is the number of each.

        Args:
            declared: The feature of each column, as `make_features` takes it, and its values (n,); None for one that
                is read from the row's file.
            split: The split of each row (n,); "" for rows that are of none.
            names: The splits.
            files: Where the file of each row lies below the folder (n,).
            others: The other attributes.
        """
        own = {name: values for name, (_, values) in declared.items() if values is not None}
        own |= {} if files is None else {"file": files}
        count = len(next(iter(own.values())))
        rows = pa.table({"example_id": [str(row) for row in range(count)], **own})
        features = make_features(**{name: kind for name, (kind, _) in declared.items()})
        return cls(features=features, splits=of_splits(rows, split, names), **others)


@dataclass(frozen=True, kw_only=True)
class WildsDataSet:
    """A data set of WILDS, as its file declares it.

    Attributes:
        name: Name as in its folder, `<name>_v<version>`; it is also the name of its Python file.
        version: Version of the raw folder.
        configs: Each config with its declaration, the official split first.
        read: Reads the rows of (raw folder, config), a pure function of them.
        rows: The published rows of each split, by config.
        folder_name: Name of the raw folder if that is not `<name>_v<version>`.
        source_splits: The splits whose rows have `from_source_domain`: as WILDS' code has it, those of training alone
            but for two data sets.
        picture_folders: A glob of the folders that hold the images, where these are folders of a raw file's folder;
            an image that comes or goes there changes the cache key.
    """

    name: str
    version: str
    configs: Mapping[str, Benchmark]
    read: Callable[[Path, str], WildsRows]
    rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    folder_name: str = ""
    source_splits: tuple[str, ...] = ("train",)
    picture_folders: str = ""

    @property
    def raw_name(self) -> str:
        """The name of the raw folder."""
        return self.folder_name or f"{self.name}_v{self.version}"

    def folder(self, data_dir: Path) -> Path:
        """The raw folder: `data_dir`, or the folder of that name in it."""
        inside = data_dir / self.raw_name
        return inside if inside.is_dir() else data_dir

    def check_release(self, folder: Path) -> None:
        """Checks the version that the raw folder says to be of, where it does: `RELEASE_v<version>.txt`.

        Raises:
            OochubError: It is of another version.
        """
        releases = sorted(file.stem.removeprefix("RELEASE_v") for file in folder.glob("RELEASE_v*.txt"))
        if releases and self.version not in releases:
            raise OochubError(
                f"{folder} is version {releases[-1]} of {self.name}, as RELEASE_v{releases[-1]}.txt says, but the "
                f"official splits and numbers are for {self.version}. Download {self.raw_name} of that version."
            )


def raw_files(
    folder: str,
    files: Mapping[str, str],
    *,
    size: str,
    license: str,
    optional: Sequence[str] = (),
    url: str = "https://wilds.stanford.edu/get_started/",
) -> tuple[RawFile, ...]:
    """What a data set's folder holds; each lies below it, wherever `data_dir` is the folder or its parent.

    Args:
        folder: The folder, `<name>_v<version>`.
        files: The files and folders below it, each with what it is in words.
        size: Size of the download, in words.
        license: License of the content.
        optional: Those of `files` that the reader can do without.
        url: The project's page to get it from.

    >>> raw_files("fmow_v1.1", {"images/": "PNGs"}, size="50 GB", license="its own")[0].path
    'fmow_v1.1/images/'
    """
    return tuple(
        RawFile(
            path=f"{folder}/{path}",
            also=path,
            url=url,
            size=size,
            license=license,
            note=note,
            required=path not in optional,
        )
        for path, note in files.items()
    )


def joined(parts: Sequence[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """The rows of each split of a table that was read part by part.

    >>> joined([{"test": pa.table({"i": [0]})}, {"test": pa.table({"i": [1]})}])["test"]["i"].to_pylist()
    [0, 1]
    """
    return {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}
