"""Holds reports to rules: each passes, fails, or is undecided where there are too few rows to decide."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from oochub.checking.check import Check
from oochub.checking.rules import (
    CheckRules,
    Rule,
    RuleNumber,
    RuleOutcome,
    State,
    check_limits,
    find_numbers,
    place_limit,
    read_rules,
)
from oochub.errors import OochubError, choose_wording
from oochub.report.report import Report
from oochub.report.report_record import check_all_rows
from oochub.settings import only, with_options
from oochub.settings.report_settings import CheckSettings
from oochub.stats.estimate import SOME_CLUSTERS, Estimate
from oochub.stats.p_values import holm
from oochub.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from oochub.checking.change import PairedChange

_ROUNDING = 1e-9
_WHOLE = 1e-6  # so near a count is a whole number
_RANKED_CLUSTERS = "obuchowski"  # an interval that covers too little where few clusters count (docs/intervals.md)
_MOST_TIMES = 1_000  # as many rows as are there, of which nothing is said beyond
_Source = Report | str | Path
_NO_CHANGE = "the same model and the same answers"


@with_options("check", baseline=_Source | None)
def check(
    report: _Source | Iterable[_Source],
    rules: str | Path | Mapping[str, object],
    *,
    asked: Annotated[CheckSettings, only("baseline", "undecided", "anytime", "earlier")],
) -> Check:
    """Holds reports to rules, by the 95% interval of each number.

    A rule passes if the interval lies wholly on the good side of its bound, fails if it lies wholly on the bad side,
    and is undecided if the interval includes the bound: there are too few rows to decide. A number without an interval
    is undecided. docs/check.md describes the rules.

    Args:
        report: A Report, the path of one, the folder of an audit, or several of these; each is held to every rule.
        rules: A TOML file, or what such a file holds: {"rule": [{"metric": "accuracy", "at_least": 0.7}]}.
        asked: The options of `CheckSettings`.

    Returns:
        The Check: an outcome for each report, rule and number; `state` and `exit_code` of them all.

    Raises:
        OochubError: A file that is no report or no rules; an earlier look that breaks the promise; a metric, slice,
            group or key that does not exist, near names given; a bound that every number or none can keep; a report
            on chosen rows; at_most_worse without a baseline, or a baseline of another benchmark, of other
            rows, classes or labels; predictions beside a report that it is not made of, or that give other numbers.

    >>> label = [0, 1] * 100
    >>> answers = [[1.0, 0.0] if truth == 0 else [0.0, 1.0] for truth in label]
    >>> predictions = __import__("oochub").Predictions.from_arrays(logits=answers, label=label)
    >>> report = __import__("oochub").evaluate(predictions)
    >>> found = check(report, {"rule": [{"metric": "accuracy", "at_least": limit} for limit in (0.9, 0.99)]})
    >>> [each.state for each in found.outcomes], found.state, found.exit_code
    (['pass', 'undecided'], 'undecided', 3)
    """
    read = read_rules(rules)
    _check_baseline(read, asked.baseline)
    sources = [report] if isinstance(report, _Source) else list(report)
    if not sources:
        raise OochubError("There are no reports to check. Pass the path of a report.json.")
    opened = [_open(source, number) for number, source in enumerate(sources, 1)]
    old = None if asked.baseline is None else _open(asked.baseline, 0)
    for each, name, _ in [*opened, *([] if old is None else [old])]:
        check_all_rows(each, name, why="Rules hold a model to bounds on all rows")
    is_anytime = asked.anytime or read.looks == "any"
    named = [asked.earlier] if isinstance(asked.earlier, _Source) else asked.earlier
    earlier = [_open(source, 0) for source in named]
    for look in earlier:
        _check_earlier(look, opened)
        if is_anytime:
            _check_growth(look, opened[0])
    outcomes = [outcome for source in opened for outcome in _check_report(*source, read.rules, old, is_anytime)]
    if read.correction == "holm":
        outcomes = _correct(outcomes)
    return Check(
        rules=read.name,
        correction=read.correction,
        baseline=None if old is None else old[1],
        undecided=asked.undecided,
        looks="any" if is_anytime else "one",
        earlier=len(earlier),
        outcomes=tuple(outcomes),
    )


_Opened = tuple[Report, str, Path | None]
"""A report, what it is called, and the file that it was read from."""


def _check_baseline(rules: CheckRules, baseline: _Source | None) -> None:
    option = choose_wording("baseline=", "--baseline REPORT")
    if rules.needs_baseline and baseline is None:
        raise OochubError(f"at_most_worse in {rules.name} compares with an old model. Pass its report: {option}.")
    if baseline is not None and not rules.needs_baseline:
        raise OochubError(
            f"Only rules with at_most_worse read a baseline, and {rules.name} has none. Remove "
            f"{choose_wording('baseline=')}, or add such a rule."
        )


def _check_earlier(earlier: _Opened, opened: Sequence[_Opened]) -> None:
    """Refuses an earlier look that is none: several reports, another benchmark or model, or more rows."""
    named = choose_wording("earlier=[...]", "--earlier")
    if len(opened) != 1:
        raise OochubError(
            f"{named} names earlier looks at one model, got {len(opened)} reports. Check them one by one."
        )
    ((report, name, _),) = opened
    _check_same_benchmark(report, name, earlier, what="An earlier look")
    old = earlier[0]
    if old.model.revision != report.model.revision or old.model.id != report.model.id:
        raise OochubError(f"{earlier[1]} is of another model than {name}, so it is no earlier look at it. Remove it.")
    if old.slices[0].n > report.slices[0].n:
        raise OochubError(
            f"{earlier[1]} has {old.slices[0].n:,} rows, more than the {report.slices[0].n:,} of {name}. An earlier "
            "look is one before rows were added; check the report of all rows."
        )


def _check_growth(earlier: _Opened, report: _Opened) -> None:
    from oochub.checking.rule_rows import check_growth  # as `PairedChange`

    check_growth(earlier, report)


def open_report(source: _Source) -> Report:
    """A report, of itself, of its file or of the folder of an audit.

    Raises:
        OochubError: What is there is none.
    """
    return _open(source, 1)[0]


def _open(source: _Source, number: int) -> _Opened:
    if isinstance(source, Report):
        return source, f"report {number}" if number else "the baseline", None
    if not isinstance(source, str | Path):
        raise OochubError(f"A report must be a Report or the path of one, got a {type(source).__name__}.")
    path = Path(source).expanduser()
    path = path / "report.json" if path.is_dir() else path
    return Report.load(path), str(source), path


def _check_report(
    report: Report, name: str, path: Path | None, rules: Sequence[Rule], baseline: _Opened | None, is_anytime: bool
) -> Iterator[RuleOutcome]:
    changes: PairedChange | None = None
    judge = _open_rows(report, path) if is_anytime else _keep_both_tails
    for rule in rules:
        for number in find_numbers(report, rule, name=name):
            check_limits(rule, number, name=name)
            own = _name_exactly(rule, number)
            if rule.bound != "at_most_worse" or baseline is None:
                yield _judge(own, number, name, judge(number))
                continue
            _check_same_benchmark(report, name, baseline)
            before = _find_same(baseline, own, number)
            if _is_same_model(report, baseline[0]):
                _check_same_number(name, number, baseline[1], before)
                nothing = Estimate(0.0, low=0.0, high=0.0, n=number.estimate.n, method=_NO_CHANGE)
                yield _judge(own, number, name, nothing, before, "paired")
                continue
            changes = changes or _pair(baseline, (report, name, path))
            change, paired = changes.of(before, number)
            yield _judge(own, number, name, changes.at_any_look(number) if is_anytime else change, before, paired)


def _open_rows(report: Report, path: Path | None) -> Callable[[RuleNumber], Estimate]:
    from oochub.checking.rule_rows import AnytimeNumbers  # as `PairedChange`

    return AnytimeNumbers(report, path).of


def _name_exactly(rule: Rule, number: RuleNumber) -> Rule:
    """The rule of one number alone, by the names of its slice or group."""
    return replace(
        rule,
        slice=number.part.name if rule.slice is not None and number.part is not None else None,
        group=number.row.group if number.row is not None else None,
    )


def _pair(baseline: _Opened, report: _Opened) -> "PairedChange":
    from oochub.checking.change import PairedChange  # reads predictions, which most checks need not

    return PairedChange(baseline, report)


def _check_same_benchmark(report: Report, name: str, baseline: _Opened, what: str = "A baseline") -> None:
    for part in ("name", "config"):
        values = [getattr(opened.benchmark, part) for opened in (report, baseline[0])]
        if values[0] != values[1]:
            raise OochubError(
                f"{name} is of the {part} {values[0]}, and {baseline[1]} of {values[1]}. {what} must be of the "
                "same benchmark; check the reports one by one."
            )


def _find_same(baseline: _Opened, rule: Rule, number: RuleNumber) -> RuleNumber:
    """The number of the baseline that a number of the report is compared with."""
    numbers = find_numbers(baseline[0], rule, name=baseline[1])
    same = next((other for other in numbers if other.key == number.key), None)
    if same is None:
        raise OochubError(f"{baseline[1]} has no {number.metric} of {number.place or 'all rows'} to compare with.")
    return same


def _is_same_model(report: Report, baseline: Report) -> bool:
    """Whether both are of the same weights and the same answers to the same rows: then nothing has changed at all."""
    if report.model.revision is None or report.model.revision != baseline.model.revision:
        return False
    return report.provenance.predictions.sha256 == baseline.provenance.predictions.sha256


def _check_same_number(name: str, number: RuleNumber, baseline: str, before: RuleNumber) -> None:
    """Refuses two reports of the same answers whose numbers differ: one was edited, or made by another version."""
    values = (number.estimate.value, before.estimate.value)
    same = math.isclose(*values, rel_tol=_WHOLE, abs_tol=_WHOLE) or all(map(math.isnan, values))
    if not same or number.estimate.n != before.estimate.n:
        raise OochubError(
            f"{name} and {baseline} name the same model and the same answers, and differ in {number.metric}: "
            f"{values[0]:.6g} of {number.estimate.n:,} and {values[1]:.6g} of {before.estimate.n:,}. One was edited or "
            "made by another version of oochub: evaluate both predictions again."
        )


def _judge(
    rule: Rule,
    number: RuleNumber,
    name: str,
    judged: Estimate,
    before: RuleNumber | None = None,
    paired: str | None = None,
) -> RuleOutcome:
    is_least, limit = place_limit(rule, number.described)
    state, reason = _decide(judged, is_least, limit)
    return RuleOutcome(
        rule=rule,
        report=name,
        place=number.place,
        described=number.described,
        number=number.estimate,
        judged=judged,
        baseline=None if before is None else before.estimate,
        change=None if before is None else judged,
        paired=paired,
        state=state,
        reason=reason,
        needed=_count_needed(judged, limit) if state == "undecided" else None,
    )


def _keep_both_tails(number: RuleNumber) -> Estimate:
    """The number; a share of independent rows with the exact interval, either end of which errs in 2.5% at most.

    Wilson's interval holds a share of 98% of 50 rows in 95%, and lies below it in 8% (docs/check.md): fine for a number
    that is shown, and too often for a rule that fails.
    """
    estimate, ones = number.estimate, number.ones
    if ones is None:
        return estimate
    exact = clopper_pearson(ones, estimate.n)
    ends = {"low": exact.low, "high": exact.high}
    return Estimate.from_dict({**estimate.to_dict(), **ends, "method": exact.method})


def _decide(judged: Estimate, is_least: bool, limit: float) -> tuple[State, str]:
    """What the interval says, and what limits it."""
    reason = judged.reason or ""
    if math.isnan(judged.value):
        return "undecided", f"cannot be computed: {reason or 'no reason is given'}"
    if math.isnan(judged.low) or math.isnan(judged.high):
        return "undecided", f"no interval: {reason or judged.method}"
    is_above, is_below = judged.low > limit + _ROUNDING, judged.high < limit - _ROUNDING
    if (is_above or is_below) and reason and _RANKED_CLUSTERS in judged.method:
        return "undecided", f"{reason}; an AUC is decided with {SOME_CLUSTERS} clusters of equal size or more"
    if is_above or is_below:
        return ("pass" if is_above == is_least else "fail"), reason
    return "undecided", "; ".join(filter(None, ["too few rows to decide", reason]))


def _count_needed(judged: Estimate, limit: float) -> int | None:
    """About how many rows would decide it, if they showed the same number: the square of how much too wide it is."""
    distance = abs(judged.value - limit)
    half = judged.value - judged.low if judged.value > limit else judged.high - judged.value
    if math.isnan(half) or distance <= 0 or not 1 <= half / distance <= math.sqrt(_MOST_TIMES):
        return None
    rows = judged.n * (half / distance) ** 2
    step: int = 10 ** max(0, math.floor(math.log10(rows)) - 1)
    return math.ceil(rows / step) * step


def _correct(outcomes: Sequence[RuleOutcome]) -> list[RuleOutcome]:
    """The same, where a fail stands only if it does among all rules; every number with an interval is of the family.

    A fail is a one-sided test at 2.5%, so its two-sided p-value is held to 5%. What does not fail has no part in the
    first steps of Holm's correction, and counts.
    """
    tested = [
        outcome.p_value if outcome.state == "fail" or math.isnan(outcome.p_value) else 1.0 for outcome in outcomes
    ]
    reason = "fails by itself, and not among all rules (Holm)"
    return [
        replace(outcome, state="undecided", reason="; ".join(filter(None, [reason, outcome.reason])))
        if outcome.state == "fail" and not stands
        else outcome
        for outcome, stands in zip(outcomes, holm(tested), strict=True)
    ]
