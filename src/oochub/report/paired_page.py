"""The page of a comparison of two models on the same examples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from oochub.records.origin_records import EvaluatedModel, Provenance
from oochub.records.report_records import ComparedNumber, ComparedRows
from oochub.report import format_numbers, paired_tables, svg, wording
from oochub.report.mistake_cards import mistake_cards
from oochub.report.self_contained_page import self_contained_page

if TYPE_CHECKING:
    from oochub.report.paired_report import PairedReport

_SIDE_OF = {"in": "in", "out": "out", "hard_positive": "out", "hard_negative": "out"}


def paired_page(report: "PairedReport", *, images: bool = True) -> str:
    """Renders a comparison as a self-contained HTML page; the same comparison gives the same bytes.

    Args:
        report: Any comparison.
        images: False leaves the images of the flips out, for data that may not be passed on; ids and words stay.

    Raises:
        OochubError: An image that is not a JPEG, or so many slices that the page would exceed its limits.
    """
    shown = make_paired_sections(report, images=images)
    pictures = sum(len(card["picture"] or "") for part in shown["flips"] for card in part["cards"])
    return self_contained_page(
        "paired.html.jinja",
        pictures=pictures,
        advice=f"It has {len(report.slices)} slices and {len(report.notes)} notes: compare fewer splits at once.",
        report=report,
        **shown,
    )


def make_paired_sections(report: "PairedReport", *, images: bool) -> dict[str, Any]:
    """What the templates print of a comparison.

    Args:
        report: Any comparison.
        images: Whether the flips keep their images.
    """
    first, second = paired_tables.title_models(report)
    sides = {side: wording.title_side(report.benchmark, side) for side in ("in", "out")}
    metrics = paired_tables.metrics(report)
    groups = paired_tables.select_groups(report)
    return {
        "headline": paired_tables.write_headline(report),
        "sentences": [
            line for line in (paired_tables.describe_gap(report), paired_tables.describe_flips(report)) if line
        ],
        "lead": paired_tables.write_lead(report),
        "caveat": paired_tables.CAVEAT,
        "models": (first, second),
        "notes": [format_numbers.counts_in_text(wording.clean(note)) for note in report.notes],
        "sides": sides,
        "head": _head(report),
        "tables": [_build_table(report, metric, report.slices) for metric in metrics],
        "groups": _build_table(report, report.group_metric, groups) if groups else None,
        "groups_left_out": max(len(report.groups) - len(groups), 0),
        "flips": _describe_flips(report, images=images),
        "without_pictures": not any(flip.mistake.image for flip in report.flips) or not images,
        "reproduce": _write_commands(report),
    }


def _head(report: "PairedReport") -> dict[str, Any]:
    """The primary metric of both models on both sides, and the two gaps."""
    metric = report.benchmark.primary_metric
    rows = [(part.role, part) for part in report.slices if part.role in ("in", "out") and metric in part.numbers]
    return {
        "metric": wording.title_metric(metric, report.metrics[metric]),
        "unit": report.metrics[metric].unit,
        "rows": rows,
    }


def _build_table(report: "PairedReport", metric: str, parts: Sequence[ComparedRows]) -> dict[str, Any]:
    unit = report.metrics[metric].unit
    having = [part for part in parts if metric in part.numbers]
    scale = _scale([part.numbers[metric] for part in having])
    rows = [
        {
            "title": paired_tables.title_row(report, part),
            "side": part.role if part.role in ("in", "out") else None,
            "part": part,
            "number": part.numbers[metric],
            "chart": _draw_chart(part.numbers[metric], scale, _SIDE_OF.get(part.role or "")),
        }
        for part in having
    ]
    return {
        "metric": wording.title_metric(metric, report.metrics[metric]),
        "title": wording.name(report.metrics[metric].title, 40),
        "unit": unit,
        "rows": rows,
        "axis": svg.tick_labels(scale, lambda tick: _format_tick(format_numbers.SCALES.get(unit, 1) * tick)),
        "names": ("A", "B", "B \u2212 A"),
        "has_flips": any(part.only_first is not None for part in having),
    }


def _scale(compared: Sequence[ComparedNumber]) -> svg.LinearScale:
    """From the lowest end of the differences to the highest, with 0 in it."""
    every = [end for each in compared for end in (each.difference.value, each.difference.low, each.difference.high)]
    ends = [end for end in every if not format_numbers.is_undefined(end)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    room = 0.04 * (high - low)
    return svg.LinearScale(low=low - room, high=high + room) if high > low else svg.LinearScale(low=-0.01, high=0.01)


def _format_tick(value: float) -> str:
    return f"{value:+.4g}".replace("-", "\u2212") if value else "0"


def _draw_chart(number: ComparedNumber, scale: svg.LinearScale, side: Any) -> Markup:
    """The difference with its interval, and a line at 0."""
    parts = [svg.grid(scale), Markup('<line x1="{0}" x2="{0}" y1="0" y2="100%" class="ax"/>').format(scale.at(0))]
    change = number.difference
    if not format_numbers.is_undefined(change):
        name = {"in": "inn", "out": "out"}.get(side, "plain")
        parts.append(svg.whisker(scale, change, name, 14, 2))
        square = Markup('<svg x="{}" y="14" class="plain"><path d="M-4-4h8v8h-8z"/></svg>').format(scale.at(change))
        parts.append(svg.mark(side, scale.at(change), 14, size=4.5) if side else square)
    return svg.strip(28, parts)


def _describe_flips(report: "PairedReport", *, images: bool) -> list[dict[str, Any]]:
    cards = mistake_cards([flip.mistake for flip in report.flips], report.benchmark, images=images)
    parts = []
    for right, letter, other in (("second", "B", "A"), ("first", "A", "B")):
        chosen = [(flip, card) for flip, card in zip(report.flips, cards, strict=True) if flip.right == right]
        parts.append(
            {
                "title": f"Only {letter} is right",
                "who": f"{other} ",
                "cards": [
                    card | {"right": f"{letter} gave the true answer {format_numbers.fraction(flip.probability)}%"}
                    for flip, card in chosen
                ],
            }
        )
    return [part for part in parts if part["cards"]]


def _write_commands(report: "PairedReport") -> dict[str, Any]:
    benchmark, origin = report.benchmark, report.provenance
    versions = {"oochub": origin.oochub, **origin.packages, "Python": origin.python}
    facts = [
        ("Data", f"{wording.name(benchmark.name)}/{wording.name(benchmark.config)}, "
                 f"version {wording.name(benchmark.version)}"),
        *_describe_origin("A", report.first, origin),
        *_describe_origin("B", report.second, report.other),
        ("Intervals", f"95%, {format_numbers.count(origin.resamples)} resamples, seed {origin.seed}"),
        ("Versions", " · ".join(wording.name(f"{name} {text}") for name, text in versions.items() if text)),
        ("Made", wording.name(str(origin.when.get("created", "")))),
    ]  # fmt: skip
    return {
        "facts": [(title, text) for title, text in facts if text],
        "command": wording.clean(origin.command),
        "licenses": [(wording.name(part.what), wording.name(part.license)) for part in benchmark.licenses],
    }


def _describe_origin(letter: str, model: EvaluatedModel, origin: Provenance) -> list[tuple[str, str]]:
    of = origin.predictions
    seeds = f", seed {', '.join(map(str, model.seeds))}" if model.seeds else ""
    return [
        (f"Model {letter}", f"{wording.name_model(model)}{seeds}"),
        (f"Revision of {letter}", wording.name(model.revision or "")),
        (f"Predictions of {letter}", f"{wording.name(of.file)}, {format_numbers.count(of.rows)} rows"),
        (f"SHA-256 of the predictions of {letter}", wording.name(of.sha256)),
    ]
