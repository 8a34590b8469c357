"""Whether each row's context is usual for its class: counted or given, then judged by the criterion `mismatch`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import datasets
import numpy as np
from numpy.typing import NDArray

from oochub.data.challenge import challenge
from oochub.data.class_column import ClassColumn
from oochub.data.usual_contexts import usual_contexts
from oochub.errors import unknown_name

_NO_CLASS = -1


@dataclass(frozen=True, kw_only=True)
class JudgedContexts:
    """What is usual, and what follows.

    Attributes:
        usual: Class to its usual contexts, none or more.
        challenge: Of each split, the place of each row's challenge in `oochub.data.challenge.KINDS` (n,).
        notes: What a reader of the report must know of how that came about.
    """

    usual: Mapping[str, tuple[str, ...]]
    challenge: Mapping[str, NDArray[np.int64]]
    notes: tuple[str, ...]


def judged_contexts(
    label: ClassColumn, context: ClassColumn, *, given: Mapping[str, Sequence[str]] | None = None
) -> JudgedContexts:
    """Counts the usual contexts of every class that has none given, and judges every row by them.

    They are counted in the split train where there are others besides, else over all rows, which a note says. A row is
    easy where its context is usual for its class; of two classes the second is the positive.

    Args:
        label: Class of each row.
        context: Context of each row.
        given: Class to its usual contexts; the other classes' are counted.

    Raises:
        OochubError: A class or a context that is given and is not in the data.

    >>> label = ClassColumn(codes={"train": np.array([0, 0, 1])}, names=("cow", "camel"))
    >>> context = ClassColumn(codes={"train": np.array([0, 1, 1])}, names=("grass", "sand"))
    >>> judged_contexts(label, context).usual
    {'cow': ('grass',), 'camel': ('sand',)}
    """
    chosen = _chosen(given or {}, label.names, context.names)
    notes: list[str] = []
    usual = dict(chosen)
    if set(chosen) < set(label.names):
        has_train = "train" in label.codes and len(label.codes) > 1
        counted = ["train"] if has_train else list(label.codes)
        classes, contexts = (np.concatenate([column.codes[split] for split in counted]) for column in (label, context))
        by_count = usual_contexts(classes, contexts, classes=label.names, contexts=context.names)
        usual = {name: chosen.get(name, by_count[name]) for name in label.names}
        if not has_train:
            notes.append(f"usual contexts are counted on all {len(classes):,} rows: there is no training split")
    if chosen:
        rest = "; those of the other classes are counted" if len(chosen) < len(label.names) else ""
        notes.append(f"usual contexts of {_listed(list(chosen))} are given{rest}")
    reasons: dict[str, list[str]] = {}
    for name in (name for name, contexts_of in usual.items() if not contexts_of):
        reasons.setdefault(_why_none(name, label.names, context.names, is_given=name in chosen), []).append(name)
    for why, without in reasons.items():
        rows = "all its rows" if len(without) == 1 else "all their rows"
        notes.append(f"no context is usual for {_listed(without)}, so that {rows} are hard: {why}")
    return JudgedContexts(usual=usual, challenge=_challenge(label, context, usual), notes=tuple(notes))


def _why_none(name: str, classes: Sequence[str], contexts: Sequence[str], *, is_given: bool) -> str:
    """Why no context is usual for a class, and what to do."""
    if is_given:
        return "none is given"
    if len(classes) == 1:
        return "there is only one class"
    example = f"{classes[0]}={contexts[0]}"
    return f"none is more frequent with it than without it. --usual {example} (usual= in Python) names those of a class"


def _chosen(
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


def _challenge(
    label: ClassColumn, context: ClassColumn, usual: Mapping[str, tuple[str, ...]]
) -> dict[str, NDArray[np.int64]]:
    """The challenges by `mismatch`, to which a context is the class that it is usual for: the row's own, or none."""
    is_usual = np.array([[each in usual[name] for each in context.names] for name in label.names], bool)
    features = datasets.Features({"label": datasets.ClassLabel(names=list(label.names)), "context": _number()})
    rows = {}
    for split, classes in label.codes.items():
        fits = is_usual[classes, context.codes[split]]
        columns = {"label": classes, "context": np.where(fits, classes, _NO_CLASS)}
        rows[split] = datasets.Dataset.from_dict(columns, features)
    judged = challenge(datasets.DatasetDict(rows), "mismatch").dataset
    return {split: np.asarray(part["challenge"][:], np.int64) for split, part in judged.items()}


def _number() -> datasets.Value:
    return datasets.Value("int64")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
