"""The report as one HTML file: no script, no request, a policy that allows nothing else; a loop over its sections."""

from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2
from markupsafe import Markup

from oochub.records.metadata import Training
from oochub.records.origin_records import EvaluatedModel
from oochub.report import format_numbers, svg, theme, wording
from oochub.report.mistake_cards import LINK, PICTURE_BYTES
from oochub.report.self_contained_page import environment, self_contained_page
from oochub.report.verdict import verdict
from oochub.section import ChartRow, OnPage, Section, sections

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

_PLAIN = "section.html.jinja"
_JUDGED = 12  # the place of the section whose verdict heads the page: before the next steps


class _Shown(NamedTuple):
    """A section of a page: its template, and what that prints."""

    title: str
    anchor: str
    template: str
    is_beside_verdict: bool
    shown: Any


def render_page(
    report: "ReportRecord",
    *,
    images: bool = True,
    rows: str | None = None,
    above: str = "",
    advice: str = "",
) -> str:
    """Render a report as a self-contained HTML page; the same report gives the same bytes.

    Every text of the report is escaped, names are cut at 120 characters, control and bidi characters become U+FFFD.
    The page may load nothing: its policy names the hash of its one style block and allows `data:` images only.
    Images beyond 240 kB in all are left out: for contexts those beyond 120 kB, then the mistakes that are less bad,
    and the captions say so.

    Args:
        report: Any report; what it lacks is said, or left out.
        images: False leaves the images out, for data that may not be passed on; ids and words stay.
        rows: Address of a page of all rows, to link to; None says which command makes one.
        above: HTML of ours that stands before the report.
        advice: What to do where the page would be too large.

    Raises:
        OochubError: The report has an image that is not a JPEG, or so many slices or such long texts that the page
            would exceed 300 kB without images or 600 kB with them.
    """
    many = f"It has {len(report.slices)} slices and {len(report.notes)} notes: evaluate fewer splits at once."
    room, pictures = PICTURE_BYTES, 0
    shown: list[_Shown] = []
    for section in sorted(sections(), key=lambda each: _JUDGED if each.verdict(report) is not None else each.place):
        on_page = section.page(report, room=room if images else None)
        if on_page is not None:
            room, pictures = room - on_page.spent, pictures + on_page.pictures
            shown.append(_render_section(section, on_page, report))
    return self_contained_page(
        "report.html.jinja",
        pictures=pictures,
        advice=advice or many,
        report=report,
        verdict=verdict(report),
        notes=[format_numbers.counts_in_text(note) for note in report.caveats],
        said=[line for section in sections() for passage in section.passages(report) for line in passage.said
              if not passage.title and (section.is_beside_verdict or passage.table is None)],
        sections=shown,
        all_rows=rows,
        sides={side: wording.title_side(report.benchmark, side) for side in theme.SIDES},
        reproduce=_write_commands(report),
        above=Markup(above),  # noqa: S704
    )  # fmt: skip


def _render_section(section: Section[Any], on_page: OnPage, report: "ReportRecord") -> _Shown:
    """A section with its own template, else with that which prints its passages and its chart."""
    template, values = f"{section.name}.html.jinja", on_page.values
    try:
        environment().get_template(template)
    except jinja2.TemplateNotFound:
        chart = section.chart(report)
        template, values = _PLAIN, {"passages": tuple(section.passages(report)), "rows": _draw_bars(chart), **values}
    return _Shown(section.title, section.anchor, template, section.is_beside_verdict, values)


def _draw_bars(rows: Any) -> list[tuple[ChartRow, Markup]]:
    """The rows of a chart of fractions with their drawings."""
    scale = svg.LinearScale(low=0.0, high=1.0)
    return [(row, svg.row(scale, {row.side or "bare": row.estimate}, is_bar=True)) for row in rows]


def _write_commands(report: "ReportRecord") -> dict[str, Any]:
    benchmark, model, origin = report.benchmark, report.model, report.provenance
    predictions, limits = origin.predictions, benchmark.thresholds or {}
    versions = {"oochub": origin.oochub, **origin.packages, "Python": origin.python}
    places = (origin.when.get("created"), origin.where.get("platform"), origin.where.get("device"))
    facts: list[tuple[str, str]] = [
        ("Data", f"{wording.name_benchmark(benchmark)}, version {wording.name(benchmark.version)}"),
        ("Authors", ", ".join(map(wording.name, benchmark.authors))),
        ("Summary", wording.name(benchmark.summary, 400)),
        ("Thresholds", ", ".join(f"{wording.name(name)} {value:g}" for name, value in limits.items())),
        ("About the data", "; ".join(wording.list_caveats(report))),
        ("Predictions", f"{wording.name(predictions.file)}, {format_numbers.count(predictions.rows)} rows"),
        ("SHA-256 of the predictions", wording.name(predictions.sha256)),
        ("Data fingerprint", wording.name(predictions.fingerprint)),
        ("Model", wording.name_model(model)),
        ("Model revision", wording.name(model.revision or "")),
        ("Mode", wording.name(model.mode or "")),
        ("Prompt", _describe_prompt(model)),
        ("Training data", wording.describe_training(report)),
        ("Training", _describe_training(origin.training) if origin.training else ""),
        ("Intervals", f"95%, {format_numbers.count(origin.resamples)} resamples, seed {origin.seed}"),
        ("Versions", " · ".join(wording.name(f"{name} {text}") for name, text in versions.items() if text)),
        ("Created", " on ".join(wording.name(text) for text in places if text)),
    ]  # fmt: skip
    commands = [section.command(report) for section in sections()]
    return {
        "facts": [(title, text) for title, text in facts if text],
        "command": "\n".join(filter(None, [origin.command, *commands])),
        "homepage": benchmark.homepage if LINK.fullmatch(benchmark.homepage) else None,
        "citation": benchmark.citation,
    }


def _describe_prompt(model: EvaluatedModel) -> str:
    """What a model that answers in words was asked, and how its scores were changed; "" for other models."""
    if model.prompt is None:
        return ""
    scores = {"tokens": "scores divided by tokens", "characters": "scores divided by characters"}
    changed = scores.get(model.normalization or ""), "minus those of a gray image" * (model.calibration == "blank")
    return "; ".join(filter(None, (wording.name(model.prompt, 400), *changed)))


def _describe_training(training: Training) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in (training.hyperparameters or {}).items())
    parts = [(training.objective or "") + (f" ({settings})" if settings else "")]
    named = {
        "weights": _describe_weights(training),
        "environments": training.environments,
        "seed": training.seed,
        "epochs": (None if training.epochs is None else f"{training.epochs:g}"),
    }
    named["chosen"] = training.selection
    parts += [f"{title}: {value}" for title, value in named.items() if value is not None]
    return wording.name("; ".join(filter(None, parts)), 400)


def _describe_weights(training: Training) -> str | None:
    if training.architecture is None or training.pretrained is None:
        return None
    start = f"from {training.base}" if training.pretrained else "from scratch"
    return f"{training.architecture} {start}"
