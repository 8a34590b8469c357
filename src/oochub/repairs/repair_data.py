"""The rows of a model's predictions as a repair sees them, in three parts: one fits, one chooses, one proves.

A row has features, truth, a group and the side of its context; contexts that nobody labelled have sides if they matter
to the model on rows that do not prove.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.data.declaration import find_declaration
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.context_findings import measure_context
from oochub.prediction.context_roles import RowsWithContexts
from oochub.prediction.image_copies import number_images
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import StoredHead
from oochub.records.build_record import CHOSEN_ON
from oochub.records.metadata import Metadata
from oochub.records.output_columns import ALSO_RIGHT
from oochub.repairs.repair import PartName, PartOfSplit
from oochub.stats.estimate import Sampling
from oochub.stats.p_values import adjusted_p_values

EASY = "easy"
FEWEST = 20
"""Rows of each class out of context that a part should have, before rows that the model has seen are asked."""
_TEST = "test"
_PROVE = 0.4  # of rows without a test split
_LEVEL = 0.05
_NAMED = 3  # contexts that name a group


@dataclass(frozen=True, kw_only=True, eq=False)
class RepairRows:
    """What is known of every row that has a class and a context.

    Attributes:
        predictions: The model's predictions of these rows, with features.
        features: float32 (n, d).
        label: Class numbers (n,).
        is_out: Whether the context of each row (n,) is not usual for its class.
        groups: Groups of each row (n,) by their kind: "side" is the class with the side of its context, "context" the
            class with its context, if that tells more rows apart.
        cluster: What the rows (n,) share, as the benchmark declares it; None if they are independent.
        units: What is hashed to divide the rows (n,): the cluster, else the id.
        looked_at: Rows (n,) on which contexts were chosen, so that they prove nothing; None if the data name contexts.
        image: Number of the image of each row (n,), equal for equal bytes; -1 where it is unknown, None for all.
    """

    predictions: Predictions
    features: NDArray[np.float32]
    label: NDArray[np.int64]
    is_out: NDArray[np.bool_]
    groups: Mapping[str, NDArray[np.int64]]
    cluster: NDArray[np.str_] | None
    units: list[object]
    looked_at: NDArray[np.bool_] | None = None
    image: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, predictions: Predictions) -> "RepairRows":
        """The rows of predictions with features, but those without a class or a challenge.

        Raises:
            OochubError: Another kind of output than one class per row, no column of challenges, or none on a side.
        """
        check_kind(predictions.metadata.kind)
        check_challenge(predictions.column_names)
        if predictions.also_right is not None and len(predictions.also_right.rows):
            raise OochubError(
                f"A repair needs one right class per row, but some rows have several (column {ALSO_RIGHT}). Remove "
                "these rows."
            )
        challenge = predictions.rows.column("challenge").to_pylist()
        check_some_side(challenge)
        has_side = np.array([bool(side) for side in challenge]) & (predictions.label >= 0)
        if not has_side.all():
            predictions = predictions.select(has_side)
        label = np.asarray(predictions.label, np.int64)
        is_out = np.array([side != EASY for side in predictions.column("challenge").tolist()])
        cell = 2 * label + is_out
        groups = {"side": cell}
        declared = find_declaration(predictions)
        column = declared.group_column
        if column in predictions.column_names:
            names = [f"{one}/{name}" for one, name in zip(label, predictions.column(column).tolist(), strict=True)]
            context = np.unique(names, return_inverse=True)[1].astype(np.int64)
            if len(np.unique(np.stack([cell, context]), axis=1)[0]) > len(np.unique(cell)):  # else it says the same
                groups["context"] = context
        cluster = read_cluster(predictions)
        units = predictions.column("example_id") if cluster is None else cluster
        features = predictions.features
        assert features is not None  # noqa: S101  predict stores them
        return cls(
            predictions=predictions,
            features=features,
            label=label,
            is_out=is_out,
            groups=groups,
            cluster=cluster,
            units=list(map(str, units.tolist())),
            looked_at=read_looked_at(predictions),
            image=number_images(predictions),
        )

    @property
    def split(self) -> NDArray[np.str_]:
        """Name of each row's split (n,)."""
        return np.asarray(self.predictions.split)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.predictions.class_names)

    def is_right(self, head: StoredHead, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a head answers each of some rows right."""
        right: NDArray[np.bool_] = self.logits(head, rows).argmax(axis=1) == self.label[rows]
        return right

    def logits(self, head: StoredHead, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """What a head says of some rows, float32 (n, c)."""
        weight, bias = head.weight.astype(np.float32), head.bias.astype(np.float32)
        logits: NDArray[np.float32] = self.features[rows] @ weight.T + bias
        return logits


def read_cluster(predictions: Predictions) -> NDArray[np.str_] | None:
    """What rows (n,) share, as the benchmark declares it; None if they are independent."""
    column = find_declaration(predictions).cluster
    has_some = column is not None and column in predictions.column_names
    return predictions.column(str(column)).astype(str) if has_some else None


def read_looked_at(predictions: Predictions) -> NDArray[np.bool_] | None:
    """Whether contexts were chosen on each row (n,), or it may not be tested on; None if no contexts were found."""
    if CHOSEN_ON not in predictions.column_names or predictions.metadata.facts.found_contexts is None:
        return None
    chosen = predictions.rows.column(CHOSEN_ON).combine_chunks().fill_null(True)
    looked_at: NDArray[np.bool_] = chosen.to_numpy(zero_copy_only=False)
    return looked_at


def check_kind(kind: str) -> None:
    """Checks that rows have one class each.

    Raises:
        OochubError: Another kind of output.

    >>> check_kind("classes")
    """
    if kind != "classes":
        raise OochubError(f"A repair needs one class per row, but these rows have the kind {kind}. Give such a label.")


def check_challenge(columns: Iterable[str]) -> None:
    """Checks that rows say whether their context is usual.

    Raises:
        OochubError: No column of challenges.

    >>> check_challenge(["label", "challenge"])
    """
    if "challenge" not in columns:
        context, way = (
            choose_wording("context=", "--context-column"),
            choose_wording('contexts="properties"'),
        )
        raise OochubError(
            "A repair needs to know which contexts are usual for a class, but the data have no column challenge, "
            f"only {', '.join(columns)}. Pass the column of contexts with {context}, or find contexts with {way}."
        )


def check_some_side(challenge: Iterable[str | int | None]) -> None:
    """Checks that some row is on a side: its context is shown to be usual or unusual for its class.

    Args:
        challenge: Challenge of each row, or of each kind of row, by name or number; None, "" or -1 for no side.

    Raises:
        OochubError: No row is.

    >>> check_some_side(["easy", None])
    """
    if all(side in (None, "", -1) for side in challenge):
        usual = choose_wording("usual={'CLASS': ['CONTEXT']}", "--usual CLASS=CONTEXT")
        raise OochubError(
            "A repair needs rows in usual and in unusual contexts, but no context is clearly more frequent with a "
            f"class than without it. If some are usual all the same, {usual} names them."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class RowParts:
    """Numbers of the rows of each part; no row is in two.

    Attributes:
        fit: Rows that new heads are fitted on.
        choose: Rows that one head is chosen on.
        prove: Rows that the chosen head is proven on.
        seen: Which of all rows (n,) belong to a split that the model was trained on.
        copies: Rows that were left out, since the same image stands in a part that comes later or was trained on.
    """

    fit: NDArray[np.int64]
    choose: NDArray[np.int64]
    prove: NDArray[np.int64]
    seen: NDArray[np.bool_]
    copies: int = 0

    @property
    def named(self) -> tuple[tuple[PartName, NDArray[np.int64]], ...]:
        """The parts by name."""
        return (("fit", self.fit), ("choose", self.choose), ("prove", self.prove))


def divide_rows(rows: RepairRows, *, trained: Collection[str], seed: int = 0) -> RowParts:
    """Divides rows into fit, choose and prove.

    If there is a split "test" beside others, it proves. Else two fifths of the rows that the model was not trained on
    prove, by a hash; if contexts were found in the images, those of these rows on which nothing was chosen. The others
    fit and choose, one half each, by the hash too. If the rows that the model was not trained on suffice for choosing
    (`FEWEST` in each cell), only they choose, and rows that it was trained on only fit.

    The hash is SHA-256 of the seed and the row's unit: its id, or its cluster, so that a cluster is never divided.
    Independent rows are ranked by it within their cell, a class on one side, so that each part has its share of each
    cell.

    No image is in two parts: a row whose image the model was trained on neither chooses nor proves, and of copies in
    two parts that which proves stays, else that which chooses.

    Args:
        rows: All rows.
        trained: Splits that the model was trained on.
        seed: Another seed is another division.

    Raises:
        OochubError: No row is left to prove, or too few for three parts.

    >>> from oochub import Predictions
    >>> arrays = {"label": [0, 1] * 3, "logits": np.zeros((6, 2)), "features": np.zeros((6, 3), np.float32)}
    >>> split = ["train"] * 4 + ["test"] * 2
    >>> rows = RepairRows.of(Predictions.from_arrays(**arrays, split=split, challenge=["easy"] * 6))
    >>> parts = divide_rows(rows, trained=["train"])
    >>> len(parts.fit), len(parts.choose), parts.prove.tolist()
    (2, 2, [4, 5])
    """
    split, cell, is_clustered = rows.split, rows.groups["side"], rows.cluster is not None
    seen, rank = np.isin(split, sorted(trained)), _rank_units(rows.units, seed)
    proves = find_proving_rows(split, seen, rows.looked_at)
    has_image = np.zeros(len(split), bool) if rows.image is None else rows.image >= 0
    image = np.zeros(len(split), np.int64) if rows.image is None else rows.image
    trained_on = has_image & ~seen & np.isin(image, image[seen & has_image])
    proves &= ~trained_on
    if rows.looked_at is None and not _has_test(split):
        proves = _take_share(proves, cell, rank, _PROVE, is_clustered=is_clustered)
    if not (proves & ~seen).any():
        raise OochubError(
            f"The model was trained on the rows of {', '.join(sorted(trained))}, and no other rows are there to prove "
            "a repair on. Add a split test of rows that it has not seen."
        )
    rest = ~proves & ~trained_on
    copies = rest & has_image & np.isin(image, image[proves & has_image])
    rest &= ~copies
    fresh = rest & ~seen
    fewest = min((int((fresh & (cell == number)).sum()) for number in np.unique(cell[rest])), default=0)
    among = fresh if seen[rest].any() and fewest >= 2 * FEWEST else rest
    chooses = _take_share(among, cell, rank, 0.5, is_clustered=is_clustered)
    twice = rest & ~chooses & has_image & np.isin(image, image[chooses & has_image])
    copies |= twice
    parts = (rest & ~chooses & ~twice, chooses, proves)
    if not all(part.any() for part in parts):
        left_out = int((copies | trained_on).sum())
        few = f" without {left_out:,} whose images also stand among the others" if left_out else ""
        raise OochubError(
            f"A repair needs rows to fit, to choose and to prove on, but {len(split):,} rows{few} are too few for "
            "three parts. Give more rows."
        )
    fit, choose, prove = map(np.flatnonzero, parts)
    return RowParts(fit=fit, choose=choose, prove=prove, seen=seen, copies=int((copies | trained_on).sum()))


def find_proving_rows(
    split: NDArray[np.str_], seen: NDArray[np.bool_], looked_at: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """The rows (n,) that may prove: those of the split "test", else those that the model was not trained on.

    Args:
        split: Name of each row's split (n,).
        seen: Rows (n,) that the model was trained on.
        looked_at: Rows (n,) on which contexts were chosen; None if the data name contexts.
    """
    may = split == _TEST if _has_test(split) else ~seen
    proves: NDArray[np.bool_] = may if looked_at is None else may & ~looked_at
    return proves


def _has_test(split: NDArray[np.str_]) -> bool:
    """Whether there is a split "test" beside others."""
    is_test = split == _TEST
    return bool(is_test.any() and not is_test.all())


def find_trained_splits(known: Metadata) -> tuple[str, ...]:
    """The splits that the model was trained on, as its recipe or card says.

    The split "train" counts as such unless it is the only one, and neither recipe nor card names these data: models are
    trained on the split of that name, and few say so.

    Args:
        known: What the model's predictions say of it and of the data.
    """
    if "train" not in known.rows:
        return ()
    trained_on = (known.training.data if known.training else None) or {}
    is_same = known.training is not None and (trained_on.get("benchmark"), trained_on.get("config")) == (
        known.benchmark,
        known.config,
    )
    named = known.model.trained_on or ()
    is_named = any(name in named for name in (known.benchmark, known.config, known.data_set and known.data_set.id))
    return ("train",) if len(known.rows) > 1 or is_same or is_named else ()


def describe_left_out(parts: RowParts) -> tuple[str, ...]:
    """What to say of rows that were left out, as one note or none."""
    if not parts.copies:
        return ()
    are = "row was" if parts.copies == 1 else "rows were"
    return (
        f"{parts.copies:,} {are} left out: the same image, byte for byte, stands in another part or was trained on, "
        "and a repair that fits, chooses and proves on one image proves nothing",
    )


def count_parts(rows: RepairRows, parts: RowParts) -> tuple[PartOfSplit, ...]:
    """How many rows of each split went to each part."""
    counted = []
    for part, numbers in parts.named:
        for split in dict.fromkeys(rows.split[numbers].tolist()):
            own = numbers[rows.split[numbers] == split]
            out, is_seen = int(rows.is_out[own].sum()), bool(parts.seen[own[0]])
            counted.append(PartOfSplit(part=part, split=str(split), rows=len(own), out=out, is_seen=is_seen))
    return tuple(counted)


def check_sides(rows: RepairRows, parts: RowParts) -> None:
    """Checks that each part has rows on both sides, and that heads are fitted on rows of each class.

    Raises:
        OochubError: A part without usual or without unusual contexts; a class without a row that fits.
    """
    for name, numbers in parts.named:
        out = rows.is_out[numbers]
        for side, has_some in (("usual", (~out).any()), ("unusual", out.any())):
            if not has_some:
                raise OochubError(
                    f"None of the {len(numbers):,} rows that {name} has a context that is {side} for its class. Add "
                    f"such rows; {FEWEST} of each class are a start."
                )
    missing = np.setdiff1d(np.arange(rows.classes), rows.label[parts.fit])
    if len(missing):
        names = ", ".join(rows.predictions.class_names[number] for number in missing[:5])
        raise OochubError(f"No row that fits is of the class {names}. Add some, or remove the class from the data.")


def _rank_units(units: Sequence[object], seed: int) -> NDArray[np.float64]:
    """A number in [0, 1) for each row, by a hash of its unit."""
    digests = (hashlib.sha256(f"repair/{seed}/{unit}".encode()).digest() for unit in units)
    numbers = np.fromiter((int.from_bytes(digest[:6], "big") for digest in digests), np.float64, len(units))
    ranks: NDArray[np.float64] = numbers / 2.0**48
    return ranks


def _take_share(
    among: NDArray[np.bool_], cell: NDArray[np.int64], rank: NDArray[np.float64], share: float, *, is_clustered: bool
) -> NDArray[np.bool_]:
    """Which rows (n,) are that share: those of low rank, of each cell where rows stand alone."""
    if is_clustered:
        return among & (rank < share)
    taken = np.zeros(len(among), bool)
    for number in np.unique(cell[among]):
        rows = np.flatnonzero(among & (cell == number))
        taken[rows[np.argsort(rank[rows], kind="stable")][: round(share * len(rows))]] = True
    return taken


class FoundSides(NamedTuple):
    """Predictions with the columns `context`, `group` and `challenge`, and the contexts that these are made of.

    Attributes:
        predictions: The rows; unchanged if no context is shown to matter.
        contexts: Names of the contexts that matter to the model, the largest gap first.
        tested: How many contexts could be tested.
    """

    predictions: Predictions
    contexts: tuple[str, ...]
    tested: int


def find_sides(predictions: Predictions, trained: Collection[str]) -> FoundSides | None:
    """The sides by found contexts; None if the data name the contexts.

    Args:
        predictions: Predictions of all rows.
        trained: Splits that the model was trained on.
    """
    looked_at = read_looked_at(predictions)
    if looked_at is None:
        return None
    seen = np.isin(predictions.split, sorted(trained))
    proves = find_proving_rows(predictions.split, seen, looked_at)
    return add_found_sides(predictions, proves, seen=seen, cluster=read_cluster(predictions))


def add_found_sides(
    predictions: Predictions,
    proves: NDArray[np.bool_],
    *,
    seen: NDArray[np.bool_],
    cluster: NDArray[np.str_] | None = None,
) -> FoundSides:
    """Says of each row whether it is as usual or against it, by the found contexts that matter to the model.

    A context matters if rows against it are worse, by the tests of an audit (`find_context_effects`) with Holm's
    correction over all contexts, on rows that do not prove: on those that the model was not trained on, else on all. A
    row is out of context if the contexts that matter, each at the size of its gap, are more against it than for it.

    Args:
        predictions: Predictions with found contexts.
        proves: Rows that prove (n,); their answers are not looked at.
        seen: Rows (n,) that the model was trained on.
        cluster: What the rows (n,) share; None if they are independent.
    """
    every = RowsWithContexts.of(predictions, every=True)
    if every is None:
        return FoundSides(predictions, (), 0)
    right = predictions.prediction[every.rows] == every.label
    gaps: dict[int, float] = {}
    tested = 0
    for mask in (~proves & ~seen, ~proves):
        some = mask[every.rows]
        rows = every.take(some)
        sampling = Sampling(cluster=None if cluster is None else cluster[rows.rows])
        tests = [measure_context(rows, number, right[some], sampling) for number in range(len(every.facts.names))]
        p_values = [test.p_value for test in tests]
        tested = max(tested, int(np.isfinite(p_values).sum()))
        adjusted = adjusted_p_values(p_values)
        shown = {k: float(test.gap.estimate) for k, test in enumerate(tests) if adjusted[k] <= _LEVEL}
        gaps = {number: gap for number, gap in shown.items() if gap < 0}
        if gaps:
            break
    order = sorted(gaps, key=lambda number: gaps[number])
    names = tuple(every.facts.names[number] for number in order)
    return FoundSides(_add_columns(predictions, every, gaps, order) if order else predictions, names, tested)


def _add_columns(
    predictions: Predictions, every: RowsWithContexts, gaps: dict[int, float], order: list[int]
) -> Predictions:
    score = np.sum([-gaps[number] * every.sides(number) for number in order], axis=0)
    is_scored, is_out = np.zeros(len(predictions), bool), np.zeros(len(predictions), bool)
    is_scored[every.rows], is_out[every.rows] = True, score < 0
    classes = predictions.class_names
    hard = ("hard_negative", "hard_positive") if len(classes) == 2 else ("hard",) * len(classes)
    context: list[str | None] = [None] * len(predictions)
    for row, has in zip(every.rows.tolist(), every.has[:, order[:_NAMED]], strict=True):
        own = [every.facts.names[number] for number, is_there in zip(order, has, strict=False) if is_there]
        context[row] = " and ".join(own) or "none of them"
    label = predictions.label
    challenge = [
        None if not is_known else hard[y] if out else "easy"
        for is_known, out, y in zip(is_scored, is_out, label.tolist(), strict=True)
    ]
    group = [
        None if value is None else f"{classes[y]}/{value}" for value, y in zip(context, label.tolist(), strict=True)
    ]
    rows = predictions.rows
    for name, values in (("context", context), ("group", group), ("challenge", challenge)):
        rows = rows.with_column(name, pa.array(values, pa.string()))
    usual = {
        name: tuple(every.facts.names[number] for number in order if every.signs[number, place] > 0)
        for place, name in enumerate(classes)
    }
    facts = replace(predictions.metadata.facts, usual_contexts=usual)
    return replace(predictions, rows=rows, metadata=replace(predictions.metadata, facts=facts))
