"""What every image shows, over many classes at once: the arrays behind the suite's figures and its selection."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildFacts, BuildRecord


@dataclass(frozen=True, kw_only=True)
class Scenes:
    """One split of `nooch/all`, or of predictions of it, as arrays; n images, c classes.

    Attributes:
        names: The c classes.
        present: (n, c) bool, is the class annotated in the image?
        area: (n, c) float64, fraction of the image that it takes.
        similarity: (n, c) float64, cosine of the image's captions to those of the class's training positives; None
            without embeddings.
        logit: (n, c) float32 of a model with one logit a class; None for a data set.
        surplus: (c, c) float64, row Y, column C: A(C, Y), the mean over training images with Y of
            Area(C) - Area(Y); nan where it is not above 0, or unknown.
        alpha: The alpha of the benchmark's own contexts.
        beta: Its beta.

    >>> scenes = Scenes(
    ...     names=["car", "road"], present=np.array([[True, False]]), area=np.array([[0.1, 0.0]]), similarity=None,
    ...     logit=np.array([[0.0, -2.0]]), surplus=np.array([[np.nan, 0.3], [np.nan, np.nan]]),
    ... )
    >>> scenes.loss.round(3).tolist(), scenes.contexts(0.05).tolist()
    ([[0.693, 0.127]], [[False, True], [False, False]])
    """

    names: list[str]
    present: NDArray[np.bool_]
    area: NDArray[np.float64]
    similarity: NDArray[np.float64] | None
    logit: NDArray[np.float32] | None
    surplus: NDArray[np.float64]
    alpha: float = 0.05
    beta: float = 0.1

    @classmethod
    def of(cls, data: Any, split: str = "test") -> "Scenes":
        """The scenes of a data set, or of predictions (an object or a path).

        Args:
            data: Dataset or DatasetDict of `load_dataset("nooch", "all")`, Predictions of it, or their path.
            split: Which split of it.

        Raises:
            OochubError: Data of another config, or a split that is not there.
        """
        if isinstance(data, str | Path):
            data = Predictions.load(data)
        if isinstance(data, Predictions):
            chosen = data.select(_rows(data.split, split))
            columns = {name: chosen.column(name) for name in _scene_columns(chosen.column_names)}
            return cls._made(columns, data.metadata.facts, data.class_names, np.asarray(chosen.logits))
        part = data[split] if isinstance(data, Mapping) else data
        record = BuildRecord.of(part.info)
        own = _scene_columns(part.column_names)
        table = part.select_columns(own).with_format("arrow")[:]  # numpy's format would round to float32
        columns = {name: table.column(name).to_numpy() for name in table.column_names}
        names = part.features["labels"].feature.names
        return cls._made(columns, record.facts if record else BuildFacts(), names, None)

    @classmethod
    def _made(
        cls, columns: Mapping[str, Any], facts: BuildFacts, names: list[str], logit: NDArray[Any] | None
    ) -> "Scenes":
        if facts.context_surplus is None or facts.alpha is None or facts.beta is None:
            raise OochubError("The build record lacks the contexts: load the data with load_dataset('nooch', 'all').")
        present = np.zeros((len(columns["labels"]), len(names)), dtype=bool)
        for row, labels in enumerate(columns["labels"]):
            present[row, np.asarray(labels, dtype=np.int64)] = True
        surplus = np.full((len(names), len(names)), np.nan)
        number = {name: k for k, name in enumerate(names)}
        for name, others in facts.context_surplus.items():
            for other, value in others.items():
                surplus[number[name], number[other]] = value
        return cls(
            names=list(names),
            present=present,
            area=np.stack(columns["areas"]),
            similarity=np.stack(columns["gist_similarity"]) if facts.encoder else None,
            logit=logit,
            surplus=surplus,
            alpha=facts.alpha,
            beta=facts.beta,
        )

    @property
    def loss(self) -> NDArray[np.float64]:
        """(n, c) negative log likelihood, in nats, of each class's presence or absence.

        Raises:
            OochubError: A data set without a model's logits.
        """
        if self.logit is None:
            raise OochubError("Losses need predictions: `oochub predict MODEL nooch/all --out all.parquet`.")
        z = self.logit.astype(np.float64)
        return np.logaddexp(0.0, np.where(self.present, -z, z))

    def contexts(self, alpha: float) -> NDArray[np.bool_]:
        """(c, c): is class C (column) an alpha-context of class Y (row)? alpha at least 0."""
        return np.nan_to_num(self.surplus, nan=-1.0) > alpha


def _scene_columns(names: Any) -> list[str]:
    columns = [name for name in ("labels", "areas", "gist_similarity") if name in names]
    if "labels" not in columns or "areas" not in columns:
        raise OochubError(f"These are not rows of nooch/all, which has labels and areas, but {', '.join(names)}.")
    return columns


def _rows(splits: NDArray[Any], split: str) -> NDArray[np.bool_]:
    rows: NDArray[np.bool_] = splits == split
    if not rows.any():
        raise OochubError(f"The predictions have no split {split!r}, only {', '.join(dict.fromkeys(splits.tolist()))}.")
    return rows
