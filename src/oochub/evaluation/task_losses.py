"""How hard the hard examples of each task are for a model: mean losses by task, criterion and side."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from oochub import catalog
from oochub.errors import OochubError
from oochub.evaluation.scenes import Scenes

_SIDES = {"positive": ("hard_positive",), "negative": ("hard_negative",), "all": ("hard_positive", "hard_negative")}


def task_losses(data: Any, *, split: str = "test") -> pd.DataFrame:
    """Mean negative log likelihood on hard and on all examples of every task with a context.

    Args:
        data: Scenes with logits, or what `Scenes.of` takes: predictions of `nooch/all` or their path.
        split: Which split of it.

    Returns:
        One row a task, criterion and side, with the columns task ("car"), criterion ("ce", and "gist" where the data
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
    >>> task_losses(scenes)[["task", "side", "n_all", "n_hard", "loss_hard"]].round(3).values.tolist()[0]
    ['car', 'positive', 2, 1, 0.693]
    """
    scenes = data if isinstance(data, Scenes) else Scenes.of(data, split)
    loss = scenes.loss
    rows = []
    for column, name, criterion, challenge in _challenges(scenes):
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


def _challenges(scenes: Scenes) -> Iterator[tuple[int, str, str, NDArray[np.str_]]]:
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
