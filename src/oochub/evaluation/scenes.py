"""What every image shows, over many classes at once: the arrays behind the suite's figures and its selection.

And how hard the hard examples of each task are for a model: mean losses by task, criterion and side.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from oochub import catalog
from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildFacts, BuildRecord

_SIDES = {"positive": ("hard_positive",), "negative": ("hard_negative",), "all": ("hard_positive", "hard_negative")}


@dataclass(frozen=True, kw_only=True)
class Scenes:
    """One split of `nooch/all`, or of predictions of it, as arrays; n images, c classes.

    Attributes:
        names: The c classes.
        present: (n, c) bool, is the class annotated in the image?
        area: (n, c) float64, fraction of the image that it takes.
        similarity: (n, c) float64, cosine of the image's captions to those of the class's training positives; None
            without embeddings.
        logit: (n, c) float32 of a model with one logit per class; None for a data set.
        surplus: (c, c) float64, row Y, column C: A(C, Y), the mean over training images with Y of
            Area(C) - Area(Y); nan where it is not above 0, or unknown.
        alpha: The alpha of the benchmark's own contexts.
        beta: The beta of the benchmark's own criterion.

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
            split: Name of the split.

        Raises:
            OochubError: Data of another config, or a split that is not there.
        """
        if isinstance(data, str | Path):
            data = Predictions.load(data)
        if isinstance(data, Predictions):
            rows = data.split == split
            if not rows.any():
                there = ", ".join(dict.fromkeys(data.split.tolist()))
                raise OochubError(f"The predictions have no split {split!r}, only {there}.")
            chosen = data.select(rows)
            columns = {name: chosen.column(name) for name in _list_scene_columns(chosen.column_names)}
            return cls._make_scenes(columns, data.metadata.facts, data.class_names, np.asarray(chosen.logits))
        part = data[split] if isinstance(data, Mapping) else data
        record = BuildRecord.of(part.info)
        own = _list_scene_columns(part.column_names)
        table = part.select_columns(own).with_format("arrow")[:]  # numpy's format would round to float32
        columns = {name: table.column(name).to_numpy() for name in table.column_names}
        names = part.features["labels"].feature.names
        return cls._make_scenes(columns, record.facts if record else BuildFacts(), names, None)

    @classmethod
    def _make_scenes(
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


def _list_scene_columns(names: Any) -> list[str]:
    columns = [name for name in ("labels", "areas", "gist_similarity") if name in names]
    if "labels" not in columns or "areas" not in columns:
        raise OochubError(
            f"These rows are not from nooch/all, which has labels and areas; they have {', '.join(names)}."
        )
    return columns


def measure_task_losses(data: Any, *, split: str = "test") -> pd.DataFrame:
    """Mean negative log likelihood on hard and on all examples of every task with a context.

    Args:
        data: Scenes with logits, or what `Scenes.of` takes: predictions of `nooch/all` or their path.
        split: Name of the split.

    Returns:
        One row per task, criterion and side, with the columns task ("car"), criterion ("ce", and "gist" where the data
        have embeddings), side ("positive", "negative", or "all" for both together), n_all, n_hard, loss_all and
        loss_hard in nats, nan where there is no such example. Gist has as many hard examples as co-occurrence.

    Raises:
        OochubError: Data without logits, or in which no class has a context.

    Source: Madras and Zemel, NOOCH, Section 3.3 and Figure 3.

    >>> scenes = Scenes(
    ...     names=["car", "road"], present=np.array([[True, False], [True, True]]), similarity=None,
    ...     area=np.array([[0.1, 0.0], [0.1, 0.5]]), logit=np.array([[0.0, 0.0], [5.0, 5.0]]),
    ...     surplus=np.array([[np.nan, 0.2], [np.nan, np.nan]]),
    ... )
    >>> measure_task_losses(scenes)[["task", "side", "n_all", "n_hard", "loss_hard"]].round(3).values.tolist()[0]
    ['car', 'positive', 2, 1, 0.693]
    """
    scenes = data if isinstance(data, Scenes) else Scenes.of(data, split)
    loss = scenes.loss
    rows = []
    for column, name, criterion, challenge in _judge_challenges(scenes):
        for side, hard in _SIDES.items():
            every = np.ones(len(loss), bool) if side == "all" else scenes.present[:, column] == (side == "positive")
            chosen = np.isin(challenge, hard)
            rows.append(
                {
                    "task": name,
                    "criterion": criterion,
                    "side": side,
                    "n_all": int(every.sum()),
                    "n_hard": int(chosen.sum()),
                    "loss_all": _mean(loss[every, column]),
                    "loss_hard": _mean(loss[chosen, column]),
                }
            )
    if not rows:
        raise OochubError(
            f"At alpha = {scenes.alpha:g} no class has a context, so there is no task. Build nooch/all with a lower "
            "alpha=, or from more images."
        )
    return pd.DataFrame(rows)


def _judge_challenges(scenes: Scenes) -> Iterator[tuple[int, str, str, NDArray[np.str_]]]:
    co_occurrence, gist = catalog.get("criterion", "co_occurrence"), catalog.get("criterion", "gist")
    contexts = scenes.contexts(scenes.alpha)
    for column in np.flatnonzero(contexts.any(axis=1)).tolist():
        name, present = scenes.names[column], scenes.present[:, column]
        ce = co_occurrence(present, scenes.area[:, contexts[column]], scenes.beta)
        yield column, name, "ce", ce
        if scenes.similarity is not None:
            counts = {f"{side}s": int((ce == side).sum()) for side in _SIDES["all"]}
            yield column, name, "gist", gist(present, scenes.similarity[:, column], **counts)


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
