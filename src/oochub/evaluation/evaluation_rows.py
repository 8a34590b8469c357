"""What every part of an evaluation works on: the rows with their arrays, and the declaration of their config.

Columns are read when they are asked for, names as numbers. Rows that chose the epoch of the model, as its recipe says,
are left out where only half did and the others remain. A set of examples has a name, whatever their order: equal where
the same examples have the same labels. How many splits and groups a report compares is limited: a column of ids is
refused before the work.
"""

import base64
import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.errors import OochubError, choose_wording
from oochub.metric import MetricFacts, read_facts
from oochub.output import Arrays, RowBoxes
from oochub.prediction.predictions import Predictions
from oochub.records.metadata import IMAGE_DIGEST, HeldOut, count_rows
from oochub.records.output_columns import ALSO_RIGHT
from oochub.records.report_records import BoxesInPicture, Mistake
from oochub.records.sides import GroupsOfRows, WorstOfGroups
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.estimation import estimate, estimate_groups
from oochub.stats.logits import ClassProbability
from oochub.stats.row_blocks import row_blocks

_NOT_ASKED_FOR = {"thumbnail", "thumbnail_text", "example_id", "features", IMAGE_DIGEST} | {
    f"{before}{name}" for before in ("zoom_", "odin_", "zoom_odin_") for name in ("features", "logits")
}


_LINES_TOGETHER = 1 << 13  # examples written out at once


_ON_VALIDATION = "on the validation split"
MOST_SPLITS = 200
MOST_GROUPS = 50_000
"""Groups in one split, such as users or sites, whose numbers are means of independent rows."""
MOST_COMPARED = 2_000
"""Groups in one split that two models are compared on; WILDS-Amazon, the largest that is published, has 1,334."""


@dataclass(frozen=True, kw_only=True)
class EvaluationRows:
    """What every part of an evaluation works on.

    Attributes:
        predictions: The rows.
        benchmark: The declaration of their config.
        columns: Every array that a metric may ask for by name, and the auxiliary columns; each (n, ...). See
            `oochub.evaluation.evaluation_rows.EvaluationColumns`.
        known: Whether a row has a truth to compare with, and did not choose the epoch of the model (n,).
        sampling: resamples and seed of the intervals.
    """

    predictions: Predictions
    benchmark: Benchmark
    columns: Mapping[str, Any]
    known: NDArray[np.bool_]
    sampling: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shadowed(self) -> Sequence[str]:
        """Auxiliary columns that are not read, because a computed array has their name."""
        return self.columns.shadowed if isinstance(self.columns, EvaluationColumns) else ()

    def arrays(self, metric: Callable[..., Any], rows: Any) -> dict[str, Any]:
        """The arrays of some rows that a metric takes, by name, in the form that it takes (`MetricFacts.compact`)."""
        read = read_metric(metric)
        if np.asarray(rows).dtype == np.bool_ and np.all(rows):
            rows = slice(None)  # nothing is copied
        rows = self.rows_for(metric, rows)
        names = [name for name in read.arrays if name in self.columns and name not in self.options(metric)]
        if read.facts is None or not read.facts.compact:
            return {name: _convert_column(self._gather(name, rows)) for name in names}
        if "probability" not in names or not isinstance(self.columns["probability"], ClassProbability):
            return {name: self._gather(name, rows) for name in names}
        columns = {name: self._gather(name, rows) for name in names if name != "label"}
        return {**columns, "label": columns["probability"].label}

    def _gather(self, name: str, rows: object) -> Any:
        """A column of some rows, to be read only; what several metrics ask for on one mask is gathered once."""
        if not isinstance(rows, np.ndarray) or rows.dtype != np.bool_:
            return self.columns[name][rows]
        held = self.gathered
        if held.get("mask of rows") is not rows:
            held.clear()
            held["mask of rows"], held["row numbers"] = rows, np.flatnonzero(rows)
        if name not in held:
            held[name] = self.columns[name][held["row numbers"]]
            if isinstance(held[name], np.ndarray):
                held[name].flags.writeable = False  # the next metric reads it too
        return held[name]

    @cached_property
    def gathered(self) -> Arrays:
        """The last mask, its row numbers, and the columns that were gathered on them."""
        return {}

    def options(self, metric: Callable[..., Any]) -> dict[str, Any]:
        """The arguments that a metric takes from the build record (`MetricFacts.from_record`), by name."""
        return self.predictions.metadata.facts.options_of(metric)

    def value(self, metric: Callable[..., Any], rows: Any) -> Any:
        """A metric on some rows (a mask or row numbers), without its interval: a float, or a dict of them."""
        return metric(**self.arrays(metric, rows), **self.options(metric))

    def of(self, metric: Callable[..., Any], rows: Any, **sampling: Any) -> Any:
        """A metric with its interval on some rows (a mask or row numbers): an Estimate, or a dict of them."""
        rows = self.rows_for(metric, rows)
        shared = {"cluster": self.cluster(rows), **self.sampling, **sampling}
        return estimate(metric, self.arrays(metric, rows), options=self.options(metric), **shared)

    def of_groups(self, metric: Callable[..., Any], groups: Sequence[NDArray[np.int64]]) -> list[Estimate]:
        """What `of` gives of each of these sets of rows, by their numbers; at once where the metric is a mean."""
        if groups and self.benchmark.cluster is None and "group" not in read_metric(metric).arrays:
            rows, sizes = np.concatenate(groups), [len(group) for group in groups]
            columns, options = self.arrays(metric, rows), self.options(metric)
            estimates = estimate_groups(metric, columns, sizes, Sampling(**self.sampling), options=options)
            if estimates is not None:
                return estimates
        return [self.of(metric, rows) for rows in groups]

    def rows_for(self, metric: Callable[..., Any], rows: Any) -> Any:
        """Those of some rows (a mask or row numbers) that a metric is of: all; for a metric of groups those that count.

        A benchmark whose headline is of some groups alone, as FMoW's is of the five regions, leaves the others out.
        Rows that are all of others stay.
        """
        counting = self._counting if "group" in read_metric(metric).arrays else None
        if counting is None:
            return rows
        chosen = np.arange(len(counting))[rows]
        left = chosen[counting[chosen]]
        return left if len(left) else rows

    @cached_property
    def _counting(self) -> NDArray[np.bool_] | None:
        """Which rows (n,) are of groups that the headline is of, and have a group; None where all are."""
        side = self.benchmark.out_of_context
        counting, named = side.counting(self.columns) if isinstance(side, GroupsOfRows) else None, self.named("group")
        return counting if named is None else named if counting is None else counting & named

    def named(self, column: str) -> NDArray[np.bool_] | None:
        """Which rows (n,) have a name in a column; None where all have. A row without one is of no group."""
        light = self.predictions.rows.light
        if column not in light.column_names or not light.column(column).null_count:
            return None
        is_valid: NDArray[np.bool_] = pc.is_valid(light.column(column)).to_numpy()
        return is_valid

    def has_groups(self, metric: Callable[..., Any], rows: Any) -> bool:
        """Whether some of the rows have a group, where a metric asks for groups."""
        named = self.named("group") if "group" in read_metric(metric).arrays else None
        return named is None or bool(named[rows].any())

    @cached_property
    def examples(self) -> "ExampleDigest":
        """Names sets of rows."""
        return ExampleDigest(self.predictions)

    def members(self, mask: NDArray[np.bool_]) -> dict[str, NDArray[np.int64]]:
        """The row numbers of each group among the rows where the mask (n,) is true, sorted by name."""
        column = self.benchmark.group_column
        named = self.named(column)
        mask = mask if named is None else mask & named
        chosen = pd.Categorical(["no", "yes"])[mask.astype(np.int8)]  # whatever their own split
        return WorstOfGroups(split="yes", column=column).rows_of_groups({column: self.columns[column], "split": chosen})

    def cluster(self, rows: Any) -> Any:
        """What some rows share, where the benchmark declares a column of it; None if it does not, or no two share it.

        The rows of one side of pairs each have a thing of their own, and are independent.
        """
        if self.benchmark.cluster is None:
            return None
        shared = self.columns[self.benchmark.cluster][rows]
        if len(getattr(shared, "categories", shared)) < len(shared):
            return shared
        return None if len(np.unique(getattr(shared, "codes", shared))) == len(shared) else shared


def _convert_column(column: Any) -> NDArray[Any]:
    array = np.asarray(column)
    return array.astype(str) if isinstance(column, pd.Categorical) else array


class EpochRows(NamedTuple):
    """Rows that chose the epoch whose weights were kept.

    Attributes:
        left_out: (n,) True where a row chose and a held-out half remains, so that no number of a report is of it.
        note: What a report says of these rows; "" where none of its rows chose.
    """

    left_out: NDArray[np.bool_]
    note: str


def find_epoch_rows(predictions: Predictions, benchmark: Benchmark) -> EpochRows:
    """The rows of predictions that chose the epoch, and what is to be said of them.

    Args:
        predictions: Predictions of a model that may have been trained on the same data.
        benchmark: The declaration of their config.
    """
    metadata, training = predictions.metadata, predictions.metadata.training
    nothing = EpochRows(np.zeros(len(predictions), np.bool_), "")
    trained_on = (training.data if training else None) or {}
    is_same = (trained_on.get("benchmark"), trained_on.get("config")) == (metadata.benchmark, metadata.config)
    if training is None or not is_same or metadata.benchmark is None:
        return nothing
    held_out, inside = training.held_out, benchmark.in_context
    if held_out is not None and held_out.split in metadata.rows and held_out.by in predictions.column_names:
        in_split = np.asarray(predictions.split == held_out.split)
        chose = np.zeros(len(predictions), np.bool_)
        chose[in_split] = HeldOut.choosing(predictions.column(held_out.by)[in_split])
        rest = int((in_split & ~chose).sum())
        return EpochRows(
            chose,
            f"{int(chose.sum()):,} rows of split {held_out.split}, selected by a hash of {held_out.by}, chose the "
            f"epoch whose weights were kept; the numbers are from the other {rest:,}, which were held out",
        )
    is_there = inside.split == benchmark.validation_split and inside.split in metadata.rows
    if not is_there or _ON_VALIDATION not in (training.selection or ""):
        return nothing
    return nothing._replace(
        note=f"the rows of split {inside.split} chose the epoch whose weights were kept, so the number on them may be "
        "somewhat too good, and the gap too large; oochub train --hold-out keeps half of them for the report"
    )


def check_one_task(predictions: Predictions, benchmark: Benchmark, *, instead: str) -> None:
    """Refuses rows of a config such as nooch/all, of which one task is evaluated at a time.

    Args:
        predictions: The rows.
        benchmark: The declaration of their config.
        instead: What to do, in words.

    Raises:
        OochubError: They hold many tasks.
    """
    if "labels" in predictions.column_names and benchmark.task is not None:
        raise OochubError(f"{benchmark.name}/{predictions.metadata.config} holds many tasks. {instead}")


class KnownMetric(NamedTuple):
    """What an evaluation asks of a metric.

    Attributes:
        facts: What its file says of it; None for a function from elsewhere.
        arrays: The names of the arrays and options that it takes.
        required: Names of those that it cannot do without.
    """

    facts: MetricFacts | None
    arrays: list[str]
    required: list[str]


@cache
def read_metric(metric: Callable[..., Any]) -> KnownMetric:
    """Reads a metric's file and signature, once.

    >>> from oochub import get
    >>> read_metric(get("metric", "ece")).required
    ['label', 'probability']
    """
    arguments = inspect.signature(metric).parameters.values()
    required = [argument.name for argument in arguments if argument.default is argument.empty]
    return KnownMetric(read_facts(metric), [argument.name for argument in arguments], required)


def check_metric(name: str, metric: Callable[..., Any], evaluated: EvaluationRows) -> None:
    """Checks that a metric can be computed, before anything is.

    Raises:
        OochubError: A column or a fact of the build record that the predictions lack, a metric of another kind of
            output, or one that reads a score of the right class where rows have several right classes.
    """
    read, kind, columns = read_metric(metric), evaluated.predictions.metadata.kind, evaluated.columns
    if read.facts is not None and kind not in read.facts.outputs:
        others = {other: read_metric(catalog.get("metric", other)).facts for other in catalog.names("metric")}
        fitting = [other for other, facts in others.items() if facts is not None and kind in facts.outputs]
        raise OochubError(
            f"The metric {name} scores {' or '.join(read.facts.outputs)}, but these predictions are of the kind "
            f"{kind}, for which there are {', '.join(fitting) or 'none yet: a metric names its kinds in FACTS'}. "
            f"Name such metrics with {choose_wording('metrics=[...]', '--metric')}."
        )
    missing = [argument for argument in read.required if argument not in columns]
    if missing:
        why = "two classes make a score" if "score" in missing else f"columns: {', '.join(sorted(columns))}"
        raise OochubError(
            f"The metric {name} needs {', '.join(missing)}, which these predictions lack ({why}). "
            f"Name other metrics with {choose_wording('metrics=[...]', '--metric')}."
        )
    also, takes = evaluated.predictions.also_right, {"score", "probability"} & {*read.arrays}
    if also is not None and len(also.rows) and takes and not (read.facts and read.facts.compact):
        raise OochubError(
            f"The metric {name} reads the {takes.pop()} of one right class, but {len(np.unique(also.rows)):,} rows "
            f"have several right ones (column {ALSO_RIGHT}). Name other metrics with "
            f"{choose_wording('metrics=[...]', '--metric')}, such as accuracy, nll or ece."
        )
    evaluated.options(metric)


def make_evaluation_rows(
    predictions: Predictions,
    declared: Benchmark,
    allowed: NDArray[np.int64] | None = None,
    sampling: Mapping[str, Any] | None = None,
) -> tuple[EvaluationRows, EpochRows]:
    """The rows of one set of predictions, after their limits are checked, and which of them chose an epoch.

    Args:
        predictions: Predictions for one task.
        declared: What their benchmark declares.
        allowed: The classes that an answer may be; None allows all.
        sampling: Resamples and seed of the intervals.

    Raises:
        OochubError: More splits or groups than a report compares.
    """
    kind, chose = predictions.output, find_epoch_rows(predictions, declared)
    evaluated = EvaluationRows(
        predictions=predictions,
        benchmark=declared,
        columns=EvaluationColumns(predictions, kind.arrays(predictions, allowed)),
        known=kind.known(predictions.label) & ~chose.left_out,
        sampling=dict(sampling or {}),
    )
    metrics = [catalog.get("metric", name) for name in kind.group_metrics]
    are_means = all(facts is not None and facts.row_numbers is not None for facts in map(read_facts, metrics))
    check_limits(evaluated, most_groups=MOST_GROUPS if are_means and declared.cluster is None else MOST_COMPARED)
    return evaluated, chose


def check_limits(evaluated: EvaluationRows, *, most_groups: int) -> None:
    """Checks how many splits there are, and how many groups each of them has.

    Args:
        evaluated: The rows.
        most_groups: Number of groups that one split may have.

    Raises:
        OochubError: More than `MOST_SPLITS` or `most_groups`; the column is named.
    """
    split = evaluated.columns["split"]
    splits = sorted(count_rows(evaluated.predictions.rows.light.column("split")))
    if len(splits) > MOST_SPLITS:
        raise _refuse_too_many("split", len(splits), MOST_SPLITS, "Give all rows that belong together the same split")
    column = evaluated.benchmark.group_column
    if column not in evaluated.columns:
        return
    group = evaluated.columns[column]
    for name in splits:
        if hasattr(group, "codes"):
            count = len(np.unique(group.codes[split == name]))
        else:
            count = len(WorstOfGroups(split=name, column=column).rows_of_groups(evaluated.columns))
        if count > most_groups:
            raise _refuse_too_many(column, count, most_groups, f"Use coarser groups, or evaluate without {column}")


def _refuse_too_many(column: str, found: int, most: int, advice: str) -> OochubError:
    return OochubError(
        f"The column {column} has {found:,} values, like a column of ids, but a report compares at most {most:,}. "
        f"{advice}: Predictions.load(FILE).table is an Arrow table, and .with_table(table) takes the new one."
    )


class EvaluationColumns(Mapping[str, Any]):
    """What metrics ask for by name: what the kind of output computes, and the auxiliary columns.

    A column of text is a pandas Categorical: a byte a row where it has few names.

    Attributes:
        shadowed: Auxiliary columns that are not read, since what is computed bears their name.

    >>> rows = Predictions.from_arrays(logits=[[1.0, 0.0]] * 2, label=[0, 1], group=["sea", "land"])
    >>> columns = EvaluationColumns(rows, {})
    >>> columns["group"].codes, columns["group"] == "sea", sorted(columns)
    (array([1, 0], dtype=int8), array([ True, False]), ['group', 'split'])
    """

    def __init__(self, predictions: Predictions, computed: Arrays) -> None:
        self._predictions = predictions
        self._computed = computed
        self._read: Arrays = {}
        output = predictions.output
        left_out = {*_NOT_ASKED_FOR, *output.columns, *output.beside, output.label_column}
        self._names = [name for name in predictions.column_names if name not in left_out]
        self.shadowed = sorted(computed.keys() & self._names)

    def __getitem__(self, name: str) -> Any:
        if name in self._computed:
            return self._computed[name]
        if name not in self._read:
            if name not in self._names:
                raise KeyError(name)
            self._read[name] = _read_column(self._predictions, name)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._names, *self._computed]))

    def __len__(self) -> int:
        return len({*self._names, *self._computed})


def _read_column(predictions: Predictions, name: str) -> Any:
    light = predictions.rows.light
    column = (light if name in light.column_names else predictions.rows).column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return predictions.column(name)
    encoded = (column if kind != column.type else pc.dictionary_encode(column)).combine_chunks()
    names = encoded.dictionary.to_pylist() + ["None"] * bool(column.null_count)
    place = {name: number for number, name in enumerate(sorted(set(names)))}  # an array would give each the longest
    places = np.fromiter(map(place.__getitem__, names), np.min_scalar_type(-len(names)), len(names))
    codes: NDArray[np.signedinteger] = places[encoded.indices.fill_null(len(places) - 1).to_numpy()]
    categories: Any = list(place)
    return pd.Categorical.from_codes(codes, categories=categories)


class ExampleDigest:
    r"""The first 16 digits of the SHA-256 of the sorted lines "LABEL EXAMPLE_ID" of some rows.

    Rows are sorted once, for any number of sets.

    >>> digest = ExampleDigest(Predictions.from_arrays(logits=[[1.0, 0.0]] * 2, label=[0, 1], example_id=["b", "a"]))
    >>> digest.of(np.array([True, True])) == hashlib.sha256(b"0 b\n1 a").hexdigest()[:16]
    True
    """

    def __init__(self, predictions: Predictions) -> None:
        self._rows, self._ids = predictions.rows, predictions.rows.column("example_id").cast(pa.string())
        self._label = predictions.label
        self._is_class = self._label.dtype.kind in "iu" and self._label.ndim == 1

    def of(self, rows: NDArray[np.bool_]) -> str:
        """The name of the rows where the mask (n,) is true."""
        digest = hashlib.sha256()
        order = self._order.take(np.flatnonzero(rows[self._order]))
        for part in row_blocks(len(order), _LINES_TOGETHER):
            lines = self._read_lines(order[part])
            joined = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "")
            digest.update(memoryview(joined[0].as_buffer())[int(part.start == 0) :])
        return digest.hexdigest()[:16]

    def _read_lines(self, rows: Any) -> pa.Array:
        """The lines of some rows, each after a line break; classes that follow each other are one text."""
        label, ids = self._label[rows], self._ids.take(pa.array(rows)).combine_chunks()
        starts = np.flatnonzero(np.r_[True, label[1:] != label[:-1]]) if self._is_class else np.arange(len(label))
        names = pa.array(label[starts]).cast(pa.string()) if self._is_class else pa.array(map(str, label.tolist()))
        before = pc.binary_join_element_wise("\n", names, " ", "")
        runs = pa.ListArray.from_arrays(np.append(starts, len(label)).astype(np.int32), ids)
        return pc.binary_join_element_wise(before, pc.binary_join(runs, before), "")

    @cached_property
    def _order(self) -> NDArray[np.uint32]:
        """The rows in the order of their lines."""
        if not self._is_class:
            lines = self._read_lines(np.arange(len(self._label)))
            sorted_lines: NDArray[np.uint32] = pc.sort_indices(lines).to_numpy().astype(np.uint32)
            return sorted_lines
        by_id = self._rows.by_id
        order, blocks, size = (
            np.empty_like(by_id),
            [*row_blocks(len(by_id), _LINES_TOGETHER)],
            int(self._label.max()) + 2,
        )
        counts = np.zeros(size, np.int64)  # of the labels -1, 0, 1, ...
        for part in blocks:
            counts += np.bincount(self._label[part] + 1, minlength=size)
        by_name = np.array(sorted(range(size), key=lambda place: f"{place - 1} "))
        first = np.empty(size, np.int64)  # where the next row of a label goes: a stable sort in little memory
        first[by_name] = np.cumsum(counts[by_name]) - counts[by_name]
        for part in blocks:
            rows = by_id[part][np.argsort(self._label[by_id[part]], kind="stable")]
            label = self._label[rows] + 1
            order[first[label] + np.arange(len(rows)) - np.searchsorted(label, label)] = rows
            first += np.bincount(label, minlength=size)
        return order


def make_mistake(row: int, evaluated: EvaluationRows, *, is_out: bool | None) -> Mistake:
    """One row as a reader sees it.

    Args:
        row: Number of the row.
        evaluated: The rows.
        is_out: Whether it is out of context; None where no row is, and for one that is of neither side.
    """
    predictions, columns = evaluated.predictions, evaluated.columns
    record = predictions.rows.row(row)
    answer, thumbnail = predictions.output.answer(columns, row, predictions.class_names), record.get("thumbnail")
    return Mistake(
        example_id=record["example_id"],
        split=record["split"],
        role=None if is_out is None else "out" if is_out else "in",
        label=answer.label,
        predicted=answer.predicted,
        probability=answer.probability,
        loss=float(columns["loss"][row]),
        kind=answer.mistake,
        context=evaluated.benchmark.describe_context(record, predictions.metadata.facts),
        group=_convert_to_text(record.get("group")),
        challenge=_convert_to_text(record.get("challenge")),
        image=None if thumbnail is None else base64.b64encode(thumbnail).decode("ascii"),
        attribution=find_attribution(record),
        text=_convert_to_text(
            record.get("text") or record.get("thumbnail_text") or predictions.output.line(columns, row, ())
        ),
        boxes=_convert_boxes(predictions.output.boxes(columns, row), record),
        wrote=_convert_to_text(record.get(predictions.output.text_column)),
    )


def _convert_to_text(value: Any) -> str | None:
    return None if value is None else str(value)


def _convert_boxes(boxes: RowBoxes | None, record: Mapping[str, Any]) -> BoxesInPicture | None:
    """Boxes of a row that says how large its image is."""
    width, height = (record.get(name) for name in ("width", "height"))
    if boxes is None or not (isinstance(width, int) and isinstance(height, int)):
        return None
    true, answered = (tuple((x1, y1, x2, y2) for x1, y1, x2, y2 in box) for box in boxes)
    return BoxesInPicture(width=width, height=height, true=true, answered=answered)


def find_attribution(record: Mapping[str, Any]) -> str | None:
    """The source of a row's image and its license, as far as its columns say so; else None."""
    url = str(record.get("source_url") or "")
    if url.startswith("http://") and ".staticflickr.com/" in url:  # COCO's lists are older than Flickr's https
        url = url.replace("http://", "https://", 1)
    parts = [url, f"({record['license']})" if record.get("license") else ""]
    return " ".join(part for part in parts if part) or None
