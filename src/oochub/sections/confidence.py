"""Confidence against accuracy on each side, and whether the model is overconfident."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.records.report_records import Calibration, ConfidenceBin, Side
from oochub.records.table import Table
from oochub.report import format_numbers, svg, theme, wording
from oochub.report.charts import Axis, Curve, PlaneChart, Trace
from oochub.report.footnotes import Footnotes
from oochub.report.group_findings import write_headings
from oochub.section import NamedNumber, OnPage, Passage, Section
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import Answers, RowNumbers, mean_estimate
from oochub.stats.proportion import wilson

if TYPE_CHECKING:
    from oochub.evaluation.evaluation import Evaluation
    from oochub.evaluation.evaluation_rows import EvaluationRows
    from oochub.report.report_record import ReportRecord

_BINS = 10


class Confidence(Section["ReportRecord"]):
    """Shows `report.calibration`."""

    title, anchor, place = "Confidence", "confidence", 70
    fields = ("calibration",)

    def measure(self, evaluation: "Evaluation") -> dict[str, object]:
        """The calibration of each side, for a kind of output with a confidence."""
        has_confidence = evaluation.predictions.output.has_confidence
        return {"calibration": _calibrate_sides(evaluation) if has_confidence else None}

    def has(self, report: "ReportRecord") -> bool:
        """Whether a side has answers with a confidence."""
        return bool(_make_curves(report))

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """What it is sure of and right on, and the table of calibration."""
        curves = _make_curves(report)
        if curves:
            yield Passage(
                title=write_headings(report).confidence,
                sentences=_write_sentences(report, curves),
                table=_build_table(curves),
            )

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """Overconfidence and ECE of each side."""
        for curve in _make_curves(report):
            side = f"confidence {curve.side}"
            yield NamedNumber(side, "overconfidence", curve.calibration.overconfidence)
            yield NamedNumber(side, "ece", curve.calibration.ece)

    def chart(self, report: "ReportRecord") -> PlaneChart:
        """A curve for each side with answers, in percent; those of bins with enough answers have points."""
        return _make_chart(report)

    def page(self, report: "ReportRecord", *, room: int | None) -> OnPage | None:
        """The reliability diagram and the table."""
        curves, chart = _make_curves(report), _make_chart(report)
        if not curves:
            return None
        drawn = svg.reliability(chart, curves) if any(curve.drawn for curve in curves) else None
        title = write_headings(report).confidence
        return OnPage(values={"title": title, "finding": chart.sentence, "chart": drawn, "curves": curves})


def _calibrate_sides(evaluation: "Evaluation") -> dict[Side, Calibration]:
    """The calibration of each side; of one that is its worst group, on the rows that did not choose it."""
    from oochub.evaluation.slices import find_measured_groups

    ece_of = {part.role: part.metrics.get("ece") for part in evaluation.slices}
    calibrations: dict[Side, Calibration] = {}
    for side, mask in evaluation.rows_behind.items():
        chosen = find_measured_groups(evaluation.by_role[side], evaluation.rows)
        if chosen is None:
            calibrations[side] = _measure_calibration(evaluation.rows, mask, ece_of.get(side))
        elif chosen:
            rows = np.zeros(len(mask), dtype=bool)
            rows[np.concatenate(list(chosen.values()))] = True
            sizes = {name: len(part) for name, part in chosen.items()}
            calibrations[side] = _measure_calibration(evaluation.rows, rows, groups=sizes)
    return calibrations


def _measure_calibration(
    evaluated: "EvaluationRows",
    mask: NDArray[np.bool_],
    ece: Estimate | None = None,
    groups: Mapping[str, int] | None = None,
) -> Calibration:
    """Confidence against accuracy in ten equal bins (lo, hi], each with its interval.

    Args:
        evaluated: The rows.
        mask: Rows of one side (n,).
        ece: Their calibration error, where it is known already.
        groups: For a side that is its worst group, see `Calibration`.
    """
    probability = evaluated.columns["probability"][slice(None) if mask.all() else mask]  # of all nothing is copied
    confidence, correct = probability.confidence, probability.prediction == probability.label
    sampling = Sampling(cluster=evaluated.cluster(mask), **evaluated.sampling)
    is_right = correct.astype(np.float64)
    number = confidence * _BINS
    number = np.ceil(number, out=number).astype(np.int8).clip(1, _BINS) - 1
    bins = []
    for k in np.unique(number):
        inside = np.flatnonzero(number == k)
        own = sampling.of_rows(inside)
        right = is_right[inside]
        share = wilson(right.sum(), len(right)) if own.cluster is None else mean_estimate(right, own)
        bins.append(
            ConfidenceBin(
                low=k / _BINS,
                high=(k + 1) / _BINS,
                n=share.n,
                confidence=float(confidence[inside].mean()),
                accuracy=float(share),
                accuracy_low=share.low,
                accuracy_high=share.high,
            )
        )
    if ece is None:
        ece = evaluated.of(catalog.get("metric", "ece"), mask)
    return Calibration(
        bins=tuple(bins),
        ece=ece,
        mean_confidence=float(confidence.mean()),
        accuracy=float(correct.mean()),
        overconfidence=RowNumbers(
            confidence - is_right,
            are_shares=False,
            answers=lambda rows: Answers(if_right=confidence[rows] - 1, if_wrong=confidence[rows]),
            within=(-1.0, 1.0),
        ).estimate(sampling),
        groups=groups,
    )


def _make_curves(report: "ReportRecord") -> list[Curve]:
    """A curve for each side with answers."""
    curves = []
    for side in theme.SIDES:
        calibration = (report.calibration or {}).get(side)
        if calibration is not None:
            drawn = tuple(part for part in calibration.bins if part.n >= theme.BIN_FROM)
            title = wording.title_side(report.benchmark, side)
            title = f"{title} of the other half" if calibration.groups else title
            curves.append(Curve(side, title, calibration, drawn))
    return curves


def _make_chart(report: "ReportRecord") -> PlaneChart:
    curves, traces = _make_curves(report), []
    ends = [end for curve in curves for part in curve.drawn for end in (part.confidence, part.accuracy_low)]
    ends = [end for end in ends if math.isfinite(end)]
    low = min(max(math.floor(10 * min(ends, default=0.5)) / 10, 0.0), 0.9)
    traces = [Trace("chance", [(100 * low, 100 * low), (100.0, 100.0)], title="ideal")]
    for curve in curves:
        points = [(100 * b.confidence, 100 * b.accuracy) for b in curve.drawn]
        band = [(100 * b.confidence, 100 * b.accuracy_low, 100 * b.accuracy_high) for b in curve.drawn]
        n = format_numbers.count(sum(part.n for part in curve.calibration.bins))
        note = f", ECE {format_numbers.fraction(curve.calibration.ece)}% (n = {n})"
        if points:
            traces.append(Trace(curve.side, points, band, has_marks=True, title=curve.title, note=note))
    ticks = [(100 * tick, f"{100 * tick:.4g}") for tick in svg.ticks(low, 1.0)]
    x, y = (Axis(100 * low, 100.0, ticks, title) for title in ("confidence, %", "right, %"))
    return PlaneChart(x, y, " ".join(_write_sentences(report, curves)), traces)


def _write_sentences(report: "ReportRecord", curves: Sequence[Curve]) -> tuple[str, ...]:
    """How often the answers of each side are right, and how sure they are; then why the worst group is chosen apart."""
    sentences = [
        f"{_describe_rows(report, curve)} {format_numbers.fraction(curve.calibration.accuracy)}% of predictions are "
        f"correct, at a mean confidence of {format_numbers.fraction(curve.calibration.mean_confidence)}%."
        for curve in curves
    ]
    why = "If it were chosen on the rows that measure it, the worst group of any model would seem overconfident."
    return (*sentences, why) if any(curve.calibration.groups for curve in curves) else tuple(sentences)


def _build_table(curves: Sequence[Curve]) -> Table:
    """Mean confidence, right answers, the difference and ECE of each side."""
    below, of = Footnotes(), [curve.calibration for curve in curves]
    rows = (
        ("mean confidence", *(format_numbers.fraction(calibration.mean_confidence) for calibration in of)),
        ("accuracy", *(format_numbers.fraction(calibration.accuracy) for calibration in of)),
        ("confidence − accuracy, points", *(below.cell(calibration.overconfidence, signed=True) for calibration in of)),
        ("ECE ↓", *(below.cell(calibration.ece) for calibration in of)),
    )
    heads = ("%", *(wording.capitalize_sentence(curve.title) for curve in curves))
    return Table(heads=heads, rows=rows, footnotes=below.lines, beside=True)


def _describe_rows(report: "ReportRecord", curve: Curve) -> str:
    """Which rows a curve is of: those of a side, or of the groups that stand for the worst one, by name."""
    measured = curve.calibration.groups
    if not measured:
        return wording.capitalize_sentence(wording.title_side(report.benchmark, curve.side))
    rows = {row.group: row for row in report.group_rows}
    named = wording.join_names(
        [
            f"{wording.group_words(report.benchmark, rows[name]) if name in rows else wording.words(name)} "
            f"({format_numbers.count(count)} row{'s' * (count != 1)})"
            for name, count in measured.items()
        ]
    )
    distributive = "each " if len(measured) > 1 else ""
    return f"In {named}, {distributive}chosen as the worst group on the other half of the rows,"
