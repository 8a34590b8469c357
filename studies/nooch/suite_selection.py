"""Which tasks make a suite: those whose hard examples are the hardest, with enough of them and none alike."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from oochub.errors import OochubError, unknown_name

SIMILAR = (("sheep", "cow"), ("handbag", "backpack"), ("bottle", "cup"), ("wine_glass", "cup"))
"""The similar tasks of the paper: in each pair it kept the second, whose gap was larger (Appendix B.3)."""


def suite_selection(
    losses: pd.DataFrame | Sequence[pd.DataFrame],
    *,
    size: int = 12,
    minimum: int = 50,
    similar: Sequence[tuple[str, str]] = SIMILAR,
) -> pd.DataFrame:
    """Ranks tasks by how much larger the mean loss on hard examples is than on all, and says what removed each.

    The gap is that of the co-occurrence criterion, hard positives and hard negatives together. From the largest gap
    down a task is taken unless it has too few hard examples, or is similar to one that was taken.

    Args:
        losses: What `measure_task_losses` gives for one model, or for several (seeds): their gaps are averaged.
        size: Tasks of the suite.
        minimum: Hard positives, and hard negatives, that a task must have in the split.
        similar: Pairs of similar tasks; of each at most one is taken, that with the larger gap.

    Returns:
        One row per task, the largest gap first: rank (1 is the first), task, gap, loss_all, loss_hard in nats,
        n_hard_positive, n_hard_negative, selected, and removed_by: "fewer than 50 hard positives", "similar to cow",
        "beyond the first 12", "no hard example", or "".

    Raises:
        OochubError: Losses without the co-occurrence criterion, a size or minimum that is not positive, or models that
            were measured on different examples.

    Source: Madras and Zemel, NOOCH, Section 3.3 and Appendix B.3.

    >>> row = {"criterion": "ce", "n_all": 500, "loss_all": 0.1}
    >>> losses = pd.DataFrame([
    ...     {**row, "task": task, "side": side, "n_hard": n, "loss_hard": loss}
    ...     for task, n, loss in (("cow", 60, 0.9), ("sheep", 60, 0.8), ("kite", 20, 0.7), ("car", 90, 0.6))
    ...     for side in ("positive", "negative", "all")
    ... ])
    >>> suite_selection(losses, size=1)[["task", "selected", "removed_by"]].values.tolist()[:3]
    [['cow', True, ''], ['sheep', False, 'similar to cow'], ['kite', False, 'fewer than 50 hard positives']]
    """
    if size < 1 or minimum < 0:
        raise OochubError(f"size must be at least 1 and minimum at least 0, got {size} and {minimum}.")
    ranking = _rank_models([losses] if isinstance(losses, pd.DataFrame) else list(losses))
    tasks_of_ranking = set(ranking["task"])
    for name in (name for pair in similar for name in pair if similar is not SIMILAR):
        if name not in tasks_of_ranking:
            raise unknown_name("task with a context", name, tasks_of_ranking)
    alike: dict[str, set[str]] = {}
    for first, other in similar:
        alike.setdefault(first, set()).add(other)
        alike.setdefault(other, set()).add(first)
    taken: list[str] = []
    reasons = []
    for row in ranking.to_dict("records"):
        task = str(row["task"])
        reason = _explain_too_few(row, minimum)
        near = next((name for name in taken if name in alike.get(task, ())), None)
        if not reason and near:
            reason = f"similar to {near}"
        if not reason:
            taken.append(task)
            reason = f"beyond the first {size}" if len(taken) > size else ""
        reasons.append(reason)
    return ranking.assign(selected=[not reason for reason in reasons], removed_by=reasons)


def _explain_too_few(row: Mapping[Any, Any], minimum: int) -> str:
    if row["gap"] != row["gap"]:
        return "no hard example"
    for side in ("positive", "negative"):
        if row[f"n_hard_{side}"] < minimum:
            return f"fewer than {minimum} hard {side}s"
    return ""


def _rank_models(models: Sequence[pd.DataFrame]) -> pd.DataFrame:
    of_all = [table[(table["criterion"] == "ce") & (table["side"] == "all")].set_index("task") for table in models]
    if not models or not all(len(table) for table in of_all):
        raise OochubError("The losses hold no task by the co-occurrence criterion. Make them with measure_task_losses.")
    first = of_all[0]
    for other in of_all[1:]:
        if not first[["n_all", "n_hard"]].equals(other[["n_all", "n_hard"]]):
            raise OochubError(
                "These models were measured on different examples. Predict the same split of the same data with each."
            )
    counts = {
        f"n_hard_{side}": models[0][(models[0]["criterion"] == "ce") & (models[0]["side"] == side)].set_index("task")[
            "n_hard"
        ]
        for side in ("positive", "negative")
    }
    means = sum((table[["loss_all", "loss_hard"]] for table in of_all[1:]), first[["loss_all", "loss_hard"]]) / len(
        of_all
    )
    table = means.assign(gap=means["loss_hard"] - means["loss_all"], **counts)
    table = table.sort_values("gap", ascending=False, kind="stable", na_position="last").reset_index()
    table.insert(0, "rank", range(1, len(table) + 1))
    return table[["rank", "task", "gap", "loss_all", "loss_hard", "n_hard_positive", "n_hard_negative"]]
