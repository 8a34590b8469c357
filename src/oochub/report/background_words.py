"""What is said of pictures whose object or background was altered: no more than the intervals allow."""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from oochub.records.build_record import OWN
from oochub.records.finding_records import BackgroundProbe, Variant, VariantRow
from oochub.records.origin_records import EvaluatedBenchmark
from oochub.report import numbers, wording
from oochub.report.footnotes import Footnotes, interval_words
from oochub.report.text_table import TextTable
from oochub.stats.estimate import Estimate
from oochub.stats.shared_units import METHOD

if TYPE_CHECKING:
    from oochub.report.report import Report

TITLE = "Object and background apart"
VARIANTS: Mapping[Variant, str] = {
    "original": "as it is",
    "object_alone": "object alone, on gray",
    "background_alone": "background alone, object filled",
    "mixed_same": "object on a background of its class",
    "mixed_rand": "object on a background of another class",
}
"""The kinds of pictures in words."""
GAP = "its class less another (BG gap)"
_NATS = "nats"
_SOME_LENDERS = 40
_FEW = ": the intervals allow for that, and may still be too narrow"


def background_sentences(report: "Report") -> tuple[str, ...]:
    """The finding, what it stands on, and which rows were altered; () for a report without the probe."""
    found = report.background
    if found is None:
        return ()
    side = wording.side_title(report.benchmark, "in") if found.lenders == "in_context" else ""
    return background_headline(found), _gap(found), _alone(found), _rows(found, side, report.benchmark)


def background_headline(found: BackgroundProbe) -> str:
    """The finding in one sentence, by the interval of the gap."""
    gap = found.gap
    if not numbers.has_interval(gap):
        return "Whether the class of the background matters could not be measured."
    if gap.low <= 0 <= gap.high:
        return "It is not shown that the class of the background matters to this model's answers."
    than = "of another class than on one of its own" if gap.low > 0 else "of its own class than on one of another"
    return f"This model says {_thing(found)} less often on a background {than}."


def background_table(found: BackgroundProbe | None) -> TextTable:
    """Each kind of pictures: how often the answer is the row's class, and the changes against the rows as they are."""
    if found is None:
        return TextTable(heads=(), rows=())
    below = Footnotes()
    rows = [(wording.sentence_case(VARIANTS[each.name]), *_cells(each, below)) for each in found.variants]
    gap = (
        wording.sentence_case(GAP),
        numbers.ABSENT,
        _change(found.gap, below),
        _change(found.gap_log_odds, below, _NATS),
        numbers.ABSENT,
        numbers.count(found.gap.n),
    )
    heads = ("Pictures", f"{says(found)} %", "Change, points", "Log-odds", "Logit", "n")
    return TextTable(heads=heads, rows=(*rows, gap), footnotes=below.lines)


def says(found: BackgroundProbe) -> str:
    """What a right answer says: the row's class, or that the thing is there."""
    return "Says its class" if found.thing is None else f"Says {wording.words(found.thing)}"


def _cells(row: VariantRow, notes: Footnotes) -> tuple[str, ...]:
    return (
        f"{numbers.fraction(row.accuracy)}\n{notes.below(row.accuracy)}",
        _change(row.accuracy_change, notes),
        _change(row.log_odds, notes, _NATS),
        _change(row.logit, notes, _NATS),
        numbers.count(row.accuracy.n),
    )


def _change(estimate: Estimate | None, notes: Footnotes, unit: str = "fraction") -> str:
    """A change, and below it its interval, or why it has none."""
    if estimate is None:
        return numbers.ABSENT
    return f"{numbers.points(estimate, unit)}\n{notes.below(estimate, unit, signed=True)}"


def _thing(found: BackgroundProbe) -> str:
    return "the class of an object" if found.thing is None else wording.words(found.thing)


def _gap(found: BackgroundProbe) -> str:
    gap, same, other = found.gap, found.variant("mixed_same"), found.variant("mixed_rand")
    if not numbers.has_interval(gap):
        return f"No row has a background of both kinds: {wording.name(gap.reason or 'no such pictures')}."
    odds = found.gap_log_odds
    log_odds = f"{numbers.points(odds, _NATS)} ({interval_words(odds, _NATS, signed=True, level='')})"
    says_it = "It names the class of" if found.thing is None else f"It says {wording.words(found.thing)} for"
    return (
        f"{says_it} {numbers.fraction(same.accuracy)}% of objects on a background of their own class, "
        f"{numbers.fraction(other.accuracy)}% on one of another: {numbers.points(gap)} points "
        f"({interval_words(gap, signed=True, also=f'n = {numbers.count(gap.n)}, paired', level='')}), of the log-odds "
        f"{log_odds}."
    )


def _alone(found: BackgroundProbe) -> str:
    alone, own = found.variant("background_alone").accuracy, found.variant("original").accuracy
    thing = "the row's class" if found.thing is None else wording.words(found.thing)
    within = interval_words(alone, level="")
    return (
        f"With the object filled it still says {thing} for {numbers.fraction(alone)}% ({within}), "
        f"for {numbers.fraction(own)}% of the same rows as they are."
    )


def _rows(found: BackgroundProbe, side: str, own: EvaluatedBenchmark) -> str:
    left = [f"{wording.name(reason)} ({numbers.count(count)})" for reason, count in found.left_out.items()]
    out = f" Left out: {wording.listed(left)}." if left else ""
    few = found.n_lenders < _SOME_LENDERS
    lent = (
        f" Backgrounds are lent by {'only ' if few else ''}{numbers.count(found.n_lenders)} rows"
        f"{f' {side}' if side else ''}{_FEW if few and METHOD in found.gap.method else ''}."
    )
    return (
        f"{numbers.count(found.n)} rows{wording.of_split(own, found.split)} altered, their objects by "
        f"{wording.name(found.area)}.{out}{lent} Altered pictures are unlike any of "
        "training, which alone may cost answers."
    )


def probe_command(report: "Report") -> str:
    """The command that asks for the probe again; "" for a report without it.

    What the report does not know stands in capitals: your own data, and a model that nobody named.
    """
    found, benchmark = report.background, report.benchmark
    if found is None:
        return ""
    source = "SOURCE" if benchmark.name == OWN else f"{benchmark.name}/{benchmark.config}"
    seed = report.provenance.seed
    words = ["oochub", "audit", report.model.id or "MODEL", source, *(found.options or ("--probe", "background"))]
    words += ["--seed", str(seed)] if seed else []
    words += ["--probe-option", f"seed={found.seed}"] if found.seed != seed else []
    return shlex.join(words)
