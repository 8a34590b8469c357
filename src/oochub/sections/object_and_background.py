"""What the model says where an image's object or background is taken away or exchanged: the probe of backgrounds."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from oochub.errors import OochubError
from oochub.records.finding_records import BackgroundProbe, ProbedPicture, Variant, VariantRow
from oochub.records.origin_records import EvaluatedBenchmark
from oochub.records.report_records import Case, Compared, Fact, Verdict
from oochub.records.table import Table
from oochub.report import format_numbers, svg, wording
from oochub.report.footnotes import Footnotes, are_few, describe_interval
from oochub.report.group_findings import judge
from oochub.report.mistake_cards import LINK, embed_picture
from oochub.report.report_commands import ReportCommands, write_command
from oochub.report.svg import LinearScale
from oochub.section import ChartRow, NamedNumber, OnPage, Passage, Section
from oochub.stats.estimate import Estimate
from oochub.stats.shared_units import METHOD

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

_TITLE = "Object and background separately"
_GAP = "its class minus another (BG gap)"
_NATS = "nats"
_SOME_LENDERS = 40
_FEW = ": the intervals account for this, but may still be too narrow"
_TICKS = 3
_SCALE = LinearScale(low=0.0, high=1.0)
_LARGEST = 24_000  # bytes of an image


class _Chart(NamedTuple):
    """The share of right answers to each kind of images, what a right answer says, and what is said of all."""

    sentence: str
    says: str
    rows: tuple[ChartRow, ...]


class ObjectAndBackground(Section["ReportRecord"]):
    """Shows `report.background`.

    That the class of the background matters is said where the interval of the gap leaves out 0; else that it is not
    shown. Data that name no context are judged by it; else it is said below the verdict.
    """

    title, anchor, place = "Background", "background", 60
    fields = ("background",)  # the probe of an audit measures it

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """The finding below the verdict, where another one is above; what it stands on, and each kind of images."""
        if report.background is not None:
            if not _is_judged(report):
                yield Passage(sentences=(_write_headline(report.background),))
            yield Passage(title=_TITLE, sentences=_write_sentences(report), table=_build_table(report.background))

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """Every number of the probe."""
        for key, estimate in report.background.estimates().items() if report.background else ():
            of, _, metric = key.rpartition("/")
            yield NamedNumber(of or key, metric, estimate, key)

    def chart(self, report: "ReportRecord") -> _Chart | None:
        """Each kind of images; None for a report without the probe."""
        probe = report.background
        if probe is None:
            return None
        rows = (
            ChartRow(wording.capitalize_sentence(_VARIANTS[variant.name]), variant.accuracy, None, variant.accuracy.n)
            for variant in probe.variants
        )
        return _Chart(_write_headline(probe), _describe_right_answer(probe), tuple(rows))

    def page(self, report: "ReportRecord", *, room: int | None) -> OnPage | None:
        """The table with its charts, and one row in all its kinds of images."""
        probe, shown = report.background, _make_page_content(report, images=room is not None)
        if probe is None or shown is None:
            return None
        pictures = probe.shown.pictures if probe.shown is not None and room is not None else ()
        return OnPage(values=shown, pictures=sum(len(picture.image) for picture in pictures))

    def command(self, report: "ReportRecord") -> str:
        """The command that asks for the probe again; "" for a report without it.

        See `ReportCommands`; of a model that was not typed the name in the report stands.
        """
        probe, seed = report.background, report.provenance.seed
        if probe is None:
            return ""
        commands = ReportCommands(report)
        own = report.model.id if commands.model == ("MODEL",) else None
        model = (own,) if own and wording.can_be_typed(own) else commands.model
        words = [*model, commands.source, *commands.options("audit", contexts=True), *commands.probe()]
        words += ["--seed", str(seed)] if seed else []
        words += ["--probe-option", f"seed={probe.seed}"] if probe.seed != seed else []
        return write_command("audit", *words)

    def verdict(self, report: "ReportRecord") -> Verdict | None:
        """The verdict where no context was named."""
        probe = report.background
        return _fill_verdict(report, probe) if probe is not None and _is_judged(report) else None


_VARIANTS: Mapping[Variant, str] = {
    "original": "as it is",
    "mixed_same": "object on a background of its class",
    "mixed_rand": "object on a background of another class",
    "object_alone": "object alone, on gray",
    "background_alone": "background alone, object filled",
    "pasted_back": "object pasted back on its own background",
}
"""The kinds of images in words."""


def _is_judged(report: "ReportRecord") -> bool:
    """Whether the verdict goes by the probe: no context was named or found."""
    return not (report.benchmark.out_of_context.is_declared or report.is_by_contexts)


def _fill_verdict(report: "ReportRecord", found: BackgroundProbe) -> Verdict:
    """Puts the gap of backgrounds into a verdict.

    The gap g is on a background of the row's class minus on one of another; l and u bound it, d is the practical gap.

    ========= =================================================================
    failed    the interval of all rows includes chance and ends near it
    too_few   g or its interval is undefined
    relies    l > 0 and g >= d
    slight    l > 0 and g < d
    reversed  u < 0
    no_effect l > -d and u < d
    unclear   otherwise
    ========= =================================================================
    """
    gap, practical, rest = found.gap, report.benchmark.practical_gap, ""
    case: Case = "unclear"
    if judge(report).case == "failed":
        case, rest = "failed", "Its gap between backgrounds therefore tells us nothing."
    elif not format_numbers.has_interval(gap):
        case = "too_few"
    elif gap.low > 0:
        case = "relies" if gap >= practical else "slight"
    elif gap.high < 0:
        case, rest = "reversed", "Check the labels and masks before trusting this."
    elif -practical < gap.low and gap.high < practical:
        case = "no_effect"
    return Verdict(
        case=case,
        headline="This model has not learned the task." if case == "failed" else _write_headline(found, is_short=True),
        rest=rest,
        lead=_write_lead(found),
        how_much=_say_how_much(found),
        on_what=_say_on_what(found),
        how_sure=_say_how_sure(report, found),
        is_of_sides=False,
        compared=_compare(found),
    )


def _compare(found: BackgroundProbe) -> Compared | None:
    """The shares on both kinds of background; None if there are no such images."""
    same, other = found.variant("mixed_same").accuracy, found.variant("mixed_rand").accuracy
    if format_numbers.is_undefined(found.gap):
        return None
    return Compared(
        metric=f"{_describe_right_answer(found)} %, by background",
        titles={"in": "own class", "out": "another class"},
        estimates={"in": same, "out": other},
        gap_title="own class minus another",
        gap=found.gap,
    )


def _write_lead(found: BackgroundProbe) -> str:
    """How often the answer is right on both kinds of background."""
    same, other = found.variant("mixed_same").accuracy, found.variant("mixed_rand").accuracy
    if format_numbers.is_undefined(same) or format_numbers.is_undefined(other):
        return f"{_say_names(found)} {_say_share(found.variant('original').accuracy)} as they are."
    there = _say_share(other, short=True)
    is_clear = format_numbers.has_interval(found.gap) and not found.gap.low <= 0 <= found.gap.high
    is_said = is_clear and not are_few((same, other))
    n = f"n = {format_numbers.count(found.gap.n)}"
    gap = f" (difference: {_within(found.gap, also=n)})" if is_said else ""
    of = "of" if found.thing is None else "for"
    return (
        f"{_say_names(found)} {_say_share(same)} on a background from their own class and {of} {there} on one from a "
        f"different class{gap}."
    )


def _say_names(found: BackgroundProbe) -> str:
    return "It names the class of" if found.thing is None else f"It says {wording.words(found.thing)} for"


def _say_share(estimate: Estimate, *, short: bool = False) -> str:
    """A share of objects in percent; of few of them, how many of how many."""
    if format_numbers.is_undefined(estimate):
        return format_numbers.UNDEFINED
    if are_few([estimate]):
        return f"{estimate * estimate.n:.3g} of {format_numbers.count(estimate.n)}{'' if short else ' objects'}"
    return f"{format_numbers.fraction(estimate)}%{'' if short else ' of objects'}"


def _say_how_much(found: BackgroundProbe) -> Fact:
    gap, title = found.gap, "How much"
    if format_numbers.is_undefined(gap):
        return Fact(title, format_numbers.UNDEFINED, f": {gap.reason or 'no such images'}.")
    size = f"{format_numbers.points(gap)}{format_numbers.points_word('fraction')}"
    rows = f"n = {format_numbers.count(gap.n)}, paired"
    return Fact(title, size, f" on backgrounds of its class, compared with another ({_within(gap, also=rows)}).")


def _say_on_what(found: BackgroundProbe) -> Fact:
    """What every other kind of images gives."""
    words = {
        "original": "as it is",
        "object_alone": "object alone",
        "background_alone": "background alone",
        "pasted_back": "object pasted back",
    }
    shares = [
        f"{words[variant.name]} {_say_share(variant.accuracy, short=True)}"
        for variant in found.variants
        if variant.name in words
    ]
    return Fact("On what", "The background’s class", f". {wording.capitalize_sentence(_describe_right_answer(found))}: "
                f"{', '.join(shares)}.")  # fmt: skip


def _say_how_sure(report: "ReportRecord", found: BackgroundProbe) -> Fact:
    covers = format_numbers.seeds(report.model.seeds, wording.name(report.benchmark.words.example))
    if not format_numbers.has_interval(found.gap):
        answer = f"There is no interval: {found.gap.reason or 'no such images'}."
    else:
        answer = f"The interval {'includes' if found.gap.low <= 0 <= found.gap.high else 'excludes'} zero."
    return Fact(
        "How sure", answer, f" {_describe_draws(found)} {wording.capitalize_sentence(covers)}.".replace("  ", " ")
    )


def _within(estimate: Estimate, *, also: str = "") -> str:
    return describe_interval(estimate, signed=True, also=also)


def _write_sentences(report: "ReportRecord") -> tuple[str, ...]:
    """The finding, what it stands on, and which rows were altered; () for a report without the probe."""
    probe = report.background
    if probe is None:
        return ()
    side = wording.title_side(report.benchmark, "in") if probe.lenders == "in_context" else ""
    return (
        _write_headline(probe),
        _describe_gap(probe),
        *filter(None, (_describe_draws(probe), _describe_pasting(probe), _describe_sight(probe))),
        _describe_alone(probe),
        _describe_rows(probe, side, report.benchmark),
    )


def _write_headline(found: BackgroundProbe, *, is_short: bool = False) -> str:
    """The finding in one sentence; one that is short leaves the interval of a clear gap to the sentence after it."""
    gap = found.gap
    if not format_numbers.has_interval(gap):
        return "The effect of the background's class could not be measured."
    within = f" ({_within(gap, also=f'n = {format_numbers.count(gap.n)}')})"
    if gap.low <= 0 <= gap.high:
        size = f"{format_numbers.points(gap)}{format_numbers.points_word('fraction')}"
        return f"The class of the background is not shown to matter to this model's answers: {size}{within}."
    size = f"{format_numbers.points(abs(gap)).lstrip('+')}{format_numbers.points_word('fraction')}"
    other = "another class" if gap.low > 0 else "its own class"
    thing = _name_thing(found)
    return (
        f"This model {thing} less often when the background comes from {other}: by {size}{'' if is_short else within}."
    )


def _build_table(found: BackgroundProbe | None) -> Table:
    """Each kind of images: how often the answer is the row's class, and the changes against the rows as they are."""
    if found is None:
        return Table(heads=(), rows=())
    below = Footnotes()
    rows = [
        (wording.capitalize_sentence(_VARIANTS[variant.name]), *_format_cells(variant, below))
        for variant in found.variants
    ]
    gap = (
        wording.capitalize_sentence(_GAP),
        format_numbers.ABSENT,
        below.cell(found.gap, signed=True),
        below.cell(found.gap_log_odds, _NATS, signed=True),
        format_numbers.ABSENT,
        format_numbers.count(found.gap.n),
    )
    heads = ("Images", f"{_describe_right_answer(found)} %", "Change, points", "Log-odds", "Logit", "n")
    return Table(heads=heads, rows=(*rows, gap), footnotes=below.lines, beside=True)


def _describe_right_answer(found: BackgroundProbe) -> str:
    """What a right answer says: the row's class, or that the thing is there."""
    return "Correct" if found.thing is None else f"Says {wording.words(found.thing)}"


def _format_cells(row: VariantRow, notes: Footnotes) -> tuple[str, ...]:
    return (
        notes.cell(row.accuracy),
        notes.cell(row.accuracy_change, signed=True),
        notes.cell(row.log_odds, _NATS, signed=True),
        notes.cell(row.logit, _NATS, signed=True),
        format_numbers.count(row.accuracy.n),
    )


def _name_thing(found: BackgroundProbe) -> str:
    return "recognizes an object" if found.thing is None else f"says {wording.words(found.thing)}"


def _describe_gap(found: BackgroundProbe) -> str:
    gap, same, other = found.gap, found.variant("mixed_same"), found.variant("mixed_rand")
    if not format_numbers.has_interval(gap):
        return f"No row has a background of both kinds: {wording.name(gap.reason or 'no such images')}."
    odds = found.gap_log_odds
    log_odds = (
        ""
        if format_numbers.is_undefined(odds)
        else (
            f"; in log-odds {format_numbers.points(odds, _NATS)} "
            f"({describe_interval(odds, _NATS, signed=True, level='')})"
        )
    )
    for_share = "of" if found.thing is None else "for"
    says_it = "It names the class" if found.thing is None else f"It says {wording.words(found.thing)}"
    return (
        f"{says_it} {for_share} {format_numbers.fraction(same.accuracy)}% of objects on a background of their own "
        f"class and {for_share} {format_numbers.fraction(other.accuracy)}% on a background of another: "
        f"{format_numbers.points(gap)} points "
        f"({describe_interval(gap, signed=True, also=f'n = {format_numbers.count(gap.n)}, paired', level='')})"
        f"{log_odds}."
    )


def _describe_draws(found: BackgroundProbe) -> str:
    """How many backgrounds a row has, and by how much one of each kind would vary; "" in an older report."""
    if found.draw_deviation is None:
        return ""
    return (
        f"Every object is put on {found.backgrounds} backgrounds of each kind and counts once, by their mean; with one "
        f"background of each kind, the gap varies by {format_numbers.points(found.draw_deviation).lstrip('+')} points "
        "(standard deviation)."
    )


def _describe_pasting(found: BackgroundProbe) -> str:
    """What filling and pasting alone cost; "" where it was not measured."""
    back = found.pasted_back
    cost = None if back is None else back.accuracy_change
    if cost is None or format_numbers.is_undefined(cost):
        return ""
    size = f"{format_numbers.points(cost)}{format_numbers.points_word('fraction')}"
    within = f" ({_within(cost)})" if format_numbers.has_interval(cost) else ""
    where = "Pasted back on their own filled backgrounds, objects change the answers by"
    if cost.high < 0:
        return (
            f"{where} {size}{within}: filling and pasting alone cost this much. The gap does not hold that cost, since "
            "it compares pasted images with pasted images."
        )
    return f"{where} {size}{within}: filling and pasting alone are not shown to cost anything."


def _describe_sight(found: BackgroundProbe) -> str:
    """That other objects of the class may be seen, where the areas may leave some out."""
    if found.is_whole is not False:
        return ""
    return (
        f"Whether {wording.name(found.area)} hold all objects of the class is not known: where others are in sight, a "
        "background of the class shows the class itself, and the gap is larger for it."
    )


def _describe_alone(found: BackgroundProbe) -> str:
    alone, own = found.variant("background_alone").accuracy, found.variant("original").accuracy
    thing = "the row's class" if found.thing is None else wording.words(found.thing)
    within = describe_interval(alone, level="")
    return (
        f"With the object filled in, it still says {thing} for {format_numbers.fraction(alone)}% ({within}), "
        f"compared with {format_numbers.fraction(own)}% of the same rows unaltered."
    )


def _describe_rows(found: BackgroundProbe, side: str, own: EvaluatedBenchmark) -> str:
    left = [f"{wording.name(reason)} ({format_numbers.count(count)})" for reason, count in found.left_out.items()]
    out = f" Left out: {wording.join_names(left)}." if left else ""
    few = found.n_lenders < _SOME_LENDERS
    lent = (
        f" Backgrounds come from {'only ' if few else ''}{format_numbers.count(found.n_lenders)} rows"
        f"{f' {side}' if side else ''}{_FEW if few and METHOD in found.gap.method else ''}."
    )
    without = found.n - found.gap.n
    alone = (
        f" For {format_numbers.count(without)} of them no other image lends a background of both kinds, so they are "
        "not in the difference."
        if 0 < without < found.n
        else ""
    )
    return (
        f"{format_numbers.count(found.n)} rows{wording.name_split(own, found.split)} were altered; their objects "
        f"were located by {wording.name(found.area)}.{out}{lent}{alone} Altered images differ from all training "
        "images, and this alone can cause errors."
    )


def _make_page_content(report: "ReportRecord", *, images: bool = True) -> dict[str, Any] | None:
    """What the template prints of the field `background`; None for a report without it.

    Args:
        report: Any report.
        images: False leaves the images out.

    Raises:
        OochubError: An image that is not a small base64 JPEG.
    """
    probe, sentences = report.background, _write_sentences(report)
    if probe is None:
        return None
    shown = probe.shown if images else None
    return {
        "title": _TITLE,
        "finding": sentences,
        "says": _describe_right_answer(probe),
        "axis": svg.tick_labels(_SCALE, lambda tick: f"{100 * tick:.4g}", most=_TICKS),
        "rows": [
            {
                "name": wording.capitalize_sentence(_VARIANTS[variant.name]),
                "row": variant,
                "chart": svg.row(_SCALE, {"plain": variant.accuracy}, most=_TICKS),
            }
            for variant in probe.variants
        ],
        "gap_name": wording.capitalize_sentence(_GAP),
        "gap": probe.gap,
        "gap_log_odds": probe.gap_log_odds,
        "shown": [] if shown is None else [_make_picture(picture) for picture in shown.pictures],
        "example": "" if shown is None else wording.name(shown.example_id, 60),
        "label": "" if shown is None else wording.words(shown.label),
        "sources": [] if shown is None else [_make_source_link(attribution) for attribution in shown.attributions],
    }


def _make_picture(shown: ProbedPicture) -> dict[str, Any]:
    source, size = embed_picture(shown.image, f"probe {shown.name}")
    if size > _LARGEST:
        raise OochubError(
            f"The image {shown.name} of the probe has {size:,} bytes, but at most {_LARGEST:,} are shown. Make the "
            "report again with `oochub audit`, or render it without images."
        )
    return {
        "name": wording.capitalize_sentence(_VARIANTS[shown.name]),
        "src": source,
        "answer": wording.words(shown.answer),
        "sure": "" if shown.probability is None else f" at {format_numbers.fraction(shown.probability)}%",
    }


def _make_source_link(attribution: str) -> tuple[str | None, str, str]:
    """A link, its host, and what else stands there."""
    link = LINK.match(attribution)
    host = wording.name(link[0].split("/")[2], 40) if link else ""
    return link[0] if link else None, host, wording.name(attribution[len(link[0]) if link else 0 :])
