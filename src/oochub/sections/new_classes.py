"""What each out-of-distribution detector tells apart: new classes from known ones, and failures from right answers.

What is said are closed templates, and nothing that the paired tests do not carry. The questions are those of
ImageNet-OOD, Section 4.3: which detector finds new classes best, and does any find failures better than MSP.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from markupsafe import Markup

from oochub.records.finding_records import DetectionRow, DetectorDifference, ProbeRow
from oochub.records.report_records import Fact, Verdict
from oochub.records.table import Table
from oochub.report import format_numbers, svg, theme, wording
from oochub.report.charts import Look
from oochub.report.footnotes import Footnotes, describe_interval
from oochub.report.svg import LinearScale
from oochub.report.verdict import is_undecided
from oochub.section import NamedNumber, OnPage, Passage, Section
from oochub.stats.estimate import Estimate
from oochub.stats.p_values import holm

if TYPE_CHECKING:
    from oochub.evaluation.evaluation import Evaluation
    from oochub.report.report_record import ReportRecord

_NEW_CLASS: Final = "auroc_new_class"
_FAILURE: Final = "auroc_failure"
_BASELINE = "msp"
_LEVEL = 0.05
_LISTED = 4  # names in one sentence
_GUESSING = 0.5
_ROWS, _PROBE_ROWS = 80, 40  # of one page, about 1.4 and 1 kB each; the rest is in report.json
_GOALS: tuple[Look, ...] = (_NEW_CLASS, _FAILURE)
_COLUMNS = {
    "auroc_new_class": "New classes ↑",
    "auroc_failure": "Failures ↑",
    "fpr_at_tpr_id": "FPR@95 ↓",
    "correct_discarded": "Discarded ↓",
}
_PROBE = {"before": "Before", "after": "After", "change": "Change", "beyond_msp": "Beyond msp"}
_SIGNED = ("change", "beyond_msp")

_Row = TypeVar("_Row", DetectionRow, ProbeRow)


class _PairRows(NamedTuple, Generic[_Row]):
    """The rows of a report's `detection` or `probes` that are of one pair of sets."""

    id_set: str
    ood_set: str
    rows: Sequence[_Row]

    def title(self, between: str, limit: int = 60) -> str:
        """The pair in print.

        >>> _PairRows("imagenet_1k", "imagenet_ood", []).title(" against ")
        'imagenet_1k against imagenet_ood'
        """
        return f"{wording.name(self.id_set, limit)}{between}{wording.name(self.ood_set, limit)}"


class NewClasses(Section["ReportRecord"]):
    """Shows `report.detection` and `report.probes`.

    A report of detectors of predictions without a row out of context is judged by them.
    """

    title, anchor, place = "New classes", "detection", 80
    fields = ("detection", "probes")

    def measure(self, evaluation: "Evaluation") -> dict[str, object] | None:
        """Every detector on every pair of a set in distribution and one out of it, and every probe of them.

        A higher score is more in-distribution; "correct" is the classifier's own answer. Sets are never pooled.

        Source: ImageNet-OOD, Sections 2 and 4: new-class detection and failure detection.
        """
        from oochub.detection.detection_numbers import make_detection_rows
        from oochub.detection.zoom_probe import probe_zoom

        sets, pairs, sampling = evaluation.scored_sets, evaluation.pairs, evaluation.rows.sampling
        if not sets:
            return None
        return {
            "detection": make_detection_rows(sets, pairs, classes=evaluation.settings.classes, **sampling),
            "probes": probe_zoom(sets, pairs, **sampling) if evaluation.settings.probes else None,
        }

    def has(self, report: "ReportRecord") -> bool:
        """Whether there are detectors."""
        return bool(report.detection)

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """A passage for each pair of sets, then one for each probe of a pair; below the last what the columns are."""
        parts = [*map(_make_part, _group_detection(report)), *map(_make_probe_part, _group_probes(report))]
        for number, (title, sentences, table) in enumerate(parts, 1):
            below = (_write_legend(report),) if number == len(parts) and report.detection else ()
            yield Passage(title=title, sentences=sentences, table=table, below=below)

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """Every metric of each detector on each pair of sets, then what the probes say."""
        for row in report.detection or ():
            sets, of = f"detection {row.id_set} / {row.ood_set}", f"{row.detector}/{row.id_set}/{row.ood_set}"
            for metric, estimate in row.metrics.items():
                yield NamedNumber(sets, f"{row.detector}/{metric}", estimate, f"{of}/{metric}")
        for probe in report.probes or ():
            of = f"{probe.probe}/{probe.detector}/{probe.id_set}/{probe.ood_set}"
            for key in _PROBE:
                estimate = getattr(probe, key)
                if estimate is not None:
                    sets = f"{probe.probe} {probe.id_set} / {probe.ood_set}"
                    yield NamedNumber(sets, f"{probe.detector}/{key}", estimate, f"{of}/{key}")

    def chart(self, report: "ReportRecord") -> list[_PairRows[DetectionRow]]:
        """The detectors of each pair of sets, the best for new classes first."""
        return _group_detection(report)

    def page(self, report: "ReportRecord", *, room: int | None) -> OnPage | None:
        """Both goals of each detector on one axis, and what a zoom does to their ranks."""
        shown = _make_page_content(report)
        return None if shown is None else OnPage(values=shown)

    def verdict(self, report: "ReportRecord") -> Verdict | None:
        """The verdict where no row is out of context and the gap says nothing."""
        is_judged = report.detection and report.headline("out") is None and is_undecided(report)
        return _fill_verdict(report) if is_judged else None


def _fill_verdict(report: "ReportRecord") -> Verdict:
    """Puts the numbers of detectors into a verdict; nothing is said of context, of which there is nothing to say.

    The headline names the detector with the highest AUROC for new classes, and says so where it is not shown to be
    above guessing; with several pairs of sets the range of the best of each.

    Args:
        report: Report with `detection`.
    """
    pairs = _group_detection(report)
    first = pairs[0]
    seeds = format_numbers.seeds(report.model.seeds, wording.name(report.benchmark.words.example))
    failures = _describe_failures(first.rows).partition(": ")[2]
    where = f" ({first.title(' against ')})" if len(pairs) > 1 else ""
    return Verdict(
        case="detection",
        is_of_sides=False,
        headline=_write_headline(pairs),
        rest="",
        lead=f"{first.title(' against ')}: {_describe_counts(first.rows)}",
        how_much=_say_how_much(first),
        on_what=Fact("Failures", failures or "Detectors were not compared with msp.", where if failures else ""),
        how_sure=Fact(
            "Certainty",
            "Differences between detectors are tested on the same rows.",
            f" {wording.capitalize_sentence(seeds)}.",
        ),
    )


def _write_headline(pairs: list[_PairRows[DetectionRow]]) -> str:
    best = [estimate for pair in pairs if not format_numbers.is_undefined(estimate := _find_best(pair))]
    if not best:
        return "The detection of new classes could not be measured."
    if not any(estimate.low > _GUESSING for estimate in best):
        return "No detector is shown to find new classes better than guessing."
    if len(pairs) == 1:
        return _describe_new_classes(pairs[0].rows)
    low, high = (format_numbers.fraction(end) for end in (min(best), max(best)))
    return f"The best detector for each of {len(pairs)} pairs of sets finds new classes with AUROC {low} to {high}."


def _find_best(pair: _PairRows[DetectionRow]) -> Estimate:
    """The highest AUROC for new classes: `_group_detection` puts it first."""
    return pair.rows[0].auroc(_NEW_CLASS)


def _say_how_much(pair: _PairRows[DetectionRow]) -> Fact:
    row, best = pair.rows[0], _find_best(pair)
    if format_numbers.is_undefined(best):
        return Fact("Detection", format_numbers.UNDEFINED, f": {best.reason or 'unknown'}.")
    n_id, n_ood = format_numbers.count(row.n_id), format_numbers.count(row.n_ood)
    sets = f"{n_id} examples against {n_ood} of {wording.name(row.ood_set, 60)}"
    return Fact(
        "Detection",
        f"AUROC {format_numbers.fraction(best)}",
        f" by {wording.name(row.detector, 60)} ({describe_interval(best)}), {sets}; 50 is guessing.",
    )


def _group_detection(report: "ReportRecord") -> list[_PairRows[DetectionRow]]:
    """The rows by pair, pairs in order of appearance, detectors by their new-class AUROC, best first, n/a last."""
    return [pair._replace(rows=sorted(pair.rows, key=_order)) for pair in _group_by_pair(report.detection or ())]


def _group_probes(report: "ReportRecord") -> list[_PairRows[ProbeRow]]:
    """The probes by pair, in order of appearance."""
    return _group_by_pair(report.probes or ())


def _describe_new_classes(rows: Sequence[DetectionRow]) -> str:
    """Which detector finds new classes best: it leads only if the test against each other one says so (Bonferroni).

    Bonferroni, and not Holm, since the leader is chosen by the same data.

    Args:
        rows: Rows of one pair.

    >>> from oochub.stats.estimate import Estimate
    >>> auroc = Estimate(0.8, low=0.7, high=0.9, n=300, method="delong")
    >>> row = DetectionRow(detector="msp", id_set="a", ood_set="b", n_id=200, n_ood=100, n_incorrect=20,
    ...                    metrics={"auroc_new_class": auroc})
    >>> _describe_new_classes([row])
    'New classes: msp has AUROC 80.0.'
    """
    estimates = {row.detector: row.auroc(_NEW_CLASS) for row in rows}
    defined = {detector: auroc for detector, auroc in estimates.items() if not format_numbers.is_undefined(auroc)}
    if not defined:
        return f"New classes: n/a, {wording.name(rows[0].auroc(_NEW_CLASS).reason or 'no value')}."
    best = max(defined, key=lambda detector: defined[detector])
    value, name = format_numbers.fraction(defined[best]), _name(best)
    if len(defined) == 1:
        return f"New classes: {name} has AUROC {value}."
    tests = {row.detector: row.against_best.get(_NEW_CLASS) for row in rows if row.detector in defined}
    tests.pop(best)
    if any(test is None for test in tests.values()):
        return f"New classes: {name} has the highest AUROC, {value}; the differences were not tested."
    undecided = [detector for detector, test in tests.items() if not _is_below(test, _LEVEL / len(tests))]
    if not undecided:
        return f"New classes: {name} leads with AUROC {value}, above every other detector."
    others = _format_names(undecided, "or")
    return f"New classes: {name} has the highest AUROC, {value}, but no difference from {others} is shown."


def _describe_failures(rows: Sequence[DetectionRow]) -> str:
    """Whether any detector finds failures better than MSP (Holm over the detectors); "" where MSP is alone or absent.

    Args:
        rows: Rows of one pair.
    """
    compared = {row.detector: row.against_msp.get(_FAILURE) for row in rows if row.detector != _BASELINE}
    tests = {key: test for key, test in compared.items() if test and not format_numbers.is_undefined(test.estimate)}
    if not tests:
        return ""
    clear = holm([test.p_value for test in tests.values()], level=_LEVEL)
    shown = {key: test.estimate > 0 for (key, test), is_clear in zip(tests.items(), clear, strict=True) if is_clear}
    better, worse = ([key for key, is_above in shown.items() if is_above is side] for side in (True, False))
    if better:
        also = f"; {_format_names(worse)} {_is(worse)} worse" if worse else ""
        return f"Failures: {_format_names(better)} {'beat' if len(better) > 1 else 'beats'} msp{also}."
    if len(worse) == len(tests):
        every = "every other detector" if len(worse) > 1 else _format_names(worse)
        return f"Failures: msp is shown to be better than {every}."
    if worse:
        return f"Failures: no detector is shown to beat msp; {_format_names(worse)} {_is(worse)} worse."
    return "Failures: no difference from msp is shown."


def _write_findings(rows: Sequence[DetectionRow]) -> list[str]:
    """Both sentences of a pair; that on failures only where there is one."""
    return [sentence for sentence in (_describe_new_classes(rows), _describe_failures(rows)) if sentence]


def _find_among_best(rows: Sequence[DetectionRow], goal: str) -> set[str]:
    """The detectors that print in bold: the best of a goal, and those not shown to be below it (Bonferroni).

    Args:
        rows: Rows of one pair.
        goal: "auroc_new_class" or "auroc_failure".
    """
    defined = [row for row in rows if not format_numbers.is_undefined(row.auroc(goal))]
    if not defined:
        return set()
    highest = max(row.auroc(goal) for row in defined)
    tests = {row.detector: row.against_best.get(goal) for row in defined}
    level = _LEVEL / max(len(defined) - 1, 1)
    together = {detector for detector, test in tests.items() if test and not _is_below(test, level)}
    return together | {row.detector for row in defined if row.auroc(goal) == highest}


def _describe_counts(rows: Sequence[DetectionRow]) -> str:
    """How many rows stand behind a pair, what an answer may be, and what approximate searches found.

    Args:
        rows: Rows of one pair.
    """
    row = rows[0]
    rule = ""
    if row.classes is not None and row.classes.rule != "all":
        rule = f" Answers are limited to the {format_numbers.count(row.classes.n)} classes present."
    wrong = f"{format_numbers.count(row.n_incorrect)} of them answered wrong"
    shares = [
        f" {_name(row.detector)} found {format_numbers.fraction(row.recall.share)}% of the exact k nearest neighbors "
        f"on {format_numbers.count(row.recall.queries)} queries."
        for row in rows
        if row.recall
    ]
    return "".join(
        [
            f"{format_numbers.count(row.n_id)} examples in distribution, {wrong}; ",
            f"{format_numbers.count(row.n_ood)} out of distribution.{rule}",
            *shares,
        ]
    )


def _describe_probe(rows: Sequence[ProbeRow]) -> str:
    """Which detectors a zoom that changes no answer moves further down than MSP, by the interval of the difference.

    Args:
        rows: Rows of one pair.
    """
    first, kept = rows[0], f"{format_numbers.count(rows[0].n_kept)} of {format_numbers.count(rows[0].n_correct)}"
    factor = "" if first.factor is None else f" of {first.factor:g}"
    start = f"After a zoom{factor}, {kept} correct predictions are unchanged"
    tests = {row.detector: row.beyond_msp for row in rows if row.beyond_msp is not None}
    if all(format_numbers.is_undefined(test.high) for test in tests.values()):
        return f"{start}."
    falls = [detector for detector, test in tests.items() if test.high < 0]
    among = f"among the scores of {wording.name(first.ood_set, 60)}"
    if falls:
        return f"{start}; {among}, {_format_names(falls)} {'fall' if len(falls) > 1 else 'falls'} further than msp."
    return f"{start}; {among}, no detector is shown to fall further than msp."


def _group_by_pair(rows: Iterable[_Row]) -> list[_PairRows[_Row]]:
    pairs: dict[tuple[str, str], list[_Row]] = {}
    for row in rows:
        pairs.setdefault((row.id_set, row.ood_set), []).append(row)
    return [_PairRows(*sets, several) for sets, several in pairs.items()]


def _order(row: DetectionRow) -> tuple[bool, float]:
    value = row.auroc(_NEW_CLASS)
    return (True, 0.0) if format_numbers.is_undefined(value) else (False, -value)


def _is_below(test: DetectorDifference | None, level: float) -> bool:
    return test is not None and test.estimate < 0 and test.p_value <= level


def _name(detector: str) -> str:
    return wording.name(detector, 60)


def _format_names(detectors: Sequence[str], last: str = "and") -> str:
    shown = [_name(detector) for detector in detectors[:_LISTED]]
    if len(detectors) > _LISTED:
        shown = [*shown[: _LISTED - 1], f"{len(detectors) - _LISTED + 1} others"]
    return wording.join_names(shown, last)


def _is(detectors: Sequence[str]) -> str:
    return "are" if len(detectors) > 1 else "is"


def _write_legend(report: "ReportRecord") -> str:
    """What the columns of the detectors' tables are; "" for a report without detectors."""
    if not report.detection:
        return ""
    lines = [
        "New classes and failures: AUROC × 100.",
        "FPR@95 %: share of out-of-distribution examples kept when 95% of in-distribution ones are.",
        "Discarded %: share of right answers lost when 75% of out-of-distribution examples are discarded.",
    ]
    if report.probes:
        lines.append("Before, after: mean share, in %, of out-of-distribution scores below an image's score.")
    return " ".join(lines)


def _make_page_content(report: "ReportRecord") -> dict[str, Any] | None:
    """What the template prints of the fields `detection` and `probes`; None for a report without them."""
    pairs, probed = _group_detection(report), _group_probes(report)
    if not pairs:
        return None
    scale = _scale([row.auroc(goal) for pair in pairs for row in pair.rows for goal in _GOALS])
    shown, shown_probes = _take_first(pairs, _ROWS), _take_first(probed, _PROBE_ROWS)
    return {
        "pairs": [_pair(pair, scale) for pair in shown],
        "left_out": len(pairs) - len(shown),
        "axis": _draw_axis(scale),
        "marks": [(svg.icon(goal), theme.GOAL_WORDS[goal]) for goal in _GOALS],
        "probes": [_make_probe_rows(pair) for pair in shown_probes],
        "probes_left_out": len(probed) - len(shown_probes),
    }


def _take_first(pairs: Sequence[_PairRows[_Row]], most: int) -> Sequence[_PairRows[_Row]]:
    """The first pairs that have at most `most` rows together, and one pair in any case."""
    ends = itertools.accumulate(len(pair.rows) for pair in pairs)
    return pairs[: max(1, sum(end <= most for end in ends))]


def _pair(pair: _PairRows[DetectionRow], scale: LinearScale) -> dict[str, Any]:
    bold = {goal: _find_among_best(pair.rows, goal) for goal in _GOALS}
    return {
        "title": pair.title(" against "),
        "findings": [sentence.partition(": ")[::2] for sentence in _write_findings(pair.rows)],
        "counts": _describe_counts(pair.rows),
        "rows": [
            {
                "name": wording.name(row.detector, 60),
                "chart": svg.row(scale, {goal: row.auroc(goal) for goal in _GOALS}, line=_GUESSING),
                "goals": [(row.auroc(goal), row.detector in bold[goal], goal) for goal in _GOALS],
                "fpr": row.metrics.get("fpr_at_tpr_id"),
                "discarded": row.metrics.get("correct_discarded"),
            }
            for row in pair.rows
        ],
    }


def _make_probe_rows(pair: _PairRows[ProbeRow]) -> dict[str, Any]:
    rows = sorted(pair.rows, key=lambda row: 2.0 if format_numbers.is_undefined(row.change) else row.change)
    scale = _scale([row.change for row in rows], around=0.0)
    return {
        "title": pair.title(" against "),
        "finding": _describe_probe(pair.rows),
        "rows": [
            {
                "name": wording.name(row.detector, 60),
                "row": row,
                "chart": svg.row(scale, {"plain": row.change}, line=0.0),
            }
            for row in rows
        ],
        "axis": _draw_axis(scale, signed=True),
        "has_beyond": any(row.beyond_msp is not None for row in pair.rows),
    }


def _scale(estimates: Sequence[Estimate], *, around: float = 0.5) -> LinearScale:
    """From the lowest to the highest end of all intervals, cut to tenths; chance, or no change, is in it."""
    ends = svg.list_ends(estimates)
    low, high = min([*ends, around]), max([*ends, around])
    return LinearScale(low=math.floor(low * 10 + 1e-9) / 10, high=max(math.ceil(high * 10 - 1e-9) / 10, low + 0.1))


def _draw_axis(scale: LinearScale, *, signed: bool = False) -> Markup:
    form = format_numbers.points if signed else (lambda tick: f"{100 * tick:.4g}")
    return svg.tick_labels(scale, lambda tick: form(tick).removesuffix(".0"), all_fit=False)


def _make_part(pair: _PairRows[DetectionRow]) -> tuple[str, tuple[str, ...], Table]:
    """Title, sentences and table of the detectors of a pair of sets."""
    below = Footnotes()
    rows = [(_name(row.detector), *(below.cell(row.metrics.get(key)) for key in _COLUMNS)) for row in pair.rows]
    table = Table(heads=("Detector", *_COLUMNS.values()), rows=tuple(rows), footnotes=below.lines)
    return pair.title(" / "), (*_write_findings(pair.rows), _describe_counts(pair.rows)), table


def _make_probe_part(pair: _PairRows[ProbeRow]) -> tuple[str, tuple[str, ...], Table]:
    """Title, sentence and table of the zoom on a pair of sets."""
    below = Footnotes()
    shown = [key for key in _PROBE if any(getattr(row, key) is not None for row in pair.rows)]
    rows = [
        (_name(row.detector), *(below.cell(getattr(row, key), signed=key in _SIGNED) for key in shown))
        for row in pair.rows
    ]
    heads = ("Detector", *(_PROBE[key] for key in shown))
    table = Table(heads=heads, rows=tuple(rows), footnotes=below.lines)
    return f"Zoom, {pair.title(' / ')}", (_describe_probe(pair.rows),), table
