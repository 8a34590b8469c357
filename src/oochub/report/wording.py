"""The names of a report as a reader sees them: cleaned, cut, and put together into fixed phrases without articles."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from oochub.report.numbers import count

# C0 and C1 controls, bidi controls, line separators and lone surrogates: text that could redraw its surroundings
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_LONGEST_NAME = 120
_LONGEST_WORDS = 40  # class names stand in narrow columns


def clean(text: str) -> str:
    r"""The text with control and bidi characters shown as U+FFFD; line feeds and tabs stay.

    >>> clean("a\u202eb") == "a\ufffdb"
    True
    """
    return _UNSAFE.sub("\ufffd", text)


def name(text: str, limit: int = _LONGEST_NAME) -> str:
    """A name on one line, cleaned, and cut in the middle to at most `limit` characters.

    >>> name("abcdefghij", limit=5)
    'ab…ij'
    """
    line = clean(re.sub(r"[\n\t]", "\ufffd", str(text)))
    if len(line) <= limit:
        return line
    return f"{line[: limit // 2]}…{line[len(line) - (limit - 1 - limit // 2) :]}"


def words(text: str) -> str:
    """A class or context name in print: cleaned, underscores as spaces, at most 40 characters.

    >>> words("dining_table")
    'dining table'
    """
    return name(text, _LONGEST_WORDS).replace("_", " ")


def listed(items: Sequence[str], last: str = "and") -> str:
    """Items as a phrase.

    >>> listed(["a", "b", "c"]), listed(["a", "b"], "or")
    ('a, b and c', 'a or b')
    """
    return f" {last} ".join(([", ".join(items[:-1])] if items[:-1] else []) + list(items[-1:]))


def metric_title(report: Mapping[str, Any], metric: str) -> str:
    """The printed name of a metric of the report.

    >>> metric_title({"metrics": {"auc": {"title": "AUC"}}}, "auc")
    'AUC'
    """
    return name(report["metrics"][metric]["title"])


def in_sentence(title: str) -> str:
    """A title inside a sentence: its first letter small, unless the word is an abbreviation.

    >>> in_sentence("Accuracy"), in_sentence("AUC on hard")
    ('accuracy', 'AUC on hard')
    """
    return title[:1].lower() + title[1:] if title[1:2].islower() else title


def group_words(report: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """A group in words: "car without road" where the benchmark has an object, else "labrador on desert".

    >>> benchmark = {"object": "car", "contexts": ["road"], "context_column": "context_area"}
    >>> row = {"group": "car/no_road", "label": "car", "context": "no_road", "role": "out"}
    >>> group_words({"benchmark": benchmark}, row)
    'car without road'
    """
    benchmark = report["benchmark"]
    if benchmark["object"] is not None and benchmark["contexts"] and row["role"] is not None:
        return pairing(benchmark, present=row["label"] == benchmark["object"], role=row["role"])
    if not row.get("context"):
        return words(row["group"])
    between = " on " if benchmark["context_column"] == "background" else ", "
    return f"{words(row['label'])}{between}{words(row['context'])}"


def pairing(benchmark: Mapping[str, Any], *, present: bool, role: str) -> str:
    """One of the four pairings of an object with its context, in words.

    Args:
        benchmark: The benchmark part of a report, with its object and contexts.
        present: Whether the object is in the picture.
        role: "in" where object and context agree, "out" where one stands without the other.

    >>> pairing({"object": "cup", "contexts": ["dining_table", "person"]}, present=False, role="out")
    'dining table or person without cup'
    """
    thing = words(benchmark["object"])
    context = listed([words(context) for context in benchmark["contexts"]], "or")
    if role == "in":
        return f"{thing} with {context}" if present else f"neither {thing} nor {context}"
    return f"{thing} without {context}" if present else f"{context} without {thing}"


def slice_words(report: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    """A slice in words.

    >>> slice_words({"benchmark": {"object": None, "contexts": []}}, {"role": "in", "title": "Validation"})
    'In context'
    """
    benchmark, role = report["benchmark"], part["role"]
    fixed = {"all": "All examples", "in": "In context", "out": "Out of context"}
    if role in fixed:
        return fixed[role]
    if role in ("hard_positive", "hard_negative") and benchmark["object"] is not None and benchmark["contexts"]:
        pair = pairing(benchmark, present=role == "hard_positive", role="out")
        return f"{pair} ({role.replace('_', ' ')}s)"
    return name(part["title"])


def find_slice(report: Mapping[str, Any], role: str) -> Mapping[str, Any] | None:
    """The slice with the role, None where the report has none.

    >>> find_slice({"slices": [{"role": "in", "n": 3}]}, "in")
    {'role': 'in', 'n': 3}
    """
    return next((part for part in report["slices"] if part["role"] == role), None)


def out_count(report: Mapping[str, Any]) -> str:
    """How many examples are out of context: positives + negatives where the hard slices say so.

    >>> out_count({"gap": {"n_out": 7}, "slices": []})
    '7'
    """
    halves = [find_slice(report, role) for role in ("hard_positive", "hard_negative")]
    if all(half is not None for half in halves):
        return " + ".join(count(half["n"]) for half in halves if half is not None)
    return count(report["gap"]["n_out"])
