"""The words of the toy of Py150, their numbers, their kinds and how a file writes them."""

from oochub.metric import TOKEN_KINDS

WORDS = {
    "class": [f"Class{number}" for number in range(8)],
    "method": [f"method{number}" for number in range(8)],
    "punctuation": ["=", ".", "(", ")", ":", ",", "\n"],
    "keyword": ["import", "for", "in", "if", "return"],
    "builtin": ["len", "print", "range", "sorted"],
    "literal": [f"'{number}'" for number in range(8)],
    "other_identifier": [f"name{number}" for number in range(10)],
}
_IN_ORDER = [(word, kind) for kind, words in WORDS.items() for word in words]
NUMBERS = {word: 2 + place for place, (word, _) in enumerate(_IN_ORDER)}  # after those of no text and of padding
KINDS = {NUMBERS[word]: TOKEN_KINDS.index(kind) for word, kind in _IN_ORDER}
_SPACED = {"=": " = ", ",": ", ", "in": " in "} | {word: f"{word} " for word in ("import", "for", "if", "return")}
VOCABULARY = ("", "", *(_SPACED.get(word, word) for word, _ in _IN_ORDER))
