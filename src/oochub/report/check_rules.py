"""The rules of a check: read from TOML, which is data alone, and suggested from a report."""

import math
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from oochub.errors import OochubError, unknown_name
from oochub.records.check_records import Bound, Rule, RuleCorrection
from oochub.report import format_numbers
from oochub.report.report import Report
from oochub.report.rule_numbers import RuleNumber, find_numbers, improves_upward
from oochub.storage.reading import read_text

BOUNDS: tuple[Bound, ...] = get_args(Bound)
_CORRECTIONS: tuple[RuleCorrection, ...] = get_args(RuleCorrection)
_FILE_KEYS = ("correction", "rule")
_RULE_KEYS = ("metric", "slice", "group", *BOUNDS)
_LARGEST = 10**6  # bytes of a file of rules
_DIGITS = 30  # of a number that an error repeats
_EXAMPLE = '[[rule]], then metric = "accuracy", slice = "out_of_context" and at_least = 0.7'


@dataclass(frozen=True, kw_only=True)
class CheckRules:
    """The rules of one file.

    Attributes:
        name: Name of the file, or "the rules".
        rules: The rules, in the order of the file.
        correction: "holm" bounds the chance of one false fail among all of them; "none" leaves each at its own level.
    """

    name: str
    rules: tuple[Rule, ...]
    correction: RuleCorrection = "none"

    @property
    def needs_baseline(self) -> bool:
        """Whether a rule compares with a baseline."""
        return any(rule.bound == "at_most_worse" for rule in self.rules)


def read_rules(rules: str | Path | Mapping[str, object]) -> CheckRules:
    """Reads rules and checks every key and value in them; names are looked up in a report later.

    Args:
        rules: A TOML file, or what such a file holds.

    Returns:
        The rules.

    Raises:
        OochubError: No such file or no TOML; an unknown key, near names given; no rule; a rule without a metric,
            without a bound or with several; a bound that is no finite number.

    >>> read_rules({"rule": [{"metric": "accuracy", "at_least": 0.7}]}).rules[0].text
    'accuracy at_least 0.7'
    >>> read_rules({"rule": [{"metric": "accuracy", "at_leest": 0.7}]})
    Traceback (most recent call last):
    oochub.errors.OochubError: No key of rule 1 of the rules named 'at_leest'. Did you mean 'at_least' or 'at_most'? \
Allowed: at_least, at_most, at_most_worse, group, metric, slice.
    """
    if isinstance(rules, Mapping):
        name, content = "the rules", rules
    elif isinstance(rules, str | Path):
        name, content = Path(rules).name, _read_toml(Path(rules).expanduser())
    else:
        raise OochubError(
            f'Rules must be the path of a TOML file or a dict such as {{"rule": [{{"metric": "accuracy", "at_least": '
            f"0.7}}]}}, got a {type(rules).__name__}."
        )
    for key in content:
        if key not in _FILE_KEYS:
            raise unknown_name(f"key of {name}", str(key), _FILE_KEYS)
    asked = content.get("correction", "none")
    correction = next((each for each in _CORRECTIONS if each == asked), None)
    if correction is None:
        raise unknown_name(f"correction in {name}", str(asked), _CORRECTIONS)
    listed = content.get("rule", ())
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not all(isinstance(r, Mapping) for r in listed):
        raise OochubError(f"rule in {name} must be a list of tables. Write {_EXAMPLE}.")
    if not listed:
        raise OochubError(f"There is no rule in {name}, so nothing can pass. Write {_EXAMPLE}.")
    found = tuple(_read_rule(f"rule {number} of {name}", each) for number, each in enumerate(listed, 1))
    met: set[Rule] = set()
    for number, rule in enumerate(found, 1):
        if rule in met:
            raise OochubError(f"Rule {number} of {name} stands there twice: {rule.text}. Take one of them out.")
        met.add(rule)
    return CheckRules(name=name, rules=found, correction=correction)


def _read_toml(file: Path) -> Mapping[str, object]:
    text = read_text(file, largest=_LARGEST)
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise OochubError(f"{file} is not TOML: {error}. Write {_EXAMPLE}.") from None


def _read_rule(name: str, given: Mapping[str, object]) -> Rule:
    for key in given:
        if key not in _RULE_KEYS:
            raise unknown_name(f"key of {name}", str(key), _RULE_KEYS)
    texts: dict[str, str] = {}
    for key in ("metric", "slice", "group"):
        text = given.get(key, None)
        if isinstance(text, str) and text:
            texts[key] = text
        elif key in given:
            raise OochubError(f"{key} in {name} must be a text in quotes, got {text!r}.")
    if "metric" not in texts:
        raise OochubError(f'There is no metric in {name}. Add a line such as metric = "accuracy".')
    if "*" in texts["metric"]:
        raise OochubError(f"metric in {name} must be one name, got {texts['metric']!r}. Write a rule for each metric.")
    if "slice" in texts and "group" in texts:
        raise OochubError(f"slice and group stand together in {name}. Leave one of them out.")
    bounds = [key for key in BOUNDS if key in given]
    if len(bounds) != 1:
        got = " and ".join(bounds) or "none"
        raise OochubError(f"There must be one of {', '.join(BOUNDS)} in {name}, got {got}.")
    limit = given[bounds[0]]
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not abs(limit) <= sys.float_info.max:
        raise OochubError(f"{bounds[0]} in {name} must be a finite number, got {_shorten(limit)}.")
    if bounds[0] == "at_most_worse" and limit < 0:
        raise OochubError(f"at_most_worse in {name} must be 0 or larger, got {limit:g}: it says how much may be lost.")
    place = {key: texts.get(key) for key in ("slice", "group")}
    return Rule(metric=texts["metric"], **place, bound=bounds[0], limit=float(limit))


def _shorten(value: object) -> str:
    """What was given, as Python writes it; a number of hundreds of digits by their number."""
    if isinstance(value, int) and abs(value) >= 10**_DIGITS:
        return f"a whole number of more than {_DIGITS} digits"
    return f"{value!r:.200}" if isinstance(value, int | float | str | bool) else f"a {type(value).__name__}"


def suggest_rules(report: Report, *, name: str, margin: float = 2.0) -> str:
    """A first file of rules: bounds at what a report shows today, less a margin.

    It has the primary metric on all rows and on both sides, the gap and the worst group, where the report has them. A
    number that today's rows would leave undecided says so in its comment.

    Args:
        report: The report.
        name: What the comments call it.
        margin: The margin in points; for metrics that are no fractions, in percent of the number.

    Returns:
        TOML.

    Raises:
        OochubError: The report has none of these numbers.
    """
    primary = report.benchmark.primary_metric
    sides = [part.name for part in (report.slice_of("in"), report.slice_of("out")) if part is not None]
    asked = [Rule(metric=primary, slice=place, bound="at_least", limit=0.0) for place in (None, *sides)]
    asked += [Rule(metric=metric, bound="at_least", limit=0.0) for metric in ("gap", "worst_group")]
    blocks = [block for rule in asked for block in _suggest_rule(report, rule, name=name, margin=margin)]
    if not blocks:
        raise OochubError(f"{name} has no number of {primary} to start from. Write rules by hand: docs/check.md.")
    head = [
        f"# Rules for `oochub check`, from what {_comment(name)} shows, less a margin of {margin:g} points.",
        "# Bounds are in the metric's own unit: 0.7 is 70%. Change them to what your release needs.",
    ]
    worse = [
        "# With --baseline OLD.json, the new model must not be worse than the old one by more than this:",
        "# [[rule]]",
        f'# metric = "{primary}"',
        "# at_most_worse = 0.02",
    ]
    return "\n\n".join(["\n".join(head), *blocks, "\n".join(worse)]) + "\n"


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _suggest_rule(report: Report, rule: Rule, *, name: str, margin: float) -> Iterator[str]:
    try:
        (number,) = find_numbers(report, rule, name=name)
    except OochubError:  # the report has no such number
        return
    estimate, described = number.estimate, number.described
    if format_numbers.is_undefined(estimate):
        return
    upward = improves_upward(described)
    step = margin / 100 if described.unit in ("fraction", "correlation") else margin / 100 * abs(estimate.value)
    bound = "at_least" if upward else "at_most"
    limit = estimate.value - step if upward else estimate.value + step
    limit = (math.floor if upward else math.ceil)(round(limit * 1000, 6)) / 1000
    if not number.allows(limit):
        return
    end = estimate.low if upward else estimate.high
    decided = end > limit if upward else end < limit  # False where there is no interval
    shown = f"{estimate.value:.3f}"
    if format_numbers.has_interval(estimate):
        shown += f", 95% interval {estimate.low:.3f} to {estimate.high:.3f}"
    short = "" if decided else ": its rows are too few to decide this bound"
    lines = [f"# today {shown}, n = {estimate.n:,}{short}", "[[rule]]", f'metric = "{rule.metric}"']
    lines += [f'slice = "{rule.slice}"'] if rule.slice else []
    yield "\n".join([*lines, f"{bound} = {limit:.3f}"])


def check_limits(rule: Rule, number: RuleNumber, *, name: str) -> None:
    """Refuses a bound that every number keeps, or that none can keep.

    Args:
        rule: The rule.
        number: The number that it is held to.
        name: What errors call the report.

    Raises:
        OochubError: A bound outside what the number can be, a bound of the gap on its harmless side, or at_most_worse
            for a number of which neither direction is better.
    """
    described = number.described
    if rule.bound == "at_most_worse":
        if described.direction not in ("higher", "lower"):
            raise OochubError(
                f"{rule.metric} in {name} has no better direction, so at_most_worse says nothing. Use at_least or "
                "at_most."
            )
        low, high = described.minimum, described.maximum
        if low is not None and high is not None and rule.limit >= high - low:
            raise OochubError(
                f"at_most_worse = {rule.limit:g} of {rule.metric} would pass any model: it lies between {low:g} and "
                f"{high:g}. Bounds are in the metric's own unit: 0.02 is 2 points."
            )
        return
    if not number.allows(rule.limit):
        ends = ((described.minimum, "above"), (described.maximum, "below"))
        words = " and ".join(f"{word} {end:g}" for end, word in ends if end is not None)
        raise OochubError(
            f"{rule.bound} of {rule.metric} must lie {words}, got {rule.limit:g}. Bounds are in the metric's own unit: "
            "0.7 is 70%."
        )
    if number.is_gap and (rule.bound == "at_least") != improves_upward(described):
        other, sign = ("at_least", "-") if improves_upward(described) else ("at_most", "")
        raise OochubError(
            f"{rule.bound} of {rule.metric} would pass a model that relies on context: the gap is out of context minus "
            f"in context, and {'below' if sign else 'above'} 0 for such a model. Write {other} = {sign}0.05, which "
            "allows 5 points."
        )
