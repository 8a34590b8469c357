"""What a report says of its detectors in words: closed templates, and nothing that the paired tests do not carry.

The questions are those of ImageNet-OOD, Section 4.3: which detector finds new classes best, and does any find failures
better than MSP.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from oochub.report import numbers, wording
from oochub.stats.holm import holm

NEW_CLASS, FAILURE = "auroc_new_class", "auroc_failure"
_BASELINE = "msp"
_LEVEL = 0.05
_LISTED = 4  # names in one sentence

Row = Mapping[str, Any]


class Pair(NamedTuple):
    """The rows of a report's `detection` or `probes` that are of one pair of sets."""

    id_set: str
    ood_set: str
    rows: Sequence[Row]


def pairs(rows: Sequence[Row] | None) -> list[Pair]:
    """The rows by pair, pairs in order of appearance, detectors by their new-class AUROC, best first, n/a last.

    >>> row = {"detector": "msp", "id_set": "a", "ood_set": "b", "metrics": {"auroc_new_class": {"value": 0.8}}}
    >>> [(one.id_set, one.ood_set, len(one.rows)) for one in pairs([row, row | {"detector": "vim"}])]
    [('a', 'b', 2)]
    """
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows or ():
        found.setdefault((row["id_set"], row["ood_set"]), []).append(row)
    return [Pair(*key, sorted(several, key=_order)) for key, several in found.items()]


def new_class_words(rows: Sequence[Row]) -> str:
    """Which detector finds new classes best: it leads only if the test against each other one says so (Bonferroni).

    Bonferroni, and not Holm, since the leader is chosen by the same data.

    Args:
        rows: Of one pair.

    >>> value = lambda v: {"auroc_new_class": {"value": v, "reason": "one class only"}}
    >>> new_class_words([{"detector": "msp", "metrics": value(0.8)}])
    'New classes: msp has AUROC 80.0.'
    >>> against = {"auroc_new_class": {"value": -0.1, "p_value": 0.2, "other": "vim"}}
    >>> new_class_words([{"detector": "vim", "metrics": value(0.9), "against_best": {}},
    ...                  {"detector": "msp", "metrics": value(0.8), "against_best": against}])
    'New classes: vim has the highest AUROC, 90.0, but no difference from msp is shown.'
    """
    known = [row for row in rows if not numbers.is_undefined(row["metrics"][NEW_CLASS]["value"])]
    if not known:
        return f"New classes: n/a, {wording.name(rows[0]['metrics'][NEW_CLASS]['reason'] or 'no value')}."
    best = max(known, key=lambda row: row["metrics"][NEW_CLASS]["value"])
    value, name = numbers.fraction(best["metrics"][NEW_CLASS]["value"]), _name(best)
    if len(known) == 1:
        return f"New classes: {name} has AUROC {value}."
    others = [row for row in known if row is not best]
    tests = [(row, (row.get("against_best") or {}).get(NEW_CLASS)) for row in others]
    if any(test is None for _, test in tests):
        return f"New classes: {name} has the highest AUROC, {value}; the differences were not tested."
    open_ = [row for row, test in tests if not _is_below(test, _LEVEL / len(others))]
    if not open_:
        return f"New classes: {name} leads with AUROC {value}, above every other detector."
    return f"New classes: {name} has the highest AUROC, {value}, but no difference from {_names(open_, 'or')} is shown."


def failure_words(rows: Sequence[Row]) -> str:
    """Whether any detector finds failures better than MSP (Holm over the detectors); "" where MSP is alone or absent.

    Args:
        rows: Of one pair.

    >>> test = {"auroc_failure": {"value": -0.05, "p_value": 0.001, "other": "msp"}}
    >>> failure_words([{"detector": "msp"}, {"detector": "vim", "against_msp": test}])
    'Failures: msp is shown to be better than vim.'
    """
    compared = [(row, (row.get("against_msp") or {}).get(FAILURE)) for row in rows if row["detector"] != _BASELINE]
    tests = [(row, test) for row, test in compared if test and not numbers.is_undefined(test["value"])]
    if not tests:
        return ""
    clear = holm([test["p_value"] for _, test in tests], level=_LEVEL)
    shown = [(row, test["value"] > 0) for (row, test), is_clear in zip(tests, clear, strict=True) if is_clear]
    better, worse = ([row for row, above in shown if above is side] for side in (True, False))
    if better:
        also = f"; {_names(worse)} {_is(worse)} worse" if worse else ""
        return f"Failures: {_names(better)} {'beat' if len(better) > 1 else 'beats'} msp{also}."
    if len(worse) == len(tests):
        every = "every other detector" if len(worse) > 1 else _names(worse)
        return f"Failures: msp is shown to be better than {every}."
    if worse:
        return f"Failures: no detector is shown to beat msp; {_names(worse)} {_is(worse)} worse."
    return "Failures: no difference from msp is shown."


def findings(rows: Sequence[Row]) -> list[str]:
    """Both sentences of a pair; that on failures only where there is one."""
    return [one for one in (new_class_words(rows), failure_words(rows)) if one]


def among_the_best(rows: Sequence[Row], goal: str) -> set[str]:
    """The detectors that print in bold: the best of a goal, and those that are not shown to be below it (Bonferroni).

    >>> test = {"auroc_failure": {"value": -0.05, "p_value": 0.2, "other": "msp"}}
    >>> rows = [{"detector": "msp", "metrics": {"auroc_failure": {"value": 0.85}}},
    ...         {"detector": "vim", "metrics": {"auroc_failure": {"value": 0.8}}, "against_best": test}]
    >>> sorted(among_the_best(rows, "auroc_failure"))
    ['msp', 'vim']
    """
    known = [row for row in rows if not numbers.is_undefined(row["metrics"][goal]["value"])]
    if not known:
        return set()
    highest = max(row["metrics"][goal]["value"] for row in known)
    tests = [(row, (row.get("against_best") or {}).get(goal)) for row in known]
    level = _LEVEL / max(len(known) - 1, 1)
    together = {row["detector"] for row, test in tests if test and not _is_below(test, level)}
    return together | {row["detector"] for row in known if row["metrics"][goal]["value"] == highest}


def counts_words(rows: Sequence[Row]) -> str:
    """How many rows stand behind a pair, and what an answer may be.

    >>> counts_words([{"n_id": 300, "n_incorrect": 84, "n_ood": 200, "classes": {"rule": "present", "n": 20}}])
    '300 in distribution, 84 of them answered wrong; 200 out of it. An answer is one of the 20 classes present.'
    """
    row = rows[0]
    rule = row.get("classes") or {"rule": "all"}
    present = f" An answer is one of the {numbers.count(rule['n'])} classes present." if rule["rule"] != "all" else ""
    wrong = f"{numbers.count(row['n_incorrect'])} of them answered wrong"
    return f"{numbers.count(row['n_id'])} in distribution, {wrong}; {numbers.count(row['n_ood'])} out of it.{present}"


def probe_words(rows: Sequence[Row]) -> str:
    """Which detectors a zoom that changes no answer moves further down than MSP, by the interval of the difference.

    Args:
        rows: Of one pair, of the field `probes`.

    >>> row = {"factor": 1.2, "detector": "vim", "ood_set": "o", "n_correct": 90, "n_kept": 80}
    >>> probe_words([row | {"beyond_msp": {"value": -0.2, "low": -0.3, "high": -0.1}}])
    'After a zoom of 1.2, 80 of 90 right answers stay as they were; among the scores of o vim falls further than msp.'
    """
    first, kept = rows[0], f"{numbers.count(rows[0]['n_kept'])} of {numbers.count(rows[0]['n_correct'])}"
    factor = "" if first["factor"] is None else f" of {float(first['factor']):g}"
    start = f"After a zoom{factor}, {kept} right answers stay as they were"
    tests = [row for row in rows if row["beyond_msp"] is not None]
    if not tests or all(numbers.is_undefined(row["beyond_msp"]["high"]) for row in tests):
        return f"{start}."
    falls = [r for r in tests if not numbers.is_undefined(r["beyond_msp"]["high"]) and r["beyond_msp"]["high"] < 0]
    among = f"among the scores of {wording.name(first['ood_set'], 60)}"
    if falls:
        return f"{start}; {among} {_names(falls)} {'fall' if len(falls) > 1 else 'falls'} further than msp."
    return f"{start}; {among} no detector is shown to fall further than msp."


def _is_below(test: Mapping[str, Any] | None, level: float) -> bool:
    if test is None or numbers.is_undefined(test["p_value"]):
        return False
    return bool(test["value"] < 0 and test["p_value"] <= level)


def _order(row: Row) -> tuple[bool, float]:
    value = row.get("metrics", {}).get(NEW_CLASS, {"value": 0.0})["value"]
    return numbers.is_undefined(value), -(value or 0.0)


def _name(row: Row) -> str:
    return wording.name(row["detector"], 60)


def _names(rows: Sequence[Row], last: str = "and") -> str:
    shown = [_name(row) for row in rows[:_LISTED]]
    if len(rows) > _LISTED:
        shown = [*shown[: _LISTED - 1], f"{len(rows) - _LISTED + 1} others"]
    return wording.listed(shown, last)


def _is(rows: Sequence[Row]) -> str:
    return "are" if len(rows) > 1 else "is"
