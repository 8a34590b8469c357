"""A benchmark's own rows: ids, labels, sides and groups, under which a leaderboard scores what was sent.

Once they are given they are part of the results: `truth/<board>/` holds a Parquet file for each split, without images,
and `truth.json`, which says what they are.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from oochub.data.declaration import find_declaration
from oochub.errors import OochubError
from oochub.evaluation.evaluation_rows import find_epoch_rows
from oochub.leaderboard.compared_rows import count_changes, tabulate_rows
from oochub.leaderboard.leaderboard_entry import BoardKey
from oochub.output import Output, find_output_of_features, get_output
from oochub.prediction.data_metadata import describe_data, list_light_columns, read_split_rows
from oochub.prediction.predictions import Predictions
from oochub.prediction.stored_columns import StoredRows
from oochub.records.build_record import OWN, drop_build_column
from oochub.records.metadata import Metadata, PredictedBy
from oochub.records.output_columns import ALSO_RIGHT
from oochub.records.schema import check_version, from_json, to_json
from oochub.storage.artifacts import TRUTH
from oochub.storage.files import write_whole_folder
from oochub.storage.reading import check_regular_file, read_json

FOLDER = "truth"
"""Folder of the results that holds the benchmarks' own rows."""
_SCHEMA_VERSION = 1
_SENT = ("thumbnail", "thumbnail_text")


@dataclass(frozen=True, kw_only=True, eq=False)
class BenchmarkRows:
    """The rows of one config of a benchmark.

    Attributes:
        source: What they were loaded from.
        splits: Rows of each split by name, with their labels.
        about: Metadata of predictions for these rows.
    """

    source: str
    splits: Mapping[str, datasets.Dataset]
    about: Metadata

    @classmethod
    def load(cls, source: str) -> "BenchmarkRows":
        """Loads the rows; no image is read.

        Args:
            source: Source as `oochub.load` takes it: "spawrious/o2o_hard", a folder that `oochub build` wrote, an id on
                the Hub.

        Raises:
            OochubError: What `oochub.load` raises, or rows without labels.
        """
        from oochub.data.load import load

        splits = drop_build_column(load(source))
        some = next(iter(splits.values()))
        name = find_output_of_features(some.features)
        if name is None:
            raise OochubError(f"The rows of {source} have no labels. Name the benchmark's own rows, which have them.")
        kind = get_output(name)
        names = kind.class_names(some) or ["0"]
        about = describe_data(
            StoredRows.of(_read_rows(splits, kind, names)), some.info, kind, class_names=names, model=PredictedBy()
        )
        return cls(source=source, splits=splits, about=about)

    @classmethod
    def find(cls, results: Path) -> "dict[BoardKey, BenchmarkRows]":
        """The rows that were given before and are part of the results, by what they are of.

        Args:
            results: Folder of the results.

        Raises:
            OochubError: A file of theirs is missing or damaged.
        """
        rows_of = {}
        for file in sorted((results / FOLDER).glob("*/truth.json")):
            content = read_json(file)
            check_version(content, _SCHEMA_VERSION, what=str(file))
            try:
                if content["digest"] != _digest_content(content):
                    raise OochubError("truth.json was changed after it was written")
                about = from_json(Metadata, content["about"], what=str(file))
                splits = {split: _read_split(file.parent, split, content["files"][split]) for split in about.rows}
            except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OochubError) as error:
                raise OochubError(
                    f"{file.parent} does not hold the benchmark's own rows: {' '.join(str(error).split())}. Delete the "
                    "folder, and give the rows again with --truth."
                ) from None
            rows = cls(source=content["title"], splits=splits, about=about)
            rows_of[rows.key] = rows
        return rows_of

    def save(self, results: Path) -> Path:
        """Makes the rows part of the results, without images.

        Args:
            results: Folder of the results.

        Returns:
            The folder that holds them.
        """
        with write_whole_folder(results / FOLDER / self.key.page, kind=TRUTH) as draft:
            files = {}
            for split, part in self.splits.items():
                part.select_columns(list_light_columns(part)).to_parquet(draft / f"{split}.parquet")
                files[split] = _digest_file(draft / f"{split}.parquet")
            content = {
                "schema_version": _SCHEMA_VERSION,
                "title": self.title,
                "files": files,
                "about": to_json(self.about),
            }
            content["digest"] = _digest_content(content)
            (draft / "truth.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return results / FOLDER / self.key.page

    def check_same(self, kept: "BenchmarkRows") -> None:
        """Refuses other rows than those that are part of the results: rows of one version never change.

        Args:
            kept: Rows of the same benchmark, config and version.

        Raises:
            OochubError: They differ; it says in how many rows.
        """
        if self.about.fingerprint == kept.about.fingerprint:
            return
        changes = count_changes(kept._tabulate(), self._tabulate())
        if not changes.total:
            return
        raise OochubError(
            f"The results already hold the rows of {self.key}, and those of {self.source} differ from them: "
            f"{changes.words}. Changed rows are a new version: raise version in benchmark.toml and build again. If the "
            f"rows that were given first are wrong, delete {FOLDER}/{self.key.page} from the results."
        )

    def _tabulate(self) -> pd.DataFrame:
        kind = get_output(self.about.kind)
        columns = _read_rows(self.splits, kind, self.about.class_names).to_pydict()
        label = kind.label_column
        if kind.one_answer:
            columns[label] = [self.about.class_names[k] if k >= 0 else None for k in columns[label]]
        return tabulate_rows(columns.pop("split"), columns.pop("example_id"), columns, [label])

    @property
    def title(self) -> str:
        """What they were loaded from, without the place where it stands."""
        from oochub.data.open_source import name_source

        return name_source(self.source)

    @cached_property
    def digest(self) -> str:
        """Equal for equal rows."""
        return hashlib.sha256(json.dumps(to_json(self.about), sort_keys=True).encode()).hexdigest()

    @property
    def key(self) -> BoardKey:
        """The board that they are of, as reports call it."""
        return BoardKey(self.about.benchmark or OWN, str(self.about.config), self.about.version)

    def under(self, predictions: Predictions) -> Predictions:
        """The answers of predictions on these rows: nothing but the answers is the sender's.

        Args:
            predictions: Predictions with their rows in any order.

        Returns:
            In the same order, with the truth, the auxiliary columns and the facts of these rows.

        Raises:
            OochubError: Rows that are not these, or not all of a split; labels that are not these; no row of a split
                that the comparison is of.
        """
        metadata, kind = predictions.metadata, predictions.output
        if metadata.version != self.about.version:
            raise OochubError(
                f"its rows have version {metadata.version}, but the benchmark's own have {self.about.version}"
            )
        some = next(iter(self.splits.values()))
        names = kind.class_names(some) if kind.label_column in some.features else None
        parts = []
        for split, part in self.splits.items():
            if split in metadata.rows:
                parts.append(read_split_rows(split, part, kind, names or metadata.class_names))
        table = pa.concat_tables(parts, promote_options="permissive") if parts else None
        order = _find_places(predictions, table, self.splits)
        assert table is not None  # noqa: S101  else no row had a place
        table = _renumber_labels(metadata.class_names, names, table.take(pa.array(order)), kind)
        beside = [name for name in kind.beside if name != ALSO_RIGHT]  # what is right is the benchmark's to say
        for name in (*kind.columns, *beside, *_SENT):
            if name in predictions.column_names and (name not in table.column_names or name in kind.columns):
                table = _replace_column(table, name, predictions.rows.column(name))
        notes = tuple(dict.fromkeys((*self.about.notes, *metadata.notes)))
        own = replace(predictions, rows=table, metadata=replace(metadata, facts=self.about.facts, notes=notes))
        _check_labels(predictions, own)
        _check_whole(own, self.splits)
        return own


def _read_split(folder: Path, split: str, digest: str) -> datasets.Dataset:
    """The rows of a split that `save` wrote."""
    file = check_regular_file(folder / f"{split}.parquet")
    if _digest_file(file) != digest:
        raise OochubError(f"{file.name} was changed after it was written")
    return datasets.Dataset(pq.read_table(file))


def _digest_file(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _digest_content(content: Mapping[str, object]) -> str:
    """A digest of what `truth.json` says besides it."""
    content_kept = {name: value for name, value in content.items() if name != "digest"}
    return hashlib.sha256(json.dumps(content_kept, sort_keys=True).encode()).hexdigest()


def _read_rows(splits: Mapping[str, datasets.Dataset], kind: Output, names: Iterable[str]) -> pa.Table:
    """Their columns without images, one split after the other."""
    parts = [read_split_rows(split, part, kind, [*names]) for split, part in splits.items()]
    return pa.concat_tables(parts, promote_options="permissive")


def _find_places(predictions: Predictions, table: pa.Table | None, splits: Mapping[str, Any]) -> NDArray[np.int64]:
    """The row (n,) of the table for each row of predictions."""
    strange = next((split for split in predictions.metadata.rows if split not in splits), None)
    if strange is not None or table is None:
        raise OochubError(f"the benchmark has no split {strange}, only {', '.join(splits)}")
    sent, own = (
        pd.MultiIndex.from_arrays([rows.column(name).to_pylist() for name in ("split", "example_id")])
        for rows in (predictions.rows, table)
    )
    places: NDArray[np.int64] = own.get_indexer(sent)
    if (places < 0).any():
        split, example = sent[int(np.argmax(places < 0))]
        raise OochubError(
            f"{int((places < 0).sum()):,} of its rows are not in the benchmark, first {example} of {split}"
        )
    if len(own) > len(sent):
        split, example = own[~own.isin(sent)][0]
        raise OochubError(f"{len(own) - len(sent):,} rows of the benchmark are missing, first {example} of {split}")
    return places


def _renumber_labels(sent: tuple[str, ...], own: list[str] | None, table: pa.Table, kind: Output) -> pa.Table:
    """The table with labels as the predictions number them, whose model may leave out classes, or order them anew."""
    if own is None or not kind.one_answer or list(sent) == own or not {*sent} <= {*own}:
        return table
    number = {name: place for place, name in enumerate(sent)}
    label = table.column(kind.label_column).to_numpy()
    numbers = np.array([number.get(name, -1) for name in own])
    if (label >= 0).any() and (numbers[label[label >= 0]] < 0).any():
        lacking = own[int(label[label >= 0][np.argmax(numbers[label[label >= 0]] < 0)])]
        raise OochubError(f"its model does not know the class {lacking}, which rows of the benchmark have")
    return _replace_column(table, kind.label_column, pa.array(np.where(label >= 0, numbers[label], -1)))


def _replace_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    place = table.schema.get_field_index(name)
    return table.append_column(name, values) if place < 0 else table.set_column(place, name, values)


def _check_labels(sent: Predictions, own: Predictions) -> None:
    """That the labels in the file are the benchmark's."""
    was, now = sent.label, own.label
    if was.shape != now.shape:
        raise OochubError("its labels have another form than the benchmark's own")
    if was.dtype == object:
        wrong = np.array([str(one) != str(other) for one, other in zip(was, now, strict=True)])
    else:
        differs = ~np.isclose(was, now, rtol=1e-6, atol=0, equal_nan=True)
        wrong = differs.reshape(len(was), -1).any(axis=1)
    if wrong.any():
        row = own.rows.row(int(np.argmax(wrong)))
        raise OochubError(
            f"{int(wrong.sum()):,} of its labels differ from the benchmark's own, first that of {row['example_id']} "
            f"of {row['split']}"
        )


def _check_whole(own: Predictions, splits: Mapping[str, Any]) -> None:
    """That no row of the comparison is left out."""
    declared = find_declaration(own)
    sides = dict.fromkeys([declared.out_of_context.split, declared.in_context.split])
    lacking = [split for split in sides if split in splits and split not in own.metadata.rows]
    if lacking:
        raise OochubError(f"it has no predictions for the benchmark's split {lacking[0]}")
    if find_epoch_rows(own, declared).left_out.any():
        raise OochubError("rows that chose its epoch are left out, but those of the board are not")
