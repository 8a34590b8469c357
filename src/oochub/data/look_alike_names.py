"""Names of one column that look alike: "snow", "Snow", "snow ", and letters that Unicode writes in two ways."""

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from oochub.data.user_columns import ClassColumn
from oochub.errors import choose_wording

_SHOWN = 4


def find_look_alikes(names: Sequence[str]) -> list[list[str]]:
    """The names that differ by case, spaces or the form of Unicode alone, together.

    >>> find_look_alikes(["Snow", "grass", "snow", "snow ", "sand  dune", "sand dune"])
    [['Snow', 'snow', 'snow '], ['sand  dune', 'sand dune']]
    """
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_compare(name), []).append(name)
    return [each for each in alike.values() if len(each) > 1]


def _compare(name: str) -> str:
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    return " ".join(folded.split())


def note_look_alikes(column: ClassColumn, role: str) -> list[str]:
    """What a reader must know of names that look alike and are kept apart."""
    alike = find_look_alikes(column.names)
    if not alike:
        return []
    option = choose_wording("merge_names=True", "--merge-names")
    return [f"some names of the {role} look alike and are kept apart: {_list(alike)}; {option} makes one of each"]


def merge_look_alikes(column: ClassColumn, role: str) -> tuple[ClassColumn, list[str]]:
    """A column in which names that look alike are one, the one that most rows have, and a note of that.

    Args:
        column: A column.
        role: What it is: "context".

    >>> column = ClassColumn(codes={"train": np.array([0, 1, 1, 2, -1])}, names=("Snow", "snow", "wet"))
    >>> merged, notes = merge_look_alikes(column, "context")
    >>> merged.names, merged.codes["train"].tolist(), notes
    (('snow', 'wet'), [0, 0, 0, 1, -1], ["names of the context that look alike are one: 'Snow' and 'snow' as 'snow'"])
    """
    alike = find_look_alikes(column.names)
    if not alike or column.numbers is not None:
        return column, []
    every = np.concatenate(list(column.codes.values()))
    counts = np.bincount(every[every >= 0], minlength=len(column.names))
    chosen = {name: name for name in column.names}
    for names in alike:
        best = max(names, key=lambda name: (counts[column.names.index(name)], name == name.strip(), name.islower()))
        chosen |= dict.fromkeys(names, " ".join(unicodedata.normalize("NFC", best).split()))
    merged = tuple(dict.fromkeys(chosen.values()))
    place = np.array([merged.index(chosen[name]) for name in column.names], np.int64)
    codes = {split: np.where(own < 0, own, place[own]) for split, own in column.codes.items()}
    into = [chosen[names[0]] for names in alike]
    return (
        replace(column, codes=codes, names=merged),
        [f"names of the {role} that look alike are one: {_list(alike, into)}"],
    )


def _list(alike: Sequence[Sequence[str]], into: Sequence[str] = ()) -> str:
    said = [" and ".join(ascii(name) for name in names[:_SHOWN]) for names in alike]
    said = [f"{each} as {name!a}" for each, name in zip(said, into, strict=True)] if into else said
    return "; ".join(said[:_SHOWN]) + ("; ..." if len(said) > _SHOWN else "")
