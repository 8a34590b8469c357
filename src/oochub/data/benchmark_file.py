"""A benchmark without Python: `benchmark.toml` beside a folder or a table declares columns, sides, words and license.

`oochub.load` reads it wherever it reads own data; what is declared travels with the rows to predictions and reports.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import datasets

from oochub import catalog
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.data.challenge import challenge, check_arguments
from oochub.errors import OochubError, unknown_name
from oochub.metric import read_facts
from oochub.records.build_record import OWN, BuildRecord, OwnDeclaration, OwnSide
from oochub.records.schema import from_table
from oochub.records.typed_values import Name
from oochub.settings.data_settings import DataSettings
from oochub.storage.reading import TomlFile

NAME = "benchmark.toml"
_IMAGENET = {name: k for k, name in enumerate(IMAGENET_1K_NAMES)}
_DECLARED = tuple(one.name for one in fields(OwnDeclaration))
_At = Callable[..., str]
"""Function from the names that lead to a field to the file and its line."""


@dataclass(frozen=True, kw_only=True)
class _DataTable:
    source: Name = "."
    config: Name | None = None
    image: Name | None = None
    label: Name | None = None
    context: Name | None = None
    group: Name | None = None
    cluster: Name | None = None
    pair: Name | None = None


@dataclass(frozen=True, kw_only=True)
class _File(OwnDeclaration):
    data: _DataTable = _DataTable()
    usual: Mapping[str, tuple[Name, ...]] | None = None
    criterion: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class BenchmarkFile:
    """What a `benchmark.toml` says.

    Attributes:
        file: Its path.
        source: Folder or file of the rows.
        settings: Which columns are what, and the usual contexts of classes.
        declaration: What it declares.
        criterion: Name of the criterion that says which rows are out of context, one of `oochub list criterion`; None
            leaves it to the usual contexts.
        arguments: Arguments of the criterion.
    """

    file: Path
    source: str
    settings: DataSettings
    declaration: OwnDeclaration
    criterion: str | None
    arguments: Mapping[str, Any]

    @classmethod
    def find(cls, source: str) -> "BenchmarkFile | None":
        """The file that a source is, or the one in a folder that it is; None if there is none.

        Args:
            source: See `oochub.load`.

        Raises:
            OochubError: It is no TOML, has a field that is not known or wrong, or a source outside its folder; the line
                and near names are given.
        """
        place = Path(source).expanduser()
        file = place if place.name == NAME else place / NAME
        return cls._read(file) if file.is_file() else None

    @classmethod
    def _read(cls, file: Path) -> "BenchmarkFile":
        toml = TomlFile(file)
        at, content = toml.at, dict(toml.content)
        if isinstance(classes := content.get("imagenet_classes"), Mapping):
            content["imagenet_classes"] = _read_imagenet_classes(classes, at)
        read = from_table(_File, content, at=at)
        declaration = OwnDeclaration(**{name: getattr(read, name) for name in _DECLARED})
        if read.usual and read.criterion is not None:
            raise OochubError(f"{at('criterion')} and [usual] both say which rows are usual. Remove one of them.")
        _check_metrics(declaration, at)
        columns = {name: value for name, value in vars(read.data).items() if name != "source"}
        settings = DataSettings(**columns, usual=read.usual or None)
        for name, side in (("in_context", declaration.in_context), ("out_of_context", declaration.out_of_context)):
            if settings.pair is not None and side is not None and side.form != "rows":
                raise OochubError(
                    f"{at(name, 'form')}: a pair has a row on each side, and [{name}] is of the form {side.form}. "
                    'Write form = "rows", or leave pair out.'
                )
        criterion, arguments = _read_criterion(read.criterion, at)
        return cls(
            file=file,
            source=_find_rows(file, read.data.source, at),
            settings=settings,
            declaration=declaration,
            criterion=criterion,
            arguments=arguments,
        )

    def merge(self, given: DataSettings) -> DataSettings:
        """The settings of the file with those that the user gives, which win.

        Args:
            given: What the user gives.
        """
        return replace(self.settings, **given.given())

    def declare(self, data: datasets.DatasetDict) -> datasets.DatasetDict:
        """The rows under the criterion of the file, with what it declares in their build record.

        Args:
            data: The rows in the form of own data.

        Raises:
            OochubError: A side of a split, column or value that the rows do not have; what the criterion refuses.
        """
        if self.criterion is not None:
            data = challenge(data, self.criterion, replace=True, **self.arguments).dataset
        at = TomlFile(self.file).at
        for name in ("in_context", "out_of_context"):
            side = getattr(self.declaration, name)
            if side is not None:
                _check_side(name, side, data, at)
        record = BuildRecord.of(next(iter(data.values())).info)
        assert record is not None  # noqa: S101  own data have one
        facts = replace(record.facts, declared=self.declaration, border=self.declaration.border or None)
        if self.criterion is not None:
            facts = replace(facts, usual_contexts=None)
        version = self.declaration.version
        config = self.declaration.name or record.config
        record = replace(record, benchmark=OWN, config=config, version=version, facts=facts)
        summary = self.declaration.summary or self.declaration.title
        for part in data.values():
            part.info.description = record.describe(summary)
            part.info.license = self.declaration.license
            part.info.citation = self.declaration.citation
            part.info.homepage = self.declaration.homepage
        return data


def _read_imagenet_classes(classes: Mapping[str, object], at: _At) -> dict[str, list[int]]:
    """The numbers of the classes that the file names, whole as ImageNet names them or by number."""
    numbers: dict[str, list[int]] = {}
    for label, names in classes.items():
        for name in names if isinstance(names, list) else [names]:
            number = _IMAGENET.get(name) if isinstance(name, str) else name
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(_IMAGENET):
                unknown = unknown_name("class of ImageNet-1K", str(name), _IMAGENET)
                raise OochubError(f"{at('imagenet_classes', label)}: {unknown}")
            numbers.setdefault(label, []).append(number)
    return numbers


def _check_metrics(declared: OwnDeclaration, at: _At) -> None:
    names_of = {"headline": [declared.headline] if declared.headline else [], "metrics": [*declared.metrics]}
    for key, names in names_of.items():
        for name in names:
            if name not in catalog.names("metric"):
                raise OochubError(f"{at(key)}: {unknown_name('metric', name, catalog.names('metric'))}")
    # a number of guessing that the headline metric can have; [0, 1] where the rows choose the metric
    headline = declared.headline or next(iter(declared.metrics), None)
    facts = None if headline is None else read_facts(catalog.get("metric", headline))
    low, high = (0.0, 1.0) if facts is None else (facts.minimum, facts.maximum)
    low = -math.inf if low is None else low
    if declared.chance < low or (high is not None and declared.chance > high):
        allowed = f"in [{low:g}, {high:g}]" if high is not None else f"{low:g} or larger"
        of = f"what {headline} can be" if headline else 'name the metric if it is another: headline = "pearson"'
        raise OochubError(f"{at('chance')}: chance must be {allowed}, got {declared.chance:g}: {of}.")


def _read_criterion(content: Mapping[str, Any] | None, at: _At) -> tuple[str | None, dict[str, Any]]:
    if content is None:
        return None, {}
    name = content.get("name")
    if name not in catalog.names("criterion"):
        unknown = unknown_name("criterion", str(name), catalog.names("criterion"))
        raise OochubError(f"{at('criterion', 'name')}: {unknown}")
    arguments = {key: value for key, value in content.items() if key != "name"}
    try:
        check_arguments(name, arguments)
    except OochubError as error:
        raise OochubError(f"{at('criterion')}: {error}") from None
    return name, arguments


def _find_rows(file: Path, source: str, at: _At) -> str:
    """The folder or file of the rows, which lies below the file's own folder."""
    folder = file.absolute().parent
    if "\0" in source:
        raise OochubError(f"{at('data', 'source')}: source must be the name of a file or folder, got {source!r:.80}.")
    place = (folder / source).resolve()
    if not place.is_relative_to(folder.resolve()):
        raise OochubError(f"{at('data', 'source')}: source must lie in the folder of the file, got {source!r:.80}.")
    try:
        is_there = place.exists()
    except OSError:  # no name of a file
        is_there = False
    if not is_there:
        raise OochubError(f"{at('data', 'source')}: there is no {source!r:.80} beside the file.")
    return str(place) if source != "." else str(folder)


def _check_side(name: str, side: OwnSide, data: datasets.DatasetDict, at: _At) -> None:
    if side.split not in data:
        raise OochubError(f"{at(name, 'split')}: {unknown_name('split', side.split, data)}")
    features = data[side.split].features
    columns = dict(side.where) | ({side.column: ()} if side.form != "rows" else {})
    for column, values in columns.items():
        place = at(name, "where", column) if column in side.where else at(name, "column")
        if column not in features:
            raise OochubError(f"{place}: {unknown_name('column', column, features)}")
        listed = _list_values(features[column], data[side.split], column) if values else []
        for value in values:
            if value not in listed:
                raise OochubError(f"{place}: {unknown_name(f'value of the column {column}', value, listed)}")


def _list_values(feature: object, part: datasets.Dataset, column: str) -> Sequence[str]:
    """The values that a column has in a split, as text."""
    if isinstance(feature, datasets.ClassLabel):
        return list(feature.names)
    return [str(value) for value in part.unique(column) if value is not None]
