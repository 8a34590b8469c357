"""The words that an evaluation knows: of challenges, of columns that a benchmark closes, of its splits and configs."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.errors import OochubError, either, unknown_name
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import OWN
from oochub.records.sides import CHALLENGES

_UNSAID = "0.0.0"  # the version of predictions that say none


def closed_words(predictions: Predictions, benchmark: Benchmark) -> tuple[str, ...]:
    """Checks the words of predictions by which rows come to a side, and says what comes to none.

    Args:
        predictions: Any.
        benchmark: The declaration of their config.

    Returns:
        Notes: how many rows say nothing, or are of a split that no side is of; another version or config of the
        benchmark than is known here.

    Raises:
        OochubError: A word that is none of `challenge` or of a column that the benchmark closes: how many rows have
            it, and the first; a column of clusters that is missing.

    >>> rows = Predictions.from_arrays(logits=[[1.0, 0.0]] * 2, label=[0, 1], challenge=["easy", "hard_pos"])
    >>> closed_words(rows, catalog.get("benchmark", "nooch"))
    Traceback (most recent call last):
    oochub.errors.OochubError: No word of the column challenge named 'hard_pos'. Did you mean 'hard_positive' or \
'hard'? Allowed: easy, hard, hard_negative, hard_positive. 1 of 2 rows has it, first 1.
    """
    notes: list[str] = []
    for column, words in {"challenge": CHALLENGES, **benchmark.closed}.items():
        if column in predictions.column_names:
            notes += _checked(predictions, column, words)
    notes += _clusters(predictions, benchmark)
    if (predictions.metadata.benchmark or OWN) in catalog.names("benchmark"):
        notes += [*_splits(predictions.metadata.rows, benchmark), *_origin(predictions, benchmark)]
    return tuple(notes)


def _checked(predictions: Predictions, column: str, words: Sequence[str]) -> Iterator[str]:
    """Refuses another word than these; a note where rows have none."""
    table = predictions.rows.light
    values = (table if column in table.column_names else predictions.rows).column(column)
    is_list = pa.types.is_list(values.type) or pa.types.is_large_list(values.type)
    flat = pc.list_flatten(values) if is_list else values
    kind = flat.type.value_type if pa.types.is_dictionary(flat.type) else flat.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
        first = next((value for value in flat.to_pylist() if value is not None), None)
        raise OochubError(
            f"The column {column} must hold the words {', '.join(words)}, got {kind}, first {first!r}. Write the word "
            "of each row, or rename the column."
        )
    counts = {each["values"]: each["counts"] for each in pc.value_counts(flat).to_pylist()}
    strange = [word for word in counts if word and word not in words]
    if strange:
        cells = [(value or ()) if is_list else (value,) for value in values.to_pylist()]
        rows = [row for row, words_of_row in enumerate(cells) if strange[0] in words_of_row]
        first = table.column("example_id")[rows[0]]
        said = f"{len(rows):,} of {len(table):,} rows {'has' if len(rows) == 1 else 'have'} it, first {first}."
        more = len(strange) - 1
        others = f" {more:,} more {'word is' if more == 1 else 'words are'} unknown." if more else ""
        raise unknown_name(f"word of the column {column}", strange[0], words, said + others)
    missing = sum(counts.get(word, 0) for word in (None, ""))
    if missing and column == "challenge":
        yield f"{missing:,} rows have nothing in challenge: they are neither easy nor hard"


def _clusters(predictions: Predictions, benchmark: Benchmark) -> Iterator[str]:
    """Refuses predictions without the column of clusters: their intervals would be too narrow without a word."""
    column = benchmark.cluster
    if column is None:
        return
    if column not in predictions.column_names:
        load = either(f"oochub.load('{benchmark.name}/...')", f"oochub build {benchmark.name}/...")
        raise OochubError(
            f"Intervals of {benchmark.title} are over its clusters, the column {column}, which these predictions lack: "
            f"they have {', '.join(predictions.column_names[:12])}. Predict the rows of {load}, or give the column "
            f"{column} beside the others."
        )
    missing = predictions.rows.column(column).null_count
    if missing:
        yield f"{missing:,} rows have nothing in {column}: they count as one cluster"


def _splits(rows: Mapping[str, int], benchmark: Benchmark) -> Iterator[str]:
    """Rows of a split that is of neither side."""
    sides = list(dict.fromkeys((benchmark.in_context.split, benchmark.out_of_context.split)))
    for split, count in rows.items():
        if split in (*sides, "train", benchmark.validation_split):
            continue
        near = get_close_matches(split.lower().strip(), [side for side in sides if side not in rows], n=1)
        meant = f"; is {near[0]} meant?" if near else ""
        yield f"{count:,} rows are of the split {split}, and the sides are of {' and '.join(sides)}{meant}"


def _origin(predictions: Predictions, benchmark: Benchmark) -> Iterator[str]:
    """Another version than the one that is installed, or a config that it does not have."""
    from oochub.data.load import builder_class

    metadata = predictions.metadata
    name, version, config = benchmark.name, metadata.version, metadata.config
    if version not in (_UNSAID, benchmark.version):
        yield (
            f"the rows are of version {version} of {name}, and version {benchmark.version} is installed here: its "
            "sides and words are used"
        )
    known: Any = builder_class(name).builder_configs
    if known and config not in (None, "default", *known):
        yield f"the config {config} of {name} is not known here: the sides and words of {name} in general are used"
