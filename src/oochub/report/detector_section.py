"""The section of the page on detectors: both goals of each on one axis, and what a zoom does to their ranks."""

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from markupsafe import Markup

from oochub.records.finding_records import DetectionRow, ProbeRow
from oochub.report import detector_words, numbers, svg, theme, wording
from oochub.report.detector_words import PairRows, goal_estimate
from oochub.report.svg import Scale
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.report.report import Report

_ROWS, _PROBE_ROWS = 80, 40  # of one page, about 1.4 and 1 kB each; the rest is in report.json
_GOALS = tuple(theme.GOALS)
_SHAPES = {
    "auroc_new_class": Markup('<path d="M-4.5-4.5h9v9h-9z"/>'),
    "auroc_failure": Markup('<path d="M0-5.5 5.2 4.5-5.2 4.5z"/>'),
}
_Pairs = TypeVar("_Pairs", PairRows[DetectionRow], PairRows[ProbeRow])


def detection_section(report: "Report") -> dict[str, Any] | None:
    """What the template prints of the fields `detection` and `probes`; None for a report without them."""
    pairs, probed = detector_words.detection_pairs(report), detector_words.probe_pairs(report)
    if not pairs:
        return None
    scale = _scale([goal_estimate(row, goal) for pair in pairs for row in pair.rows for goal in _GOALS])
    shown, shown_probes = _first(pairs, _ROWS), _first(probed, _PROBE_ROWS)
    return {
        "pairs": [_pair(pair, scale) for pair in shown],
        "left_out": len(pairs) - len(shown),
        "axis": _axis(scale),
        "marks": [(_icon(goal), theme.GOAL_WORDS[goal]) for goal in _GOALS],
        "probes": [_probe(pair) for pair in shown_probes],
        "probes_left_out": len(probed) - len(shown_probes),
    }


def _first(pairs: Sequence[_Pairs], most: int) -> Sequence[_Pairs]:
    """The first pairs whose rows are at most so many together, and one in any case."""
    ends = itertools.accumulate(len(pair.rows) for pair in pairs)
    return pairs[: max(1, sum(end <= most for end in ends))]


def _pair(pair: PairRows[DetectionRow], scale: Scale) -> dict[str, Any]:
    bold = {goal: detector_words.among_the_best(pair.rows, goal) for goal in _GOALS}
    return {
        "title": pair.title(" against "),
        "findings": [sentence.partition(": ")[::2] for sentence in detector_words.findings(pair.rows)],
        "counts": detector_words.counts_words(pair.rows),
        "rows": [
            {
                "name": wording.name(row.detector, 60),
                "chart": _dots(row, scale),
                "goals": [(goal_estimate(row, goal), row.detector in bold[goal], goal) for goal in _GOALS],
                "fpr": row.metrics.get("fpr_at_tpr_id"),
                "discarded": row.metrics.get("correct_discarded"),
            }
            for row in pair.rows
        ],
    }


def _probe(pair: PairRows[ProbeRow]) -> dict[str, Any]:
    rows = sorted(pair.rows, key=lambda row: 2.0 if numbers.is_undefined(row.change) else row.change)
    scale = _scale([row.change for row in rows], around=0.0)
    return {
        "title": pair.title(" against "),
        "finding": detector_words.probe_words(pair.rows),
        "rows": [
            {"name": wording.name(row.detector, 60), "row": row, "chart": _change(row.change, scale)} for row in rows
        ],
        "axis": _axis(scale, signed=True),
        "has_beyond": any(row.beyond_msp is not None for row in pair.rows),
    }


def _scale(estimates: Sequence[Estimate], *, around: float = 0.5) -> Scale:
    """From the lowest to the highest end of all intervals, cut to tenths; chance, or no change, is in it."""
    ends = [end for e in estimates for end in (e, e.low, e.high) if not numbers.is_undefined(end)]
    low, high = min([*ends, around]), max([*ends, around])
    return Scale(low=math.floor(low * 10 + 1e-9) / 10, high=max(math.ceil(high * 10 - 1e-9) / 10, low + 0.1))


def _dots(row: DetectionRow, scale: Scale) -> Markup:
    parts = [svg.grid(scale), _zero(scale, 0.5)]
    for goal, y in zip(_GOALS, (11, 25), strict=True):
        estimate = goal_estimate(row, goal)
        parts += [svg.whisker(scale, estimate, theme.GOALS[goal], y, 2), _mark(estimate, scale, y, goal)]
    return svg.strip(36, parts)


def _change(estimate: Estimate, scale: Scale) -> Markup:
    parts = [svg.grid(scale), _zero(scale, 0.0), svg.whisker(scale, estimate, "plain", 14, 2)]
    if not numbers.is_undefined(estimate):
        parts.append(Markup('<svg x="{}" y="14" class="plain"><circle r="4.5"/></svg>').format(scale.at(estimate)))
    return svg.strip(28, parts)


def _zero(scale: Scale, at: float) -> Markup:
    return Markup('<line x1="{0}" x2="{0}" y1="0" y2="100%" class="chance"/>').format(scale.at(at))


def _mark(estimate: Estimate, scale: Scale, y: int, goal: str) -> Markup:
    if numbers.is_undefined(estimate):
        return Markup("")
    return Markup('<svg x="{}" y="{}" class="{}">{}</svg>').format(
        scale.at(estimate), y, theme.GOALS[goal], _SHAPES[goal]
    )


def _icon(goal: str) -> Markup:
    inner = Markup('<svg x="7" y="7" class="{}">{}</svg>').format(theme.GOALS[goal], _SHAPES[goal])
    return Markup('<svg class="ic" width="14" height="14" aria-hidden="true">{}</svg>').format(inner)


def _axis(scale: Scale, *, signed: bool = False) -> Markup:
    form = numbers.points if signed else (lambda tick: f"{100 * tick:.4g}")
    return svg.tick_labels(scale, lambda tick: form(tick).removesuffix(".0"), all_fit=False)
