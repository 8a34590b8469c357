"""Which contexts are usual for a class of own data, and which rows are therefore easy, hard, or of no side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import datasets
import numpy as np
from numpy.typing import ArrayLike, NDArray

from oochub.data.challenge import challenge
from oochub.data.user_columns import ClassColumn, make_columns
from oochub.errors import unknown_name
from oochub.stats.estimate import Sampling
from oochub.stats.lift import context_signs, lift

_NO_CLASS = _NO_SIDE = -1


@dataclass(frozen=True, kw_only=True)
class JudgedContexts:
    """What is usual, and what follows.

    Attributes:
        usual: Class to its usual contexts, none or more.
        challenge: Place of each row's challenge in `oochub.data.challenge.KINDS` (n,), by split; -1 for a row whose
            context is neither usual nor unusual for its class, and for one without a class.
        notes: What a reader of the report must know of how that came about.
    """

    usual: Mapping[str, tuple[str, ...]]
    challenge: Mapping[str, NDArray[np.int64]]
    notes: tuple[str, ...]


def judge_contexts(
    label: ClassColumn,
    context: ClassColumn,
    *,
    given: Mapping[str, Sequence[str]] | None = None,
    cluster: Mapping[str, NDArray[np.int64]] | None = None,
) -> JudgedContexts:
    """Counts the usual contexts of every class that has none given, and judges every row by them.

    They are counted in the split train where there are others besides, else over all rows, which a note says. A context
    is usual for a class if the interval of its lift lies above 1, and unusual if it lies below; what is given is no
    estimate, so each other context is unusual. A row is easy where its context is usual for its class, hard where it is
    unusual, and else neither; with two classes the second is the positive.

    Args:
        label: Class of each row.
        context: Context of each row.
        given: Class to its usual contexts; the other classes' are counted.
        cluster: What rows share, by split; None if they are independent.

    Raises:
        OochubError: A class or a context that is given and is not in the data.

    >>> label = ClassColumn(codes={"train": np.array([0] * 10 + [1] * 10)}, names=("cow", "camel"))
    >>> context = ClassColumn(codes={"train": np.array([0] * 9 + [1] * 10 + [2])}, names=("grass", "sand", "road"))
    >>> judged = judge_contexts(label, context)
    >>> judged.usual, judged.challenge["train"][[0, 9, 10, 19]].tolist()
    ({'cow': ('grass',), 'camel': ('sand',)}, [0, 2, 0, -1])
    """
    chosen = _choose_usual(given or {}, label.names, context.names)
    roles = np.array(
        [[1 if each in chosen.get(name, ()) else -1 for each in context.names] for name in label.names], np.int8
    ).reshape(len(label.names), len(context.names))
    notes: list[str] = []
    if set(chosen) < set(label.names):
        has_train = "train" in label.codes and len(label.codes) > 1
        counted = ["train"] if has_train else list(label.codes)
        of_label, of_context = (
            np.concatenate([column.codes[split] for split in counted]) for column in (label, context)
        )
        is_known = of_label != _NO_CLASS
        columns = [of_label[is_known], of_context[is_known]]
        shared = None if cluster is None else np.concatenate([cluster[split] for split in counted])[is_known]
        by_count = _estimate_roles(*columns, size=roles.shape, cluster=shared)
        counts = np.array([name not in chosen for name in label.names])
        roles[counts] = by_count[counts]
        if not has_train:
            notes.append(f"usual contexts are counted on all {len(columns[0]):,} rows: there is no training split")
    usual = {
        name: tuple(each for each, role in zip(context.names, of_class, strict=True) if role > 0)
        for name, of_class in zip(label.names, roles.tolist(), strict=True)
    }
    if chosen:
        rest = "; those of the other classes are counted" if len(chosen) < len(label.names) else ""
        notes.append(f"usual contexts of {_list_names(list(chosen))} are given{rest}")
    reasons: dict[tuple[str, bool], list[str]] = {}
    for name in (name for name, contexts_of in usual.items() if not contexts_of):
        is_given = name in chosen
        why = _explain_none_usual(label.names, context.names, is_given=is_given)
        reasons.setdefault((why, is_given), []).append(name)
    for (why, is_given), without in reasons.items():
        rows = f", so that all {'its' if len(without) == 1 else 'their'} rows are hard" if is_given else ""
        notes.append(f"no context is usual for {_list_names(without)}{rows}: {why}")
    return JudgedContexts(usual=usual, challenge=_judge_challenge(label, context, roles), notes=tuple(notes))


def _explain_none_usual(classes: Sequence[str], contexts: Sequence[str], *, is_given: bool) -> str:
    """Why no context is usual for a class, and what to do."""
    if is_given:
        return "none is given"
    if len(classes) == 1:
        return "there is only one class"
    example = f"{classes[0]}={contexts[0]}"
    return (
        "none is clearly more frequent with it than without it. "
        f"--usual {example} (usual= in Python) names those of a class"
    )


def _choose_usual(
    given: Mapping[str, Sequence[str]], classes: Sequence[str], contexts: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    chosen = {
        str(name): (names,) if isinstance(names, str) else tuple(map(str, names)) for name, names in given.items()
    }
    for name, names in chosen.items():
        if name not in classes:
            raise unknown_name("class with usual contexts", name, classes)
        for each in names:
            if each not in contexts:
                raise unknown_name(f"context, usual for {name},", each, contexts)
    return chosen


def _judge_challenge(label: ClassColumn, context: ClassColumn, roles: NDArray[np.int8]) -> dict[str, NDArray[np.int64]]:
    """The challenges by `mismatch`, to which a context is the class that it is usual for: the row's own, or none."""
    features = {"label": datasets.ClassLabel(names=list(label.names)), "context": _number()}
    rows = {}
    role_of = {}
    for split, own in label.codes.items():
        classes = np.maximum(own, 0)  # rows of no class are of no side
        role_of[split] = np.where(own == _NO_CLASS, 0, roles[classes, context.codes[split]])
        columns = {"label": classes, "context": np.where(role_of[split] > 0, classes, _NO_CLASS)}
        rows[split] = make_columns(columns, features)
    judged = challenge(datasets.DatasetDict(rows), "mismatch").dataset
    found = {split: np.asarray(part["challenge"][:], np.int64) for split, part in judged.items()}
    return {split: np.where(role_of[split] == 0, _NO_SIDE, own) for split, own in found.items()}


def _number() -> datasets.Value:
    return datasets.Value("int64")


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _estimate_roles(
    label: ArrayLike, context: ArrayLike, *, size: tuple[int, int], cluster: NDArray[np.int64] | None = None
) -> NDArray[np.int8]:
    """What each context is for each class: 1 usual, -1 unusual, 0 neither, by the interval of its lift.

    If all rows are of one class, every context is neither.

    Args:
        label: Class number of each row (n,).
        context: Context number of each row (n,).
        size: How many classes and contexts there are (c, k).
        cluster: What the rows share (n,); None if they are independent.

    Returns:
        The roles (c, k).

    >>> _estimate_roles([0] * 20 + [1] * 20, [0] * 15 + [1] * 5 + [0] * 5 + [1] * 15, size=(2, 2))
    array([[ 1, -1],
           [-1,  1]], dtype=int8)
    """
    classes, contexts = np.asarray(label, np.int64), np.asarray(context, np.int64)
    together = np.bincount(np.ravel_multi_index((classes, contexts), size), minlength=size[0] * size[1]).reshape(size)
    signs = context_signs(together, together.sum(axis=1))
    if cluster is None:
        return signs
    sampling = Sampling(cluster=cluster)
    for y, k in np.argwhere(signs):  # rows that are alike leave more open, never less
        found = lift(contexts == k, classes == y, sampling)
        signs[y, k] = int(found.low > 1) - int(found.high < 1)
    return signs
