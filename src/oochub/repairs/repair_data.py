"""The rows of a model's predictions as a repair sees them: features, truth, groups and the side of each context."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oochub.data.declaration import find_declaration
from oochub.errors import OochubError, choose_wording
from oochub.prediction.image_copies import number_images
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import StoredHead
from oochub.records.build_record import CHOSEN_ON
from oochub.records.output_columns import ALSO_RIGHT

EASY = "easy"


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
