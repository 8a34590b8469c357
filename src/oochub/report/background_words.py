"""What is said of pictures whose object or background was altered: no more than the intervals allow."""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from oochub.build_record import OWN
from oochub.report import numbers, wording
from oochub.report.background_records import BackgroundProbe, Variant, VariantRow
from oochub.report.text_table import TextTable
from oochub.stats.estimate import Estimate

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


def background_sentences(report: "Report") -> tuple[str, ...]:
    """The finding, what it stands on, and which rows were altered; () for a report without the probe."""
    found = report.background
    if found is None:
        return ()
    side = wording.side_title(report.benchmark, "in") if found.lenders == "in_context" else ""
    return background_headline(found), _gap(found), _alone(found), _rows(found, side)


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
    rows = [(wording.sentence_case(VARIANTS[each.name]), *_cells(each)) for each in found.variants]
    gap = (
        wording.sentence_case(GAP),
        numbers.ABSENT,
        _change(found.gap),
        _change(found.gap_log_odds, _NATS),
        numbers.ABSENT,
        numbers.count(found.gap.n),
    )
    heads = ("Pictures", f"{says(found)} %", "Change, points", "Log-odds", "Logit", "n")
    return TextTable(heads=heads, rows=(*rows, gap))


def says(found: BackgroundProbe) -> str:
    """What a right answer says: the row's class, or that the thing is there."""
    return "Says its class" if found.thing is None else f"Says {wording.words(found.thing)}"


def _cells(row: VariantRow) -> tuple[str, ...]:
    interval = numbers.interval(row.accuracy)
    return (
        numbers.fraction(row.accuracy) + (f"\n{interval}" if interval else ""),
        _change(row.accuracy_change),
        _change(row.log_odds, _NATS),
        _change(row.logit, _NATS),
        numbers.count(row.accuracy.n),
    )


def _change(estimate: Estimate | None, unit: str = "fraction", *, within: bool = False) -> str:
    """A change and its interval: below it in a table, in brackets within a sentence."""
    if estimate is None:
        return numbers.ABSENT
    interval = numbers.interval_points(estimate, unit)
    behind = f" ({interval})" if within else f"\n{interval}"
    return numbers.points(estimate, unit) + (behind if interval else "")


def _thing(found: BackgroundProbe) -> str:
    return "the class of an object" if found.thing is None else wording.words(found.thing)


def _gap(found: BackgroundProbe) -> str:
    gap, same, other = found.gap, found.variant("mixed_same"), found.variant("mixed_rand")
    if not numbers.has_interval(gap):
        return f"No row has a background of both kinds: {wording.name(gap.reason or 'no such pictures')}."
    says_it = "It names the class of" if found.thing is None else f"It says {wording.words(found.thing)} for"
    return (
        f"{says_it} {numbers.fraction(same.accuracy)}% of objects on a background of their own class, "
        f"{numbers.fraction(other.accuracy)}% on one of another: {numbers.points(gap)} points "
        f"({numbers.interval_points(gap)}, n = {numbers.count(gap.n)}, paired), of the log-odds "
        f"{_change(found.gap_log_odds, _NATS, within=True)}."
    )


def _alone(found: BackgroundProbe) -> str:
    alone, own = found.variant("background_alone").accuracy, found.variant("original").accuracy
    thing = "the row's class" if found.thing is None else wording.words(found.thing)
    return (
        f"With the object filled it still says {thing} for {numbers.fraction(alone)}% ({numbers.interval(alone)}), "
        f"for {numbers.fraction(own)}% of the same rows as they are."
    )


def _rows(found: BackgroundProbe, side: str) -> str:
    left = [f"{wording.name(reason)} ({numbers.count(count)})" for reason, count in found.left_out.items()]
    out = f" Left out: {wording.listed(left)}." if left else ""
    lent = f" Backgrounds are lent by {numbers.count(found.n_lenders)} rows{f' {side}' if side else ''}."
    return (
        f"{numbers.count(found.n)} rows of {wording.name(found.split, 30)} altered, their objects by "
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
