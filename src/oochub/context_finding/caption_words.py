"""The words of captions that go with a class."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.stats.lift import context_signs

_WORD = re.compile(r"[^\W\d_]+")
_CLOSED = frozenset(
    "a about above across after against all along also alongside am among an and another any are around as at away "
    "back be because been before behind being below beneath beside besides between beyond both but by can close "
    "containing could day displayed doing down each eight either every few five for four from front full get gets "
    "getting going had has have having he her here hers him his how in inside into is it its itself just large like "
    "lot lots many may more most near nearby next nine no nor not of off on one onto or other others our out outside "
    "over own part past per piece really several seven she showing shown shows side sides six small so some "
    "something ten than that the their them then there these they thing things this those three through to together "
    "too top towards toward two under underneath up upon using various very was we were what when where which while "
    "who whose with within without you your "
    "background foreground image images middle photo photograph photos pic picture pictured pictures scene seen view"
    .split()
)  # fmt: skip


_PLURALS = ("s", "es")


class FoundWords(NamedTuple):
    """The words (k,), and whether each row has each (n, k)."""

    words: tuple[str, ...]
    has: NDArray[np.bool_]


def caption_words(
    captions: Sequence[Sequence[str]],
    *,
    label: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    besides: Iterable[str] = (),
    least: int = 1,
    fewest: int = 20,
    most: int = 20,
) -> FoundWords:
    """The words that captions say more or less often with a class than without it.

    A plural is its singular, where the rows to choose on have that. Left out are words of English that name nothing
    (articles, prepositions, pronouns, numbers, "several", "front"), words of captions themselves ("photo",
    "background") and single letters.

    Args:
        captions: Of each of n pictures.
        label: Class number of each (n,), -1 where there is none. With fewer than two classes frequent words are taken.
        chosen: Rows that may be looked at to choose (n,).
        besides: Words, or names of several words, that are left out, such as those of the classes.
        least: In how many captions of a picture a word must stand for the picture to have it.
        fewest: In so many of the rows to choose on, or more, it is there, and in so many it is not.
        most: Words that are kept: those whose share differs most between a class and the other rows, or the frequent.

    >>> captions = [["A cow on grass"], ["Cows and grass"], ["A cow, grass"], ["A dog in snow"], ["dog, snow"]] * 4
    >>> every = np.ones(20, bool)
    >>> caption_words(captions, label=np.tile([0, 0, 0, 1, 1], 4), chosen=every, besides=["cow", "dog"], fewest=5).words
    ('grass', 'snow')
    """
    rows = [_words(row, least) for row in captions]
    ours = np.flatnonzero(chosen).tolist()
    known = frozenset[str]().union(*(rows[row] for row in ours))
    singular = {f"{word}{end}": word for end in _PLURALS for word in known}
    named = {word for name in besides for word in _WORD.findall(name.casefold())}
    named |= {f"{word}{end}" for word in named for end in _PLURALS}
    counts = {number: Counter[str]() for number in np.unique(label[chosen]).tolist()}
    for row in ours:
        counts[int(label[row])].update(_folded(rows[row], singular))
    total = sum(counts.values(), Counter[str]())
    words = sorted(
        (word for word, n in total.items() if fewest <= n <= len(ours) - fewest and word not in named),
        key=lambda word: (-total[word], word),
    )
    classes = [number for number in counts if number >= 0]
    if len(classes) > 1:
        having = np.array([[counts[number][word] for word in words] for number in classes], np.int64)
        words = _strongest(words, having, np.array([int((label[chosen] == number).sum()) for number in classes]))
    words = words[:most]
    has = np.zeros((len(rows), len(words)), bool)
    for row, own in enumerate(rows):
        folded = _folded(own, singular)
        has[row] = [word in folded for word in words]
    return FoundWords(tuple(words), has)


def _words(captions: Sequence[str], least: int) -> frozenset[str]:
    counts = Counter(word for caption in captions for word in set(_WORD.findall(caption.casefold())))
    return frozenset(word for word, n in counts.items() if n >= least and len(word) > 1 and word not in _CLOSED)


def _folded(words: Iterable[str], singular: dict[str, str]) -> set[str]:
    return {singular.get(word, word) for word in words}


def _strongest(words: Sequence[str], having: NDArray[np.int64], rows: NDArray[np.int64]) -> list[str]:
    """Those that go with a class, the strongest first; of each class `rows` many, of which `having` (k, words) do."""
    goes_with = (context_signs(having, rows) != 0).any(0)
    others = (having.sum(0) - having) / (rows.sum() - rows)[:, None]
    strength = abs(having / rows[:, None] - others).max(0)
    return [words[at] for at in np.argsort(-strength, kind="stable") if goes_with[at]]
