"""The content of each section of the report page as plain values; what is missing in the report is None here."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from oochub.records.metadata import Training
from oochub.records.origin_records import SideRows
from oochub.records.report_records import GroupRow, Verdict
from oochub.report import charts, numbers, svg, theme, wording
from oochub.report.background_section import background_section
from oochub.report.background_words import probe_command
from oochub.report.context_section import context_section
from oochub.report.detector_section import detection_section
from oochub.report.embedded_picture import PICTURE_BYTES
from oochub.report.error_section import error_section
from oochub.report.findings import (
    headings,
    match_title,
    matched_words,
    out_count,
    shown_slices,
    simultaneous,
    worst_group_words,
)
from oochub.report.footnotes import interval_words
from oochub.report.mistake_cards import LINK, mistake_cards
from oochub.report.tables import gap_title, group_head, notes
from oochub.report.verdict import verdict
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.report.report import Report

_MATRIX_CELLS = 60
_LISTED_GROUPS = 20
_COLUMNS = 6
_PICTURES = 12

Section = dict[str, Any]


def sections(report: "Report", *, images: bool = True) -> Section:
    """Everything that the template prints, by section; a section without data is None.

    Args:
        report: Any report.
        images: False leaves all pictures out.

    Raises:
        OochubError: A picture is not a base64 JPEG.
    """
    answer, titles = verdict(report), headings(report)
    contexts = context_section(report, images=images)
    left = PICTURE_BYTES - (contexts["picture_bytes"] if contexts else 0)
    return {
        "verdict": answer,
        "head": _head(report, answer),
        "notes": [numbers.counts_in_text(wording.clean(note)) for note in report.caveats],
        "slices": _slices(report, titles.slices),
        "groups": _groups(report, titles.groups),
        "confidence": _confidence(report, titles.confidence),
        "errors": error_section(report),
        "contexts": contexts,
        "background": background_section(report, images=images),
        "detection": detection_section(report),
        "mistakes": _mistakes(report, images=images, budget=left),
        "reproduce": _reproduce(report),
        "sides": {side: wording.side_title(report.benchmark, side) for side in charts.SIDES},
    }


def _head(report: "Report", answer: Verdict) -> Section:
    benchmark, gap = report.benchmark, report.gap
    metric = benchmark.primary_metric
    description = report.description(metric)
    reason = "no such rows" if metric in report.metrics else "not evaluated"
    absent = Estimate(float("nan"), n=0, method="none", reason=reason)
    label = numbers.points(gap.estimate, report.unit) + (", unclear" if answer.case == "unclear" else "")
    chart = charts.gap_chart(report)
    inside, outside = (absent if e is None else e for e in map(report.headline, charts.SIDES))
    return {
        "chart": svg.head(chart, label) if chart.perfect == 1 else "",
        "unit": report.unit,
        "gap": wording.in_sentence(gap_title(report)),
        "metric": f"{wording.name(description.title)} {numbers.unit_of(metric, description.unit)}",
        "chance": "" if numbers.is_undefined(benchmark.chance) else numbers.whole_points(benchmark.chance, report.unit),
        "rows": [
            ("in", _selection(benchmark.in_context), inside, numbers.count(gap.n_in)),
            (
                "out",
                ", ".join(filter(None, (_selection(benchmark.out_of_context), _choice(outside)))),
                outside,
                out_count(report),
            ),
        ],
        "matched": report.matched_gap and (match_title(report), report.matched_gap.estimate),
        "matched_words": matched_words(report),
    }


def _choice(estimate: Estimate) -> str:
    """Over what the interval of a side holds, where its rows were chosen among groups."""
    named = simultaneous(estimate)
    return f"interval {named}" if named and numbers.has_interval(estimate) else ""


def _selection(rows: SideRows) -> str:
    return f"{wording.name(rows.name, 60)}, {wording.name(rows.split, 30)}"


def _slices(report: "Report", title: str) -> Section | None:
    titled = shown_slices(report)
    if not titled:
        return None
    parts = [part for _, part in titled]
    primary = report.benchmark.primary_metric
    names = [metric for metric in report.metrics if any(metric in part.metrics for part in parts)]
    names.sort(key=lambda metric: metric != primary)
    shared = [m for m in names if sum(m in part.metrics for part in parts) > 1 or len(parts) == 1]
    alone = [
        (metric, title, part.metrics[metric])
        for metric in names
        for title, part in titled
        if metric not in shared and metric in part.metrics
    ]
    tables = [shared[start : start + _COLUMNS] for start in range(0, max(len(shared), 1), _COLUMNS)]
    return {"title": title, "parts": titled, "tables": tables, "alone": alone, "worst": worst_group_words(report)}


def _groups(report: "Report", title: str) -> Section | None:
    metric, rows = charts.group_rows(report, by_pairing=True)
    if not rows:
        return None
    unit = report.description(metric).unit
    scale = _group_axis(rows, unit)
    errors = [row.error_rate for row in report.group_rows if row.error_rate is not None and row.n >= theme.HEAT_FROM]
    worst = (report.worst_group or {}).get("error_rate")
    worst_row = next((row for row in report.group_rows if worst is not None and row.group == worst.group), None)
    return {
        "title": title,
        "matrix": _matrix(report),
        "rows": [(row, svg.bar(row.side, row.estimate, scale)) for row in rows][:_LISTED_GROUPS],
        "left_out": max(len(rows) - _LISTED_GROUPS, 0),
        "head": group_head(report, metric),
        "unit": unit,
        "axis": svg.tick_labels(scale, lambda tick: f"{numbers.SCALES.get(unit, 1) * tick:.4g}"),
        "worst": worst
        and worst_row
        and not numbers.is_zero(worst.estimate)
        and (wording.group_words(report.benchmark, worst_row), worst.estimate, _worst_words(worst.estimate)),
        "heat": partial(heat, width=theme.heat_width(errors)),
        "steps": theme.heat_ends(theme.heat_width(errors)),
    }


def _worst_words(estimate: Estimate) -> str:
    """The interval of the worst group's error: over what it holds, of how many rows, and what limits it."""
    n = f"n = {numbers.count(estimate.n)}"
    return interval_words(estimate, also=", ".join(filter(None, (simultaneous(estimate), n))), level="")


def _group_axis(rows: Sequence[charts.ChartRow], unit: str) -> svg.Scale:
    """From zero, or the lowest number below it, to the highest; of fractions to a full tenth."""
    estimates = [row.estimate for row in rows]
    ends = [end for e in estimates for end in (e, e.low, e.high) if not numbers.is_undefined(end)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    if unit == "fraction":
        high = min(max(0.1, -(-high // 0.1) * 0.1), 1.0)
    return svg.Scale(low=low, high=high if high > low else low + 1.0)


def heat(estimate: Estimate, n: int, width: float) -> str:
    """The CSS class of a heat cell; "" below 10 examples, whose number is printed without heat.

    >>> error = Estimate(0.5, n=100, method="wilson")
    >>> heat(error, 100, 0.08), heat(error, 9, 0.08)
    ('h6', '')
    """
    return "" if numbers.is_undefined(estimate) or n < theme.HEAT_FROM else f"h{theme.heat_step(estimate, width)}"


def _matrix(report: "Report") -> Section | None:
    rows = [row for row in report.group_rows if row.error_rate is not None]
    if not rows or report.groups is None or report.benchmark.object is not None:
        return None
    if any(not row.context for row in rows):
        return None
    labels, contexts = (sorted({getattr(row, name) for row in rows}) for name in ("label", "context"))
    if len(labels) * len(contexts) > _MATRIX_CELLS:
        return None
    # A pair that stands in several splits shows the one out of context.
    cells: dict[tuple[str, str], GroupRow] = {}
    cells |= {(row.label, row.context): row for row in sorted(rows, key=lambda row: row.role == "out")}
    return {
        "contexts": [wording.words(context) for context in contexts],
        "body": [(wording.words(label), [cells.get((label, context)) for context in contexts]) for label in labels],
        "column": wording.words(report.benchmark.context_column or report.groups.columns[-1]),
        "says_trained": any(row.trained is not None for row in rows),
    }


def _confidence(report: "Report", title: str) -> Section | None:
    curves, low = charts.reliability_curves(report)
    if not curves:
        return None
    finding = " ".join(
        f"{wording.sentence_case(wording.side_title(report.benchmark, curve.side))} "
        f"{numbers.fraction(curve.calibration.accuracy)}% are right at a mean confidence of "
        f"{numbers.fraction(curve.calibration.mean_confidence)}%."
        for curve in curves
    )
    chosen = [line for curve in curves if (line := _chosen_words(report, curve))]
    finding = " ".join([finding, *chosen])
    chart = svg.reliability(curves, low=low, title=finding) if any(curve.drawn for curve in curves) else None
    return {"title": title, "finding": finding, "chart": chart, "curves": curves}


def _chosen_words(report: "Report", curve: charts.Curve) -> str:
    """Which groups stand for the worst one, and why they may be others than the one in the headline."""
    measured = curve.calibration.groups
    if not measured:
        return ""
    rows = {row.group: row for row in report.group_rows}
    named = wording.listed(
        [
            f"{wording.group_words(report.benchmark, rows[name]) if name in rows else wording.words(name)} "
            f"({numbers.count(count)} rows)"
            for name, count in measured.items()
        ]
    )
    return (
        f"The worst group is that of the other half of the rows: {named}. Chosen by the rows that measure it, the "
        "worst group of any model would seem too sure of itself."
    )


def _mistakes(report: "Report", *, images: bool, budget: int) -> Section | None:
    mistakes = report.mistakes[:_PICTURES]
    if not mistakes:
        return None
    shown = mistake_cards(mistakes, report.benchmark, images=images, budget=budget)
    has_pictures = report.benchmark.words.example == "image" or any(mistake.image for mistake in mistakes)
    return {
        "shown": shown,
        "licenses": [(wording.name(part.what), wording.name(part.license)) for part in report.benchmark.licenses],
        "without_pictures": has_pictures and not any(card["picture"] for card in shown),
        "has_boxes": any(card["boxes"] for card in shown),
        "has_out": report.slice_of("out") is not None,
        "only_out": all(card["side"] == "out" for card in shown),
    }


def _reproduce(report: "Report") -> Section:
    benchmark, model, origin = report.benchmark, report.model, report.provenance
    predictions = origin.predictions
    versions = {"oochub": origin.oochub, **origin.packages, "Python": origin.python}
    places = (origin.when.get("created"), origin.where.get("platform"), origin.where.get("device"))
    facts: list[tuple[str, str]] = [
        ("Data", f"{wording.name(benchmark.name)}/{wording.name(benchmark.config)}, "
                 f"version {wording.name(benchmark.version)}"),
        ("Summary", wording.name(benchmark.summary, 400)),
        ("About the data", "; ".join(notes(report))),
        ("Predictions", f"{wording.name(predictions.file)}, {numbers.count(predictions.rows)} rows"),
        ("Their SHA-256", wording.name(predictions.sha256)),
        ("Data fingerprint", wording.name(predictions.fingerprint)),
        ("Model", wording.model_words(model)),
        ("Model revision", wording.name(model.revision or "")),
        ("Mode", wording.name(model.mode or "")),
        ("Trained on", wording.trained_words(report)),
        ("Training", _training(origin.training) if origin.training else ""),
        ("Intervals", f"95%, {numbers.count(origin.resamples)} resamples, seed {origin.seed}"),
        ("Versions", " · ".join(wording.name(f"{name} {text}") for name, text in versions.items() if text)),
        ("Made", " on ".join(wording.name(text) for text in places if text)),
    ]  # fmt: skip
    return {
        "facts": [(title, text) for title, text in facts if text],
        "command": wording.clean("\n".join(filter(None, [origin.command, probe_command(report)]))),
        "homepage": benchmark.homepage if LINK.fullmatch(benchmark.homepage) else None,
        "citation": wording.clean(benchmark.citation),
    }


def _training(training: Training) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in (training.hyperparameters or {}).items())
    parts = [(training.objective or "") + (f" ({settings})" if settings else "")]
    named = {
        "weights": _weights(training),
        "environments": training.environments,
        "seed": training.seed,
        "epochs": _epochs(training),
    }
    named["chosen"] = training.selection
    parts += [f"{title}: {value}" for title, value in named.items() if value is not None]
    return wording.name("; ".join(filter(None, parts)), 400)


def _weights(training: Training) -> str | None:
    if training.architecture is None or training.pretrained is None:
        return None
    start = f"from {training.base}" if training.pretrained else "from scratch"
    return f"{training.architecture} {start}"


def _epochs(training: Training) -> str | None:
    return None if training.epochs is None else f"{training.epochs:g}"
