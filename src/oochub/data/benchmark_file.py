"""A benchmark without Python: `benchmark.toml` beside a folder or a table declares columns, sides, words and license.

`oochub.load` reads it wherever it reads own data; what is declared travels with the rows to predictions and reports.
"""

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import datasets

from oochub import catalog
from oochub.data.challenge import challenge, check_arguments
from oochub.errors import OochubError, unknown_name
from oochub.metric import read_facts
from oochub.records.build_record import OWN, BuildRecord, OwnDeclaration, OwnSide
from oochub.records.schema import from_json
from oochub.records.sides import Vocabulary
from oochub.settings.data_settings import DataSettings
from oochub.storage.reading import read_text

NAME = "benchmark.toml"
_LARGEST = 10**6  # bytes
_COLUMNS = ("image", "label", "context", "group", "cluster", "pair")
_TABLES: Mapping[str, tuple[str, ...]] = {
    "data": ("source", "config", *_COLUMNS),
    "in_context": tuple(each.name for each in fields(OwnSide)),
    "out_of_context": tuple(each.name for each in fields(OwnSide)),
    "words": tuple(each.name for each in fields(Vocabulary)),
}
_FREE = ("usual", "criterion")  # tables whose keys are classes, or parameters
_FIELDS = tuple(each.name for each in fields(OwnDeclaration))


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
        text = read_text(file, largest=_LARGEST)
        try:
            content = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
            raise OochubError(f"{file} is not TOML: {error}. Correct it there.") from None
        at = _Lines(file, text)
        _check_names(content, at)
        data = content.pop("data", {})
        criterion = content.pop("criterion", None)
        usual = _read_usual(content.pop("usual", None), at)
        if usual is not None and criterion is not None:
            raise OochubError(f"{at('criterion')} and [usual] both say which rows are usual. Leave one of them out.")
        declaration = _read_declaration(content, at, file)
        for key, value in data.items():
            if not isinstance(value, str) or not value:
                raise OochubError(f"{at('data', key)}: {key} must be a text in quotes, got {value!r:.60}.")
        settings = DataSettings(**{key: value for key, value in data.items() if key != "source"}, usual=usual)
        _check_pair(settings, declaration, at)
        name, arguments = _read_criterion(criterion, at)
        source = _find_rows(file, data.get("source", "."), at)
        return cls(
            file=file,
            source=source,
            settings=settings,
            declaration=declaration,
            criterion=name,
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
        at = _Lines(self.file, read_text(self.file, largest=_LARGEST))
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
        record = replace(record, benchmark=OWN, version=version, facts=facts)
        summary = self.declaration.summary or self.declaration.title
        for part in data.values():
            part.info.description = record.describe(summary)
            part.info.license = self.declaration.license
            part.info.citation = self.declaration.citation
            part.info.homepage = self.declaration.homepage
        return data


class _Lines:
    """Finds the line of a field in the file, for errors: "mine/benchmark.toml, line 7"."""

    def __init__(self, file: Path, text: str) -> None:
        self._file, self._lines = file, text.splitlines()

    def __call__(self, *names: str) -> str:
        """The file and the line of a field, by its tables and its name; the file alone if it is written another way."""
        table: tuple[str, ...] = ()
        for number, line in enumerate(self._lines, 1):
            head = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
            if head:
                table = tuple(part.strip().strip("\"'") for part in head[1].split("."))
                if table == names:
                    return f"{self._file}, line {number}"
                continue
            key = re.match(r"\s*([^=#\s][^=]*?)\s*=", line)
            if key and (*table, *(part.strip().strip("\"'") for part in key[1].split("."))) == names:
                return f"{self._file}, line {number}"
        return self(*names[:-1]) if len(names) > 1 else str(self._file)


def _check_names(content: Mapping[str, object], at: _Lines) -> None:
    known = (*(name for name in _FIELDS if name not in _TABLES), *_TABLES, *_FREE)
    for key, value in content.items():
        if key not in known:
            raise OochubError(f"{at(key)}: {unknown_name('field', key, known)}")
        if key in (*_TABLES, *_FREE) and not isinstance(value, Mapping):
            raise OochubError(f"{at(key)}: {key} must be a table, [{key}], got {value!r:.60}.")
        for name in value if isinstance(value, Mapping) and key in _TABLES else ():
            if name not in _TABLES[key]:
                raise OochubError(f"{at(key, name)}: {unknown_name(f'field of [{key}]', name, _TABLES[key])}")


def _read_usual(usual: Mapping[str, object] | None, at: _Lines) -> dict[str, tuple[str, ...]] | None:
    read: dict[str, tuple[str, ...]] = {}
    for name, contexts in (usual or {}).items():
        if not isinstance(contexts, list) or not all(isinstance(each, str) and each for each in contexts):
            raise OochubError(
                f'{at("usual", name)}: the usual contexts of {name} must be a list such as ["grass", "barn"], got '
                f"{contexts!r:.60}."
            )
        read[name] = tuple(contexts)
    return read or None


def _read_declaration(content: Mapping[str, object], at: _Lines, file: Path) -> OwnDeclaration:
    _refuse_nan(content, at)
    try:
        declared = from_json(OwnDeclaration, content, what="benchmark.toml")
    except OochubError as error:
        words = str(error).removeprefix("benchmark.toml: ").replace(" Make the file again, or correct the field.", "")
        place = re.match(r"(?:the field )?([a-z_]+)(?:\.([a-z_]+))?", words)
        names = [name for name in (place.groups() if place else ()) if name]
        raise OochubError(f"{at(*names) if names else file}: {words.rstrip('.')}.") from None
    asked = {"headline": [declared.headline] if declared.headline else [], "metrics": [*declared.metrics]}
    for key, names in asked.items():
        for name in names:
            if name not in catalog.names("metric"):
                raise OochubError(f"{at(key)}: {unknown_name('metric', name, catalog.names('metric'))}")
    _check_chance(declared, at)
    return declared


def _refuse_nan(content: Mapping[str, object], at: _Lines, *tables: str) -> None:
    """TOML has nan, and no bound refuses it."""
    for key, value in content.items():
        if isinstance(value, Mapping):
            _refuse_nan(value, at, *tables, str(key))
        elif isinstance(value, float) and math.isnan(value):
            raise OochubError(f"{at(*tables, key)}: {key} must be a number, got nan. If there is none, leave it out.")


def _check_chance(declared: OwnDeclaration, at: _Lines) -> None:
    """Refuses a number of guessing that the headline metric cannot have; [0, 1] where the rows choose the metric."""
    headline = declared.headline or next(iter(declared.metrics), None)
    facts = None if headline is None else read_facts(catalog.get("metric", headline))
    low, high = (0.0, 1.0) if facts is None else (facts.minimum, facts.maximum)
    if declared.chance < low or (high is not None and declared.chance > high):
        allowed = f"in [{low:g}, {high:g}]" if high is not None else f"{low:g} or larger"
        of = f"what {headline} can be" if headline else 'name the metric if it is another: headline = "pearson"'
        raise OochubError(f"{at('chance')}: chance must be {allowed}, got {declared.chance:g}: {of}.")


def _read_criterion(content: Mapping[str, Any] | None, at: _Lines) -> tuple[str | None, dict[str, Any]]:
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


def _find_rows(file: Path, source: str, at: _Lines) -> str:
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


def _check_pair(settings: DataSettings, declared: OwnDeclaration, at: _Lines) -> None:
    for name, side in (("in_context", declared.in_context), ("out_of_context", declared.out_of_context)):
        if settings.pair is not None and side is not None and side.form != "rows":
            raise OochubError(
                f"{at(name, 'form')}: a pair has a row on each side, and [{name}] is of the form {side.form}. Write "
                'form = "rows", or leave pair out.'
            )


def _check_side(name: str, side: OwnSide, data: datasets.DatasetDict, at: _Lines) -> None:
    if side.split not in data:
        raise OochubError(f"{at(name, 'split')}: {unknown_name('split', side.split, data)}")
    features = data[side.split].features
    columns = dict(side.where) | ({side.column: ()} if side.form != "rows" else {})
    for column, values in columns.items():
        place = at(name, "where", column) if column in side.where else at(name, "column")
        if column not in features:
            raise OochubError(f"{place}: {unknown_name('column', column, features)}")
        known = _list_values(features[column], data[side.split], column) if values else []
        for value in values:
            if value not in known:
                raise OochubError(f"{place}: {unknown_name(f'value of the column {column}', value, known)}")


def _list_values(feature: object, part: datasets.Dataset, column: str) -> Sequence[str]:
    """The values that a column has in a split, as text."""
    if isinstance(feature, datasets.ClassLabel):
        return list(feature.names)
    return [str(value) for value in part.unique(column) if value is not None]
