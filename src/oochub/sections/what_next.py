"""Next steps: the three most useful commands for a report, each with the number that motivates it.

How many rows two sides need so that a smaller difference between them is found.
"""

import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from oochub import catalog
from oochub.records.document import NextStep
from oochub.records.report_records import Side
from oochub.report import format_numbers, theme, wording
from oochub.report.footnotes import describe_interval
from oochub.report.group_findings import FEWEST, is_near_chance, judge_gap, may_be_chance
from oochub.report.report_commands import ReportCommands, write_command
from oochub.report.verdict import UNMARKED, verdict
from oochub.section import Passage, Section
from oochub.stats.estimate import Estimate
from oochub.stats.model_places import smallest_found

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord


_SHOWN = 3
_Z = 1.96
_WIDE = 0.05
"""A group is named for more rows if its 95% interval reaches further than this to either side."""
_WITH_HEAD = (None, "head", "linear_probe")
"""Modes that answer by a last layer, which a repair replaces; None is unknown."""
_READ_LABELS = ("repair", "predict", "train")
"""Commands that take no table of labels, and so cannot read those of such an audit."""
_AUDIT_ONCE = (
    "audit once: an audit repeated until it decides errs more often than its intervals say. `oochub check --anytime` "
    "holds at every look."
)
_COLLECT_ONCE = f"Collect them in one go and {_AUDIT_ONCE}"
_STANDS_FOR = {
    "MODEL": "the model",
    "SOURCE": "its data",
    "COLUMN": "the column of contexts",
    "REPORT": "this report",
    "PREDICTIONS": "its predictions",
    "MASKS": "a folder or a column of masks",
    "OTHER": "the predictions of another model",
    "UNSEEN": "predictions of rows that nobody looked at",
}


class _RowsNeeded(NamedTuple):
    """How many rows two sides need in all: none fewer than they have."""

    inside: int
    outside: int


def _count_needed(inside: int, outside: int, *, found: float, wanted: float) -> _RowsNeeded:
    """The rows with which a smaller difference of two sides is found as often, by adding as few as possible.

        1 / inside + 1 / outside  shrinks to  (wanted / found)**2  of what it is

    It takes rows of both sides to be equally noisy. Rows are added to the smaller side first.

    Args:
        inside: Rows of one side.
        outside: Rows of the other.
        found: The smallest difference that these find.
        wanted: The difference to be found.

    >>> _count_needed(100, 100, found=0.2, wanted=0.1)
    _RowsNeeded(inside=400, outside=400)
    >>> _count_needed(1000, 50, found=0.12, wanted=0.08)  # 1/1000 + 1/120 is 4/9 of 1/1000 + 1/50
    _RowsNeeded(inside=1000, outside=120)
    >>> _count_needed(100, 100, found=0.1, wanted=0.2)
    _RowsNeeded(inside=100, outside=100)
    """
    allowed = (1 / inside + 1 / outside) * (wanted / found) ** 2
    few, many = sorted((inside, outside))
    even = 2 / allowed
    if even <= many and 1 / allowed < many:
        needed = max(few, math.ceil(1 / (allowed - 1 / many) - 1e-9)), many
    else:
        needed = max(few, math.ceil(even - 1e-9)), max(many, math.ceil(even - 1e-9))
    return _RowsNeeded(*(needed if inside <= outside else reversed(needed)))


class WhatNext(Section["ReportRecord"]):
    """Ranks what can be done next by what it settles, and shows the first three.

    1. What keeps the verdict open: a task that is not learned, no context that is named, too few rows on a side, a gap
       that labels may feign.
    2. What may make the model better: a repair, if it is shown to do worse out of context.
    3. What guards a good model: rules, if any gap is shown to be small.
    4. What the verdict leaves unknown: the group whose error is least certain, contexts that nobody labelled, mistakes
       that are not shown, detectors that read features.
    5. What is always possible: rules for later models, a comparison with another one.

    From rows that were chosen after looking nothing follows but a test of the rule of their choice on other rows.

    Each has a reason with a number of the report, and a command of the names that the report knows.
    """

    title, anchor, place = "Next steps", "next", 15

    def has(self, report: "ReportRecord") -> bool:
        """Whether there is anything to do."""
        return any(_list_steps(report))

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """The first three, then what stands in capitals in their commands, and where these run."""
        steps = tuple(_list_steps(report))[:_SHOWN]
        if steps:
            yield Passage(title=self.title, steps=steps, below=tuple(filter(None, _explain_names(report, steps))))


def _list_steps(report: "ReportRecord") -> Iterator[NextStep]:
    """Every step of which the report has the reason, the most useful first; a command once, for its first reason."""
    reasons = set()
    has_table = "few_labels" in (report.findings or {})
    for propose in _RANKED if report.chosen_rows is None else (_test_rule,):
        step = propose(report)
        is_told = step is None or not has_table or step.command.split()[1] not in _READ_LABELS
        if step is not None and is_told and step.command not in reasons:
            reasons.add(step.command)
            yield step


def _test_rule(report: "ReportRecord") -> NextStep | None:
    """A test on other rows, for rows that were chosen by a rule after looking; nothing else follows from such rows."""
    chosen = report.chosen_rows
    if chosen is None or chosen.tested is not None or not chosen.rule:
        return None
    reason = (
        f"{format_numbers.count(chosen.n)} of {format_numbers.count(chosen.among)} rows were selected after looking "
        "at the results, so their numbers do not generalize. Test the rule on rows that nobody has looked at."
    )
    return NextStep(reason, write_command("evaluate", "UNSEEN", "--rows", wording.name(chosen.file), "--unseen"))


def _learn_task(report: "ReportRecord") -> NextStep | None:
    """Training, if rows in context do not tell the model from a guess and more of them would not help."""
    inside = report.headline("in")
    if inside is None or not may_be_chance(report) or not is_near_chance(inside, report.benchmark.chance):
        return None
    reason = (
        f"{_say_number(report, inside, 'in')}, and chance is {_write_chance(report)}. A gap is only meaningful once "
        "the task is learned."
    )
    commands = ReportCommands(report)
    return NextStep(reason, write_command("train", commands.source, *commands.options("train"), "--out", "trained"))


def _name_contexts(report: "ReportRecord") -> NextStep | None:
    """Contexts that are found or named, if the data name none."""
    if report.benchmark.out_of_context.is_declared or report.is_by_contexts or not report.gap.n_in:
        return None
    n, is_one = format_numbers.count(report.gap.n_in), report.gap.n_in == 1
    examples = f"{n} example is" if is_one else f"{n} examples are"
    if report.errors is not None:
        lack = f"{UNMARKED}, so {examples} not compared by context. Contexts that are usual for a class mark them."
        return NextStep(lack, ReportCommands(report).audit("--usual", "CLASS=CONTEXT"))
    lack = f"This dataset does not define a context, so its {examples} not compared"
    if report.background is not None:
        lack = f"This dataset names no context: the probe alone compares its {n} example{'' if is_one else 's'}"
    if _shows_images(report):
        return NextStep(
            f"{lack}. Contexts can be found in the images.", ReportCommands(report).audit("--contexts", "properties")
        )
    return NextStep(
        f"{lack} by context. You can add a context column.", ReportCommands(report).audit("--context-column", "COLUMN")
    )


def _exchange_backgrounds(report: "ReportRecord") -> NextStep | None:
    """The probe of backgrounds, if the data name no context and nothing else tells what the model relies on."""
    is_open = report.is_by_contexts and verdict(report).case == "too_few"
    if (not is_open and _name_contexts(report) is None) or report.background is not None or not _shows_images(report):
        return None
    commands, n = ReportCommands(report), format_numbers.count(report.gap.n_in)
    is_known = commands.asked.knows_objects
    where = "The data say where the object is, so" if is_known else "Where masks or boxes (--boxes) say so,"
    reason = (
        f"Does the model rely on the background? {where} the background of an object can be exchanged in {n} examples; "
        "no column of contexts is needed."
    )
    masks = () if is_known else ("--masks", "MASKS")
    return NextStep(reason, commands.audit("--probe", "background", *masks))


def _add_rows(report: "ReportRecord") -> NextStep | None:
    """More rows of one's own, if there are too few for a verdict, or the interval of the gap includes 0."""
    if report.is_by_contexts or not report.benchmark.out_of_context.is_declared or not _can_grow(report):
        return None
    inside, gap = report.headline("in"), judge_gap(report)
    if inside is not None and may_be_chance(report):
        return None if is_near_chance(inside, report.benchmark.chance) else _tell_from_chance(report, inside)
    if report.gap.n_out_smallest < FEWEST:
        return _fill_smallest_part(report)
    is_of_rows = report.benchmark.out_of_context.form == "rows"
    if not (is_of_rows and _goes_by_rows(gap) and verdict(report).case == "unclear"):
        return None
    detectable = smallest_found([(gap.high - gap.low) / (2 * _Z)], tests=1)
    practical = report.benchmark.practical_gap
    wanted, unit = max(abs(gap.value), practical), report.unit
    if not 0 < wanted < detectable:
        return None
    word = format_numbers.points_word(unit)
    needed = _count_needed(report.gap.n_in, report.gap.n_out, found=detectable, wanted=wanted)
    size = (
        f"one of {format_numbers.whole_points(practical, unit)}{word}, the smallest that matters,"
        if wanted == practical
        else f"one of {_write_size(gap, unit)}{word}, the current estimate,"
    )
    sides = [
        f"{_write_round(n)} {wording.name_side(report.benchmark, side, 'examples')}"
        for side, n in zip(theme.SIDES, needed, strict=True)
    ]
    reason = (
        f"The gap is {format_numbers.points(gap, unit)}{word} ({describe_interval(gap, unit, signed=True)}), n = "
        f"{format_numbers.count(gap.n)}. With this many examples, a gap of {_write_size(detectable, unit)}{word} is "
        f"detected four times out of five; detecting {size} takes about {wording.join_names(sides)} in total. "
        f"{_COLLECT_ONCE}"
    )
    return NextStep(reason, ReportCommands(report).audit())


def _tell_from_chance(report: "ReportRecord", inside: Estimate) -> NextStep | None:
    """More rows in context, if these leave open whether anything was learned."""
    away = inside.value - report.benchmark.chance
    reason = (
        f"{_say_number(report, inside, 'in')}, which leaves open whether it is above chance, {_write_chance(report)}."
    )
    if away > 0 and _goes_by_rows(inside):
        detectable = smallest_found([(inside.high - inside.low) / (2 * _Z)], tests=1)
        needed = inside.n * (detectable / away) ** 2
        if needed > inside.n:  # else the interval is one of few rows, which this law does not describe
            reason += (
                f" If the estimate is right, about {_write_round(needed)} examples would be enough to tell. "
                f"{_COLLECT_ONCE}"
            )
    return NextStep(reason, ReportCommands(report).audit())


def _fill_smallest_part(report: "ReportRecord") -> NextStep:
    """The rows that the smallest part out of context lacks for a verdict."""
    n = report.gap.n_out_smallest
    parts = [report.slice_of(role) for role in ("hard_positive", "hard_negative")]
    part = next((part for part in parts if part is not None and part.n == n), None)
    titled = None if part is None or n == report.gap.n_out else wording.slice_words(report.benchmark, part)
    where = f"examples of {titled}" if titled else wording.name_side(report.benchmark, "out", "examples")
    more = f"Collect {format_numbers.count(FEWEST - n)} or more in one go and {_AUDIT_ONCE}"
    reason = f"A verdict needs {FEWEST} {where}, and n = {format_numbers.count(n)}. {more}"
    return NextStep(reason, ReportCommands(report).audit())


def _repair(report: "ReportRecord") -> NextStep | None:
    """A new last layer, if the model is shown to do worse out of context and has such a layer."""
    told, gap = verdict(report), judge_gap(report)
    is_classifier = report.calibration is not None and report.model.mode in _WITH_HEAD
    has_sides = "challenge" in report.benchmark.out_of_context.where
    if told.case not in ("relies", "slight") or not is_classifier or not (has_sides or report.is_by_contexts):
        return None
    commands = ReportCommands(report)
    if not commands.has_features:
        return None
    if report.is_by_contexts:
        first = report.contexts.contexts[0] if report.contexts else None
        if first is None:
            return None
        gap = first.gap
    unit, where = report.unit, f" with {wording.words(first.name)}" if report.is_by_contexts and first else ""
    reason = (
        f"The gap{where} is {format_numbers.points(gap, unit)}{format_numbers.points_word(unit)} "
        f"({describe_interval(gap, unit, signed=True)}), n = {format_numbers.count(gap.n)}. Retraining the last "
        "layer may narrow it. The repair tests this on held-out rows and suggests which rows to collect."
    )
    options = commands.options("repair", contexts=report.is_by_contexts)
    return NextStep(reason, write_command("repair", *commands.model, commands.source, *options, "--collect"))


def _guard_good_model(report: "ReportRecord") -> NextStep | None:
    """Rules, where they are most of what is left to do: any gap is small."""
    return _guard(report) if verdict(report).case == "no_effect" else None


def _fill_cell(report: "ReportRecord") -> NextStep | None:
    """More rows of the group whose error is least certain, if its interval is wide; of those out of context, if any."""
    there = report.benchmark.out_of_context
    has_sides = there.form == "rows" and there.is_declared
    groups = [row for row in report.group_rows if row.role == "out" or not has_sides]
    rows = [(row, row.error_rate) for row in groups if row.error_rate is not None]
    counted = [(row, error) for row, error in rows if _goes_by_rows(error)]
    if not counted or report.groups_left_out or not _can_grow(report):
        return None
    row, error = max(counted, key=lambda pair: pair[1].high - pair[1].low)
    half = (error.high - error.low) / 2
    if half <= _WIDE:
        return None
    where = f"{wording.title_side(report.benchmark, 'out')} " if has_sides else ""
    reason = (
        f"The error of {wording.group_words(report.benchmark, row)} is {format_numbers.fraction(error)}% "
        f"({describe_interval(error)}), n = {format_numbers.count(row.n)}. No group {where}has a wider interval. "
        f"With about {_write_round(row.n * (half / _WIDE) ** 2)} examples in total, the interval would narrow to "
        f"{format_numbers.whole_points(_WIDE)} points to either side. {_COLLECT_ONCE}"
    )
    return NextStep(reason, ReportCommands(report).audit())


def _look_for_contexts(report: "ReportRecord") -> NextStep | None:
    """Another way to find contexts in images of one's own."""
    if not _shows_images(report) or not _can_grow(report) or verdict(report).case == "failed":
        return None
    contexts, n = report.contexts, format_numbers.count(report.gap.n_in + report.gap.n_out)
    if contexts is not None:
        way, n = "clusters" if contexts.way == "properties" else "properties", format_numbers.count(contexts.n_tested)
        if way == "clusters" and not ReportCommands(report).has_features:
            return None
        reason = (
            f"The contexts were found with {wording.name(contexts.way)} and tested on {n} rows. {way.capitalize()} may "
            "find others."
        )
        return NextStep(reason, ReportCommands(report).audit("--contexts", way))
    if not report.gap.n_out:
        return None
    reason = f"The {n} examples are compared by the contexts in the data. oochub can find others in the images."
    way = "clusters" if ReportCommands(report).has_features else "properties"
    return NextStep(reason, ReportCommands(report).audit("--contexts", way))


def _check_labels(report: "ReportRecord") -> NextStep | None:
    """The mistakes first, if the model does better out of context, which labels that are wrong can feign."""
    return _browse(report) if verdict(report).case == "reversed" else None


def _browse(report: "ReportRecord") -> NextStep | None:
    """All rows, if the report holds fewer mistakes than there are."""
    every = report.slice_of("all")
    accuracy = None if every is None else every.metrics.get("accuracy")
    if accuracy is None or format_numbers.is_undefined(accuracy) or report.calibration is None:
        return None
    wrong, shown = round(accuracy.n * (1 - accuracy.value)), len(report.mistakes)
    if wrong <= shown:
        return None
    reason = (
        f"This report contains {format_numbers.count(shown)} of {format_numbers.count(wrong)} wrong answers. A page "
        "of all rows shows the others by class, context and confidence."
    )
    commands = ReportCommands(report)
    images = ("--images-from", commands.asked.source, *commands.about_images()) if commands.asked.source else ()
    return NextStep(reason, write_command("report", commands.record, "--browse", "rows", *images))


def _read_features(report: "ReportRecord") -> NextStep | None:
    """Features for detectors, if those of the report read logits alone."""
    names = {row.detector.partition(":")[0] for row in report.detection or ()}
    detectors = [catalog.get("detector", name)() for name in names & set(catalog.names("detector"))]
    if (
        not ReportCommands(report).has_features
        or not detectors
        or any("features" in (*detector.fit_needs, *detector.score_needs) for detector in detectors)
    ):
        return None
    n = format_numbers.count(report.provenance.predictions.rows)
    which = "The detector" if len(detectors) == 1 else f"All {len(detectors)} detectors"
    reason = (
        f"{which} in this report use{'s' * (len(detectors) == 1)} only logits, on {n} rows. Detectors that use "
        "features may find what logits do not show."
    )
    typed = ReportCommands(report)
    words = (typed.source, *typed.options("predict"), "--features", "--out", "features.parquet")
    return NextStep(reason, write_command("predict", *typed.model, *words))


def _guard(report: "ReportRecord") -> NextStep | None:
    """Rules that hold a later model to the numbers of this one."""
    sides: tuple[Side, Side] = ("out", "in")
    side = next((side for side in sides if report.headline(side) is not None), sides[0])
    number = report.headline(side)
    is_open = verdict(report).case in ("failed", "too_few") and report.benchmark.out_of_context.is_declared
    if number is None or not format_numbers.has_interval(number) or is_open:
        return None
    reason = (
        f"{_say_number(report, number, side)}. Rules derived from this report check later models against its numbers."
    )
    return NextStep(reason, write_command("check", ReportCommands(report).record, "--suggest"))


def _compare(report: "ReportRecord") -> NextStep:
    """The same rows, answered by another model."""
    n = format_numbers.count(report.provenance.predictions.rows)
    reason = (
        f"A single report cannot show whether another model is better. With its predictions on the same {n} rows, "
        "paired tests can detect smaller differences than the intervals here."
    )
    return NextStep(
        reason, write_command("compare", ReportCommands(report).asked.predictions or "PREDICTIONS", "OTHER")
    )


_RANKED: Sequence[Callable[["ReportRecord"], NextStep | None]] = (
    _learn_task,
    _name_contexts,
    _exchange_backgrounds,
    _add_rows,
    _check_labels,
    _repair,
    _guard_good_model,
    _fill_cell,
    _look_for_contexts,
    _browse,
    _read_features,
    _guard,
    _compare,
)


def _say_number(report: "ReportRecord", number: Estimate, side: Side) -> str:
    """The primary metric on a side, with its interval and its rows."""
    unit, title = report.unit, wording.name(report.description(report.benchmark.primary_metric).title, 40)
    value = format_numbers.quantity(number, unit) + (" of 100" if unit == "fraction" else "")
    where = wording.title_side(report.benchmark, side)
    return f"{title} is {value} {where} ({describe_interval(number, unit)}), n = {format_numbers.count(number.n)}"


def _goes_by_rows(estimate: Estimate) -> bool:
    """Whether there is an interval that more rows narrow; one of few clusters takes more clusters."""
    return format_numbers.has_interval(estimate) and "cluster" not in (estimate.reason or "")


def _write_chance(report: "ReportRecord") -> str:
    return format_numbers.whole_points(report.benchmark.chance, report.unit)


def _write_size(value: float, unit: str) -> str:
    """A difference without its sign."""
    return format_numbers.points(abs(value), unit).lstrip("+")


def _write_round(n: float) -> str:
    """A number of rows that is estimated: the next larger one with two figures."""
    whole = math.ceil(n - 1e-9)
    step = 10 ** max(len(str(whole)) - 2, 0)
    return format_numbers.count(-(-whole // step) * step)


def _shows_images(report: "ReportRecord") -> bool:
    """Whether the rows are known to hold images."""
    return any(mistake.image for mistake in report.mistakes)


def _can_grow(report: "ReportRecord") -> bool:
    """Whether rows can be added: a benchmark that is installed here is what it is."""
    return report.benchmark.name not in catalog.names("benchmark")


def _explain_names(report: "ReportRecord", steps: Sequence[NextStep]) -> Iterator[str]:
    """What stands in capitals, and from where paths are read; "" if nothing needs it."""
    words = [word for step in steps for word in shlex.split(step.command)]
    open_names = [f"{name} ({_STANDS_FOR[name]})" for name in _STANDS_FOR if name in words]
    yield f"Replace {wording.join_names(open_names)} with your own." if open_names else ""
    request = ReportCommands(report).asked
    places = (request.model, request.model_file, request.source, request.predictions, request.report)
    is_known = any(place in words for place in places if place)
    yield "Paths are relative to the folder in which this report was created." if is_known else ""
