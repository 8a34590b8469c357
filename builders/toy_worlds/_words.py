"""Texts of the toy worlds: a few words that mean something among many that mean nothing, and the words of code."""

from collections.abc import Sequence

import numpy as np

from oochub.metric import TOKEN_KINDS

_FILLERS = (
    "the a this that it was is of and in on for with some day time thing people they we you about from many very when "
    "then there what which who after before over under again still also just even".split()
)
# What readers of CSV files get wrong: missing values that are none, line ends, separators and quotes, other alphabets.
AWKWARD = (
    "NA",
    "nan",
    "",
    'He said "no",\nthen: nothing.',
    "Caf\u00e9 \u5bff\u53f8, \U0001f642; \u0645\u0631\u062d\u0628\u0627\r\n",
    "null",
    " ",
)
CODE_WORDS = {
    "class": [f"Class{number}" for number in range(8)],
    "method": [f"method{number}" for number in range(8)],
    "punctuation": ["=", ".", "(", ")", ":", ",", "\n"],
    "keyword": ["import", "for", "in", "if", "return"],
    "builtin": ["len", "print", "range", "sorted"],
    "literal": [f"'{number}'" for number in range(8)],
    "other_identifier": [f"name{number}" for number in range(10)],
}
_IN_ORDER = [(word, kind) for kind, words in CODE_WORDS.items() for word in words]
TOKENS = {word: 2 + place for place, (word, _) in enumerate(_IN_ORDER)}  # after those of no text and of padding
TOKEN_KINDS_OF = {TOKENS[word]: TOKEN_KINDS.index(kind) for word, kind in _IN_ORDER}
_SPACED = {"=": " = ", ",": ", ", "in": " in "} | {word: f"{word} " for word in ("import", "for", "if", "return")}
VOCABULARY = ("", "", *(_SPACED.get(word, word) for word, _ in _IN_ORDER))
"""How a file writes each token, by its number."""


def write_sentence(rng: np.random.Generator, words: Sequence[str], *, fillers: int = 8) -> str:
    """The words in any order, among others that mean nothing.

    >>> "trash" in write_sentence(np.random.default_rng(0), ["trash"], fillers=2).split()
    True
    """
    every = [*words, *(_FILLERS[number] for number in rng.integers(len(_FILLERS), size=fillers))]
    return " ".join(every[number] for number in rng.permutation(len(every)))
