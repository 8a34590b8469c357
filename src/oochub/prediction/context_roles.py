"""The rows on which contexts that nobody labelled are tested, and what each context is to them."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import CHOSEN_ON, CONTEXTS_COLUMN, FoundContexts
from oochub.stats.lift import context_signs
from oochub.stats.row_blocks import row_blocks

_AGAIN = "Find contexts again with `oochub contexts` and predict these data."
_SHOWN = 5  # rows of a side that a page shows
_TOGETHER = 1 << 13  # ids looked at together


@dataclass(frozen=True)
class RowsWithContexts:
    """The rows with contexts that `oochub.contexts` found, on which nothing was chosen.

    A row is as usual if it has a context that is usual for its class, or lacks one that is unusual, and else against
    it. If the context is neither for its class, the row is on no side.

    Attributes:
        predictions: All rows.
        facts: What was found, and chosen.
        rows: The numbers of the tested rows (t,).
        label: Their classes (t,).
        has: Which contexts they have (t, k).
        signs: What each context is for each class (k, c): 1 usual, -1 unusual, 0 neither.
    """

    predictions: Predictions
    facts: FoundContexts
    rows: NDArray[np.int64]
    label: NDArray[np.int64]
    has: NDArray[np.bool_]
    signs: NDArray[np.int8]

    @classmethod
    def of(cls, predictions: Predictions, *, every: bool = False) -> "RowsWithContexts | None":
        """None for rows without found contexts, with questions of their own, or of a kind without one class per row.

        Args:
            predictions: Any predictions.
            every: Take the rows on which something was chosen too, for a test that has rows of its own.

        Raises:
            OochubError: Contexts that the record of the data does not know, or columns of other types.
        """
        facts = predictions.metadata.facts.found_contexts
        is_there = {CONTEXTS_COLUMN, CHOSEN_ON} <= set(predictions.column_names)
        if facts is None or not is_there or not predictions.output.one_answer:
            return None
        if predictions.output.asks_each_row(predictions):  # a letter is no class that a context could be usual for
            return None
        lists, chosen = (predictions.rows.column(name).combine_chunks() for name in (CONTEXTS_COLUMN, CHOSEN_ON))
        is_list = pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)
        if not is_list or not pa.types.is_boolean(chosen.type):
            raise OochubError(
                f"{CONTEXTS_COLUMN} must hold lists and {CHOSEN_ON} true or false, got {lists.type} and {chosen.type}. "
                f"{_AGAIN}"
            )
        chosen = chosen.fill_null(True)
        is_valid = lists.is_valid()
        tested = (is_valid if every else pc.and_(is_valid, pc.invert(chosen))).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(tested & predictions.output.known(predictions.label))
        return cls(
            predictions=predictions,
            facts=facts,
            rows=rows,
            label=np.asarray(predictions.label[rows], np.int64),
            has=_has(lists.take(pa.array(rows)), facts.names),
            signs=_compute_signs(facts, predictions.class_names),
        )

    def take(self, mask: NDArray[np.bool_]) -> "RowsWithContexts":
        """The tested rows where a mask (t,) is true."""
        return replace(self, rows=self.rows[mask], label=self.label[mask], has=self.has[mask])

    def sides(self, number: int) -> NDArray[np.int8]:
        """1 for the rows (t,) that are as usual with this context, -1 for those against it, 0 for those of no side."""
        own: NDArray[np.int8] = self.signs[number][self.label] * np.where(self.has[:, number], 1, -1).astype(np.int8)
        return own

    def shown(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Row numbers of a few rows as usual and a few against, as the gap of this context compares them.

        Each class has as many rows on both sides, in proportion to what it counts in the gap (Mantel and Haenszel's
        weight, by D'Hondt); which rows of it, a digest of their ids says: the same each time, whatever the model
        answered. If no class has rows on both sides, they are drawn from all.
        """
        sides, label = self.sides(number)[self._drawn], self.label[self._drawn]
        usual, against = (np.bincount(label[sides == side], minlength=self.signs.shape[1]) for side in (1, -1))
        weight, seats = usual * against / np.maximum(usual + against, 1), np.zeros(len(usual), np.int64)
        for _ in range(_SHOWN):
            seats[np.argmax(weight / (seats + 1))] += 1
        drawn = []
        for side in (1, -1):
            own = np.flatnonzero(sides == side)
            of_class = [own[label[own] == k][:count] for k, count in enumerate(seats) if count]
            some = np.sort(np.concatenate(of_class)) if weight.any() else own[:_SHOWN]
            drawn.append(self.rows[self._drawn[some]])
        return drawn[0], drawn[1]

    @cached_property
    def _drawn(self) -> NDArray[np.int64]:
        """The places of the tested rows (t,) in the order of the digests of their splits and ids."""
        digests = np.empty(len(self.rows), np.uint64)
        columns = self.predictions.rows.light.select(["split", "example_id"])
        for part in row_blocks(len(self.rows), _TOGETHER):
            some = columns.take(pa.array(self.rows[part]))
            names = zip(*(some.column(name).to_pylist() for name in some.column_names), strict=True)
            hashes = (hashlib.sha256(f"{split}/{name}".encode()).digest()[:8] for split, name in names)
            digests[part] = [int.from_bytes(digest, "big") for digest in hashes]
        return np.argsort(digests, kind="stable")


def _has(lists: pa.ListArray, names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Whether a row has a context (t, k), of lists of its contexts by number or by name."""
    flat = lists.flatten()
    named = flat.dictionary_decode() if pa.types.is_dictionary(flat.type) else flat
    is_text = pa.types.is_string(named.type) or pa.types.is_large_string(named.type)
    place = pc.index_in(named, pa.array(names, named.type)) if is_text else named
    is_number = pa.types.is_integer(place.type) and not place.null_count
    number = place.to_numpy(zero_copy_only=False) if is_number else np.full(len(place), -1)
    if len(number) and not 0 <= number.min() <= number.max() < len(names):
        raise OochubError(
            f"The column {CONTEXTS_COLUMN} has others than the {len(names)} contexts that were found. {_AGAIN}"
        )
    has = np.zeros((len(lists), len(names)), bool)
    has[pc.list_parent_indices(lists).to_numpy(), number.astype(np.int64)] = True
    return has


def _compute_signs(facts: FoundContexts, classes: list[str]) -> NDArray[np.int8]:
    """What each context is for each class, by the lift on the rows where that was chosen."""
    counts = [facts.class_counts.get(context, {}) for context in facts.names]
    having = np.array([[of.get(name, 0) for of in counts] for name in classes], np.int64)
    rows = [facts.class_rows.get(name, 0) for name in classes]
    return context_signs(having.reshape(len(classes), len(counts)), rows).T
