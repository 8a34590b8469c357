"""The detectors of a report as tables of text: what the terminal and Markdown print, and the rows of a data frame."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from oochub.report import detector_words as said
from oochub.report import numbers, wording

_COLUMNS = {
    "auroc_new_class": "New classes ↑",
    "auroc_failure": "Failures ↑",
    "fpr_at_tpr_id": "FPR@95 ↓",
    "correct_discarded": "Discarded ↓",
}
_PROBE = {"before": "Before", "after": "After", "change": "Change", "beyond_msp": "Beyond msp"}
_SIGNED = ("change", "beyond_msp")


class Block(NamedTuple):
    """One table: `title`, sentences about it, and its cells, each a value and, after a line feed, its interval."""

    title: str
    sentences: Sequence[str]
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def detection_blocks(report: Mapping[str, Any]) -> list[Block]:
    """A block for each pair of sets, then one for each probe of a pair; none for a report without detectors.

    Args:
        report: A report of schema version 1.

    >>> detection_blocks({})
    []
    """
    found = []
    for pair in said.pairs(report.get("detection")):
        cells = [[_name(row), *(_cell(row["metrics"].get(key)) for key in _COLUMNS)] for row in pair.rows]
        sentences = [*said.findings(pair.rows), said.counts_words(pair.rows)]
        found.append(Block(_title(pair), sentences, ["Detector", *_COLUMNS.values()], cells))
    for pair in said.pairs(report.get("probes")):
        shown = [key for key in _PROBE if any(row[key] is not None for row in pair.rows)]
        cells = [[_name(row), *(_cell(row[key], signed=key in _SIGNED) for key in shown)] for row in pair.rows]
        heads = ["Detector", *(_PROBE[key] for key in shown)]
        found.append(Block(f"Zoom, {_title(pair)}", [said.probe_words(pair.rows)], heads, cells))
    return found


def legend(report: Mapping[str, Any]) -> str:
    """What the columns of these tables are; "" for a report without detectors."""
    if not report.get("detection"):
        return ""
    lines = [
        "New classes and failures: AUROC × 100.",
        "FPR@95 %: out of distribution kept with 95% of what is in it.",
        "Discarded %: right answers that go with 75% of what is out of distribution.",
    ]
    if report.get("probes"):
        lines.append("Before, after: mean share, in %, of the scores out of distribution below the pictures'.")
    return " ".join(lines)


def detection_estimates(report: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """(slice, metric, estimate) of every number of the detectors and probes, for a data frame."""
    for row in report.get("detection") or ():
        for metric, one in row["metrics"].items():
            yield f"detection {row['id_set']} / {row['ood_set']}", f"{row['detector']}/{metric}", one
    for row in report.get("probes") or ():
        for key in _PROBE:
            if row[key] is not None:
                yield f"{row['probe']} {row['id_set']} / {row['ood_set']}", f"{row['detector']}/{key}", row[key]


def _title(pair: said.Pair) -> str:
    return f"{wording.name(pair.id_set, 60)} / {wording.name(pair.ood_set, 60)}"


def _name(row: Mapping[str, Any]) -> str:
    return wording.name(row["detector"], 60)


def _cell(estimate: Mapping[str, Any] | None, *, signed: bool = False) -> str:
    if estimate is None:
        return numbers.ABSENT
    value, interval = (numbers.points, numbers.interval_points) if signed else (numbers.fraction, numbers.interval)
    return f"{value(estimate['value'])}\n{interval(estimate) or wording.name(estimate['reason'] or 'no interval')}"
