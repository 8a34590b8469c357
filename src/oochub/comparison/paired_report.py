"""Two models on the same rows: what each scores, by how much they differ, which examples flip; in words and tables.

The page of a comparison of two models on the same examples.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from oochub.errors import unknown_name
from oochub.records.document import Block, Document, DocumentForms
from oochub.records.origin_records import EvaluatedBenchmark, EvaluatedModel, Provenance
from oochub.records.report_records import ComparedNumber, ComparedRows, Flip, MetricDescription
from oochub.records.schema import to_json
from oochub.records.table import Table, make_notebook_table, write_picture
from oochub.report import format_numbers, svg, wording
from oochub.report.charts import Look
from oochub.report.footnotes import Footnotes, describe_interval
from oochub.report.mistake_cards import mistake_cards
from oochub.report.paper_table import PaperCell, PaperTable, describe_metric, make_sentence, write_paper_cell
from oochub.report.self_contained_page import self_contained_page
from oochub.settings.report_settings import TableSettings, TableStyle
from oochub.stats.estimate import Estimate
from oochub.storage.artifacts import PAGE, format_csv
from oochub.storage.files import check_writable, write_whole

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1

_MODELS = ("A", "B")


class PairWords(NamedTuple):
    """What a page of two models calls them.

    Attributes:
        names: Names of the first, of the second, and of their difference.
        only: Title of the examples that one alone answers right; its name stands at {}.
        gave: What stands before "the true answer"; the name of who gave it stands at {}.
    """

    names: tuple[str, str, str] = ("A", "B", "B \u2212 A")
    only: str = "Only {} is right"
    gave: str = "{} gave"


_LETTERS = PairWords()
_FLIPS = "the examples on which the models disagree"
CAVEAT = (
    "A difference is B minus A on the same examples, with its paired 95% interval. Bold: the difference holds after "
    "correction for all tests of its table (Holm, 5%)."
)
"""What stands above the tables."""
_LISTED_GROUPS = 20
_PAPER_SLICES = 4
"""The most columns of a compact table where there are no sides."""
_FRAME = [
    *("slice", "role", "split", "n", "metric", "first", "first_low", "first_high"),
    *("second", "second_low", "second_high", "difference", "low", "high", "p_value", "test", "is_clear"),
    *("only_first", "only_second", "method", "reason", "first_reason", "second_reason"),
]


_LOOKS: Mapping[str, Look] = {"in": "in", "out": "out", "hard_positive": "out", "hard_negative": "out"}


@dataclass(frozen=True, kw_only=True, repr=False)
class PairedReport(DocumentForms):
    """What `oochub.compare` returns: A is the first model, B the second.

    Attributes:
        schema_version: Version of the JSON's schema.
        benchmark: Benchmark that both were evaluated on.
        first: Model A.
        second: Model B.
        notes: Caveats of the data.
        metrics: What the metrics' numbers mean, the primary one first.
        slices: The numbers on each slice, all of the evaluation split first.
        groups: The numbers of one metric on each group; empty without groups.
        group_metric: Name of that metric; "" without groups.
        gap: The primary metric out of context minus in context, of each model, and how much the two gaps differ; each
            undefined, with the reason, where a side has no rows.
        flips: Rows that one model alone answers right, those of the largest change first, a few of each direction.
        provenance: Where A's numbers come from.
        other: Where B's come from.
    """

    _bold = "clear"

    schema_version: int = SCHEMA_VERSION
    benchmark: EvaluatedBenchmark
    first: EvaluatedModel
    second: EvaluatedModel
    notes: tuple[str, ...] = ()
    metrics: Mapping[str, MetricDescription]
    slices: tuple[ComparedRows, ...]
    groups: tuple[ComparedRows, ...] = ()
    group_metric: str = ""
    gap: ComparedNumber
    flips: tuple[Flip, ...] = ()
    provenance: Provenance
    other: Provenance

    def slice(self, name: str) -> ComparedRows:
        """The slice of that name ("out_of_context"), or of that title where it is a side ("hard").

        Raises:
            OochubError: No such slice.
        """
        named = {part.title: part for part in self.slices if part.role in ("in", "out")}
        named |= {part.name: part for part in self.slices}
        if name not in named:
            raise unknown_name("slice in this comparison", name, named)
        return named[name]

    @property
    def main_slice(self) -> ComparedRows:
        """The rows out of context; all rows where there are none."""
        return next((part for part in self.slices if part.role == "out"), self.slices[0])

    @property
    def main_metric(self) -> str:
        """The benchmark's primary metric; where it was not asked for, the first that was."""
        having = [name for name in self.metrics if any(name in part.numbers for part in self.slices)]
        return next((name for name in (self.benchmark.primary_metric, *having) if name in having), "")

    def to_json(self, *, images: bool = False) -> dict[str, Any]:
        """Every number as JSON types.

        Args:
            images: Whether the flips keep their small images.
        """
        flips = (
            self.flips if images else [replace(flip, mistake=replace(flip.mistake, image=None)) for flip in self.flips]
        )
        content: dict[str, Any] = to_json(replace(self, flips=tuple(flips)))
        return content

    def __repr__(self) -> str:
        benchmark, (first, second) = self.benchmark, title_models(self)
        data = wording.name_benchmark(benchmark)
        return "\n".join(
            [f"<PairedReport of {first} and {second} on {data}>", write_headline(self), *_write_sentences(self)]
        )

    def to_pandas(self) -> "pd.DataFrame":
        """One row a number: slice, split, n, metric, first, second, difference, low, high, p_value, test, is_clear.

        The gap stands as the slice "gap", a group as "group NAME". `attrs` names in `left_out` the findings that have
        no numbers.
        """
        frame = Table(heads=(), rows=(), records=tuple(_make_records(self))).to_frame(_FRAME)
        frame.attrs["left_out"] = [_FLIPS] * bool(self.flips)
        return frame

    def to_csv(self) -> str:
        """`to_pandas` as text."""
        return format_csv(self.to_pandas())

    def to_latex(self, style: TableStyle = "compact") -> str:
        r"""The tables in LaTeX; they need `\usepackage{booktabs}`.

        Args:
            style: "compact" is the table of a paper: A, B and B minus A as rows; in context, out of context and the
                gap as columns. "full" has a table for each metric, and the groups, and names what is left out in a
                comment.

        Raises:
            OochubError: Another style.
        """
        if TableSettings(style=style).style == "compact" and self.main_metric:
            return _build_paper_table(self).to_latex()
        return self._document().to_latex(small=True)

    def to_html(self, path: str | Path | None = None, *, images: bool = True) -> str:
        """The self-contained page; written to `path` when one is given. The same comparison gives the same bytes.

        Args:
            path: File that the page is written to.
            images: False leaves the images of the flips out, for data that may not be passed on; ids and words stay.

        Raises:
            OochubError: An image that is not a JPEG, or so many slices that the page would exceed its limits.
        """
        if path is not None:
            check_writable(path, kind=PAGE)
        shown = make_paired_sections(self, images=images)
        page = self_contained_page(
            "paired.html.jinja",
            pictures=sum(len(card["picture"] or "") for part in shown["flips"] for card in part["cards"]),
            advice=f"It has {len(self.slices)} slices and {len(self.notes)} notes: compare fewer splits at once.",
            report=self,
            **shown,
        )
        if path is not None:
            with write_whole(path, kind=PAGE) as draft:
                draft.write_text(page, "utf-8")
        return page

    def _document(self) -> Document:
        """A table for each metric that a slice has, the primary one first and with the gap; the groups; the flips.

        The terminal and a notebook show the main metric on the slices, and the groups.
        """
        blocks = [
            Block(
                name=f"{wording.put_in_sentence(wording.name(self.metrics[metric].title, 40))} on each slice",
                table=_build_table(self, metric, self.slices),
                is_short=metric == self.main_metric,
            )
            for metric in metrics(self)
        ]
        if self.groups:
            blocks.append(Block(name="the groups", table=_build_table(self, self.group_metric, select_groups(self))))
        if self.flips:
            blocks.append(Block(name=_FLIPS, html=_make_flips_table(self)))
        return Document(
            headline=write_headline(self),
            sentences=tuple(_write_sentences(self)),
            blocks=tuple(blocks),
            caveats=(CAVEAT,),
            notes=tuple(_collect_notes(self)),
            form="**{}**",
            apart=True,
        )


def metrics(report: PairedReport) -> list[str]:
    """The metrics that a slice has, the primary one first."""
    names = [name for name in report.metrics if any(name in part.numbers for part in report.slices)]
    return sorted(names, key=lambda name: name != report.main_metric)


def select_groups(report: PairedReport) -> list[ComparedRows]:
    """The groups with the largest differences, the largest first."""
    metric = report.group_metric

    def size(part: ComparedRows) -> float:
        number = part.numbers[metric].difference
        return 0.0 if format_numbers.is_undefined(number) else -abs(number)

    return sorted(report.groups, key=size)[:_LISTED_GROUPS]


def _build_paper_table(report: PairedReport) -> PaperTable:
    """A, B and B minus A on both sides, else on the slices, and their gaps."""
    metric, limits = report.main_metric, Footnotes()
    described, unit = report.metrics[metric], report.metrics[metric].unit
    of_metric = [part for part in report.slices if metric in part.numbers]
    parts = [part for part in of_metric if part.role in ("in", "out")] or of_metric[:_PAPER_SLICES]
    columns = [(title_row(report, part), part.numbers[metric], False) for part in parts]
    has_gap = metric == report.benchmark.primary_metric and not format_numbers.is_undefined(report.gap.first)
    columns += [("Gap", report.gap, True)] if has_gap else []
    best = [set() if is_gap else _find_best(number, described.direction) for _, number, is_gap in columns]

    def row(name: str, k: int) -> tuple[str | PaperCell, ...]:
        cells = []
        for (_, number, is_gap), bold in zip(columns, best, strict=True):
            value = (number.first, number.second, number.difference)[k]
            cells.append(
                write_paper_cell(
                    value,
                    unit=unit,
                    notes=limits,
                    limited=value,
                    ends=(value.low, value.high),
                    signed=is_gap or k == len(_MODELS),
                    is_bold=k in bold,
                )
            )
        return (name, *cells)

    data = wording.name_benchmark(report.benchmark, 40)
    names = [wording.name(wording.name_model(model), 40) for model in (report.first, report.second)]
    title = describe_metric(
        wording.name(described.title, 40), format_numbers.unit_of(metric, unit), described.direction
    )
    below = ["brackets hold 95% intervals, those of B \u2212 A paired"]
    if any(best):
        below.append("bold marks the better model, and both if the paired test does not tell them apart (Holm, 5%)")
    counts = [f"{format_numbers.count(part.n)} {wording.put_in_sentence(title_row(report, part))}" for part in parts]
    tests = [
        f"{head}: {format_numbers.p_value(number.p_value)}, {number.test}."
        for head, number, _ in columns
        if not format_numbers.is_undefined(number.p_value)
    ]
    notes = _collect_notes(report, said="")[: len(report.notes)]  # the rest is of groups, which are not shown
    return PaperTable(
        caption=f"{title} of {names[0]} (A) and {names[1]} (B) on {data}. {make_sentence('; '.join(below))}",
        label=("compare", report.benchmark.name, report.benchmark.config, metric),
        heads=("Model", *(head for head, *_ in columns)),
        rows=(
            *(row(f"{letter} ({name})", k) for k, (letter, name) in enumerate(zip(_MODELS, names, strict=True))),
            row("B \u2212 A", len(_MODELS)),
        ),
        rules=frozenset({len(_MODELS)}),
        notes=(
            f"n = {wording.join_names(counts)}.",
            *tests,
            *limits.lines,
            *map(make_sentence, notes),
        ),
    )


def _find_best(number: ComparedNumber, direction: str) -> set[int]:
    """Which of A (0) and B (1) is best or not told apart from the best by the paired test; none without a direction."""
    if direction not in ("higher", "lower") or format_numbers.is_undefined(number.difference):
        return set()
    return {int((number.difference > 0) == (direction == "higher"))} if number.is_clear else {0, 1}


def _make_flips_table(report: PairedReport) -> str:
    """The examples that flip the most, with their images and both answers."""
    rows, pictures = [], []
    for flip in report.flips:
        mistake, right = flip.mistake, wording.words(flip.mistake.label)
        answers = [right, wording.words(mistake.predicted)]
        both = answers if flip.right == "first" else answers[::-1]
        rows.append([wording.name(mistake.example_id, 40), wording.words(mistake.context), right, *both])
        pictures.append("" if mistake.image is None else write_picture(_decode(mistake.image)))
    return make_notebook_table(
        rows,
        heads=("example", "context", "truth", "A", "B"),
        title="Examples on which the models disagree",
        pictures=pictures,
    )


def _decode(image: str) -> bytes | None:
    """The bytes of an image in base64; None if it is none."""
    try:
        return base64.b64decode(image, validate=True)
    except ValueError:
        return None


def _write_sentences(report: PairedReport) -> list[str]:
    sentences = (write_lead(report), describe_gap(report), describe_flips(report))
    return [line for line in sentences if line]


def _collect_notes(report: PairedReport, said: str = "Note: ") -> list[str]:
    left_out = len(report.groups) - _LISTED_GROUPS
    more = [f"{left_out} more groups, with smaller differences, are in --csv"] if left_out > 0 else []
    return [f"{said}{format_numbers.counts_in_text(wording.name(note, 400))}." for note in (*report.notes, *more)]


def _build_table(report: PairedReport, metric: str, parts: Sequence[ComparedRows]) -> Table:
    unit, is_groups = report.metrics[metric].unit, parts and parts[0] not in report.slices
    having = [part for part in parts if metric in part.numbers]
    below = Footnotes()
    rows = [
        (title_row(report, part), *_format_cells(part.numbers[metric], below, unit), *_count_rows(part))
        for part in having
    ]
    clear = [part.numbers[metric].is_clear for part in having]
    has_gap = metric == report.benchmark.primary_metric and not format_numbers.is_undefined(report.gap.first)
    if has_gap and not is_groups:
        rows.append(("Gap between the sides", *_format_cells(report.gap, below, unit, signed=True), "", ""))
        clear.append(False)
    has_flips = any(part.only_first is not None for part in having)
    heads = ("Group" if is_groups else "Slice", "A", "B", "B − A", "p", "n", "right only in\nA · B")
    where = "each group" if is_groups else "each slice"
    first, second = title_models(report)
    return Table(
        title=f"{wording.title_metric(metric, report.metrics[metric])} on {where}: {first} and {second}",
        heads=heads if has_flips else heads[:6],
        rows=tuple(row if has_flips else row[:6] for row in rows),
        bold=frozenset((i, 3) for i, is_clear in enumerate(clear) if is_clear),
        footnotes=below.lines,
    )


def _format_cells(
    number: ComparedNumber, notes: Footnotes, unit: str, *, signed: bool = False
) -> tuple[str, str, str, str]:
    p_value = format_numbers.p_value(number.p_value)
    return (
        notes.cell(number.first, unit, signed=signed),
        notes.cell(number.second, unit, signed=signed),
        notes.cell(number.difference, unit, signed=True),
        f"{p_value.removeprefix('p = ').removeprefix('p ')}\n{number.test}",
    )


def _count_rows(part: ComparedRows) -> tuple[str, str]:
    n = format_numbers.count(part.n)
    if part.only_first is None or part.only_second is None:
        return n, ""
    return n, f"{format_numbers.count(part.only_first)} · {format_numbers.count(part.only_second)}"


def _make_records(report: PairedReport) -> Iterator[dict[str, Any]]:
    named = [(part.name, part) for part in report.slices] + [(f"group {part.name}", part) for part in report.groups]
    for name, part in named:
        about = {"slice": name, "role": part.role, "split": part.split, "n": part.n}
        about |= {"only_first": part.only_first, "only_second": part.only_second}
        yield from (about | {"metric": metric} | _record(number) for metric, number in part.numbers.items())
    yield {"slice": "gap", "metric": report.benchmark.primary_metric, "n": report.gap.first.n} | _record(report.gap)


def _record(number: ComparedNumber) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name in ("first", "second"):
        estimate: Estimate = getattr(number, name)
        record |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        record |= {f"{name}_reason": estimate.reason}
    change = number.difference
    record |= {"difference": change.value, "low": change.low, "high": change.high, "method": change.method}
    return record | {
        "p_value": number.p_value, "test": number.test, "is_clear": number.is_clear, "reason": change.reason
    }  # fmt: skip


def title_models(report: PairedReport) -> tuple[str, str]:
    """The models by letter and name: ("A (erm)", "B (group dro)")."""
    first, second = (
        f"{letter} ({wording.name(wording.name_model(model), 60)})"
        for letter, model in zip(_MODELS, (report.first, report.second), strict=True)
    )
    return first, second


def _place(report: PairedReport, part: ComparedRows) -> str:
    """The place of a slice's rows, for the end of a sentence: "out of context", "on all of test"."""
    if part.role in ("in", "out"):
        return wording.title_side(report.benchmark, part.role)
    return f"on all of {wording.name(part.split, 40)}" if part.role == "all" else f"on {wording.name(part.title)}"


def write_headline(report: PairedReport) -> str:
    """Which model does better, on the rows out of context or else on all: the first sentence of every form."""
    part = report.main_slice
    where, number = _place(report, part), part.numbers.get(report.main_metric)
    if number is None or format_numbers.is_undefined(number.difference):
        return f"The two models cannot be compared {where}: there is no difference to report."
    if not number.is_clear:
        return f"There is no clear difference between A and B {where}."
    direction = report.metrics[report.main_metric].direction
    if direction == "none":
        return f"A and B differ {where}."
    ahead = (number.difference > 0) == (direction == "higher")
    return f"{'B' if ahead else 'A'} does better than {'A' if ahead else 'B'} {where}."


def write_lead(report: PairedReport) -> str:
    """The primary metric of both models on those rows, and how much they differ."""
    part, metric = report.main_slice, report.main_metric
    number = part.numbers.get(metric)
    first, second = title_models(report)
    if number is None:
        return f"Neither {first} nor {second} has a number {_place(report, part)}."
    title, unit = wording.put_in_sentence(wording.name(report.metrics[metric].title, 40)), report.metrics[metric].unit
    where = wording.capitalize_sentence(_place(report, part))
    return (
        f"{where} the {title} is {format_numbers.quantity(number.first, unit)} for {first} and "
        f"{format_numbers.quantity(number.second, unit)} for {second}: {_describe_difference(number, unit)}."
    )


def describe_gap(report: PairedReport) -> str:
    """The gaps of both models and how much they differ; or why there are none."""
    gap = report.gap
    if format_numbers.is_undefined(gap.difference):
        reason = wording.name(gap.difference.reason or "their difference cannot be computed")
        return f"The gaps cannot be compared: {reason}."
    unit = report.metrics[report.benchmark.primary_metric].unit
    outside, inside = (wording.title_side(report.benchmark, side) for side in ("out", "in"))
    return (
        f"The gap, {outside} minus {inside}, is {format_numbers.points(gap.first, unit)} for A and "
        f"{format_numbers.points(gap.second, unit)} for B: {_describe_difference(gap, unit)}."
    )


def describe_flips(report: PairedReport) -> str:
    """How many rows flip on the main rows; "" for a kind of output without right and wrong."""
    part = report.main_slice
    if part.only_first is None or part.only_second is None:
        return ""
    if not part.only_first + part.only_second:
        where = wording.capitalize_sentence(_place(report, part))
        return f"{where} no example flips: both models are right on the same examples."
    return (
        f"{wording.capitalize_sentence(_place(report, part))} only B is right on "
        f"{format_numbers.count(part.only_second)} of {format_numbers.count(part.n)} examples, and only A on "
        f"{format_numbers.count(part.only_first)}."
    )


def _describe_difference(number: ComparedNumber, unit: str) -> str:
    """A difference in a sentence: "+2.9 points (95% interval +1.0 to +4.8; p = 0.003, exact McNemar)"."""
    text = describe_interval(number.difference, unit, signed=True)
    p_value = (
        ""
        if format_numbers.is_undefined(number.p_value)
        else f"; {format_numbers.p_value(number.p_value)}, {number.test}"
    )
    return f"{format_numbers.points(number.difference, unit)}{format_numbers.points_word(unit)} ({text}{p_value})"


def title_row(report: PairedReport, part: ComparedRows) -> str:
    """A slice or a group in words."""
    return wording.slice_words(report.benchmark, part) if part in report.slices else wording.name(part.title)


def make_paired_sections(report: PairedReport, *, images: bool, words: PairWords = _LETTERS) -> dict[str, Any]:
    """What the templates print of a comparison.

    Args:
        report: Any comparison.
        images: Whether the flips keep their images.
        words: What the models are called.
    """
    first, second = title_models(report)
    sides = {side: wording.title_side(report.benchmark, side) for side in ("in", "out")}
    groups, metric = select_groups(report), report.benchmark.primary_metric
    on_sides = [part for part in report.slices if part.role in ("in", "out") and metric in part.numbers]
    return {
        "headline": write_headline(report),
        "sentences": [line for line in (describe_gap(report), describe_flips(report)) if line],
        "lead": write_lead(report),
        "caveat": CAVEAT,
        "models": (first, second),
        "notes": [format_numbers.counts_in_text(note) for note in report.notes],
        "sides": sides,
        "head": {  # the primary metric of both models on both sides, and the two gaps
            "metric": wording.title_metric(metric, report.metrics[metric]),
            "unit": report.metrics[metric].unit,
            "rows": [(part.role, part) for part in on_sides],
        },
        "tables": [_build_page_table(report, name, report.slices, words) for name in metrics(report)],
        "groups": _build_page_table(report, report.group_metric, groups, words) if groups else None,
        "groups_left_out": max(len(report.groups) - len(groups), 0),
        "flips": _describe_flips(report, words, images=images),
        "without_pictures": not any(flip.mistake.image for flip in report.flips) or not images,
        "reproduce": _write_commands(report),
    }


def _build_page_table(
    report: PairedReport, metric: str, parts: Sequence[ComparedRows], words: PairWords
) -> dict[str, Any]:
    unit = report.metrics[metric].unit
    having = [part for part in parts if metric in part.numbers]
    scale = _scale([part.numbers[metric] for part in having])
    rows = [
        {
            "title": title_row(report, part),
            "side": part.role if part.role in ("in", "out") else None,
            "part": part,
            "number": part.numbers[metric],
            "chart": svg.row(
                scale,
                {_LOOKS.get(part.role or "", "square"): part.numbers[metric].difference},
                line=0.0,
                line_class="ax",
            ),
        }
        for part in having
    ]
    return {
        "metric": wording.title_metric(metric, report.metrics[metric]),
        "title": wording.name(report.metrics[metric].title, 40),
        "unit": unit,
        "rows": rows,
        "axis": svg.tick_labels(scale, lambda tick: _format_tick(format_numbers.SCALES.get(unit, 1) * tick)),
        "names": words.names,
        "has_flips": any(part.only_first is not None for part in having),
    }


def _scale(compared: Sequence[ComparedNumber]) -> svg.LinearScale:
    """From the lowest end of the differences to the highest, with 0 in it."""
    ends = svg.list_ends(number.difference for number in compared)
    low, high = min([0.0, *ends]), max([0.0, *ends])
    room = 0.04 * (high - low)
    return svg.LinearScale(low=low - room, high=high + room) if high > low else svg.LinearScale(low=-0.01, high=0.01)


def _format_tick(value: float) -> str:
    return f"{value:+.4g}".replace("-", "\u2212") if value else "0"


def _describe_flips(report: PairedReport, words: PairWords, *, images: bool) -> list[dict[str, Any]]:
    cards = mistake_cards([flip.mistake for flip in report.flips], report.benchmark, images=images)
    first, second, _ = words.names
    parts = []
    for right, name, other in (("second", second, first), ("first", first, second)):
        shown = [
            card | {"right": f"{words.gave.format(name)} the true answer {format_numbers.fraction(flip.probability)}%"}
            for flip, card in zip(report.flips, cards, strict=True)
            if flip.right == right
        ]
        parts.append({"title": words.only.format(name), "who": f"{other} ", "cards": shown})
    return [part for part in parts if part["cards"]]


def _write_commands(report: PairedReport) -> dict[str, Any]:
    benchmark, origin = report.benchmark, report.provenance
    versions = {"oochub": origin.oochub, **origin.packages, "Python": origin.python}
    facts = [
        ("Data", f"{wording.name_benchmark(benchmark)}, version {wording.name(benchmark.version)}"),
        *_describe_origin("A", report.first, origin),
        *_describe_origin("B", report.second, report.other),
        ("Intervals", f"95%, {format_numbers.count(origin.resamples)} resamples, seed {origin.seed}"),
        ("Versions", " · ".join(wording.name(f"{name} {text}") for name, text in versions.items() if text)),
        ("Made", wording.name(str(origin.when.get("created", "")))),
    ]  # fmt: skip
    return {
        "facts": [(title, text) for title, text in facts if text],
        "command": origin.command,
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
