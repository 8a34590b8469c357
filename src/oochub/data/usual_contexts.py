"""Which contexts are usual for a class, counted or given, and the challenge of each row that follows.

A context is usual for a class if it is more frequent with the class than without it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import datasets
import numpy as np
from numpy.typing import ArrayLike, NDArray

from oochub.data.challenge import challenge
from oochub.data.user_columns import ClassColumn, make_columns
from oochub.errors import unknown_name

_NO_CLASS = -1


@dataclass(frozen=True, kw_only=True)
class JudgedContexts:
    """What is usual, and what follows.

    Attributes:
        usual: Class to its usual contexts, none or more.
        challenge: Place of each row's challenge in `oochub.data.challenge.KINDS` (n,), by split.
        notes: What a reader of the report must know of how that came about.
    """

    usual: Mapping[str, tuple[str, ...]]
    challenge: Mapping[str, NDArray[np.int64]]
    notes: tuple[str, ...]


def judge_contexts(
    label: ClassColumn, context: ClassColumn, *, given: Mapping[str, Sequence[str]] | None = None
) -> JudgedContexts:
    """Counts the usual contexts of every class that has none given, and judges every row by them.

    They are counted in the split train where there are others besides, else over all rows, which a note says. A row is
    easy where its context is usual for its class; with two classes the second is the positive.

    Args:
        label: Class of each row.
        context: Context of each row.
        given: Class to its usual contexts; the other classes' are counted.

    Raises:
        OochubError: A class or a context that is given and is not in the data.

    >>> label = ClassColumn(codes={"train": np.array([0, 0, 1])}, names=("cow", "camel"))
    >>> context = ClassColumn(codes={"train": np.array([0, 1, 1])}, names=("grass", "sand"))
    >>> judge_contexts(label, context).usual
    {'cow': ('grass',), 'camel': ('sand',)}
    """
    chosen = _choose_usual(given or {}, label.names, context.names)
    notes: list[str] = []
    usual = dict(chosen)
    if set(chosen) < set(label.names):
        has_train = "train" in label.codes and len(label.codes) > 1
        counted = ["train"] if has_train else list(label.codes)
        classes, contexts = (np.concatenate([column.codes[split] for split in counted]) for column in (label, context))
        classes, contexts = classes[classes >= 0], contexts[classes >= 0]
        by_count = _count_usual_contexts(classes, contexts, classes=label.names, contexts=context.names)
        usual = {name: chosen.get(name, by_count[name]) for name in label.names}
        if not has_train:
            notes.append(f"usual contexts are counted on all {len(classes):,} rows: there is no training split")
    if chosen:
        rest = "; those of the other classes are counted" if len(chosen) < len(label.names) else ""
        notes.append(f"usual contexts of {_list_names(list(chosen))} are given{rest}")
    reasons: dict[str, list[str]] = {}
    for name in (name for name, contexts_of in usual.items() if not contexts_of):
        reasons.setdefault(_explain_none_usual(name, label.names, context.names, is_given=name in chosen), []).append(
            name
        )
    for why, without in reasons.items():
        rows = "all its rows" if len(without) == 1 else "all their rows"
        notes.append(f"no context is usual for {_list_names(without)}, so that {rows} are hard: {why}")
    return JudgedContexts(usual=usual, challenge=_judge_challenge(label, context, usual), notes=tuple(notes))


def _explain_none_usual(name: str, classes: Sequence[str], contexts: Sequence[str], *, is_given: bool) -> str:
    """Why no context is usual for a class, and what to do."""
    if is_given:
        return "none is given"
    if len(classes) == 1:
        return "there is only one class"
    example = f"{classes[0]}={contexts[0]}"
    return f"none is more frequent with it than without it. --usual {example} (usual= in Python) names those of a class"


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


def _judge_challenge(
    label: ClassColumn, context: ClassColumn, usual: Mapping[str, tuple[str, ...]]
) -> dict[str, NDArray[np.int64]]:
    """The challenges by `mismatch`, to which a context is the class that it is usual for: the row's own, or none."""
    is_usual = np.array([[each in usual[name] for each in context.names] for name in label.names], bool)
    features = {"label": datasets.ClassLabel(names=list(label.names)), "context": _number()}
    rows = {}
    for split, classes in label.codes.items():
        some = np.maximum(classes, 0)  # rows of no class are taken out again
        fits = is_usual[some, context.codes[split]]
        columns = {"label": some, "context": np.where(fits, some, _NO_CLASS)}
        rows[split] = make_columns(columns, features)
    judged = challenge(datasets.DatasetDict(rows), "mismatch").dataset
    found = {split: np.asarray(part["challenge"][:], np.int64) for split, part in judged.items()}
    return {split: np.where(label.codes[split] < 0, _NO_CLASS, own) for split, own in found.items()}


def _number() -> datasets.Value:
    return datasets.Value("int64")


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _count_usual_contexts(
    label: ArrayLike, context: ArrayLike, *, classes: Sequence[str], contexts: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Class to its usual contexts: P(context | class) > P(context | not class), counted over the given rows.

    The comparison is of whole numbers, so that equal frequencies are never usual by rounding. A context that no row
    has is usual for none, and where all rows are of one class, none is.

    Args:
        label: Class number of each row (n,).
        context: Context number of each row (n,).
        classes: Names of the classes.
        contexts: Names of the contexts.

    Returns:
        Every class, its contexts in the order of `contexts`; empty where none is usual.

    >>> _count_usual_contexts([0, 0, 1, 1], [0, 1, 1, 1], classes=["cow", "camel"], contexts=["grass", "sand"])
    {'cow': ('grass',), 'camel': ('sand',)}
    """
    size = (len(classes), len(contexts))
    flat = np.ravel_multi_index((np.asarray(label, np.int64), np.asarray(context, np.int64)), size)
    together = np.bincount(flat, minlength=size[0] * size[1]).reshape(size)
    of_class, of_context = together.sum(axis=1, keepdims=True), together.sum(axis=0, keepdims=True)
    rows = int(together.sum())
    is_usual = together * (rows - of_class) > (of_context - together) * of_class
    return {
        name: tuple(contexts[place] for place in np.flatnonzero(row).tolist())
        for name, row in zip(classes, is_usual, strict=True)
    }
