"""The verdict on a report, in words: does the model rely on context, how much, on what, and how sure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from oochub.report import numbers, wording
from oochub.report.group_drops import Drop, group_drops
from oochub.report.theme import SIDES

Case = Literal["failed", "too_few", "relies", "slight", "no_effect", "reversed", "unclear"]

_FEWEST = 50  # examples that the smallest out-of-context slice must hold


class Fact(NamedTuple):
    """One of the three facts below the headline.

    Attributes:
        title: The question.
        answer: The answer, printed bold.
        detail: What follows it, with its own leading space or punctuation; may be empty.
    """

    title: str
    answer: str
    detail: str

    @property
    def text(self) -> str:
        """The fact in one line of plain text."""
        return f"{self.title}: {self.answer}{self.detail}"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the numbers of a report allow to be said.

    Attributes:
        case: The row of the table of cases that fits first.
        headline: The sentence that answers whether the model relies on context.
        rest: What must be said with it; empty in most cases.
        lead: Both sides in whole numbers, for a reader who does not know the metric.
        how_much: The gap with its interval.
        on_what: The context, or the groups that fall most.
        how_sure: What the interval says and covers.
    """

    case: Case
    headline: str
    rest: str
    lead: str
    how_much: Fact
    on_what: Fact
    how_sure: Fact

    @property
    def sentence(self) -> str:
        """Headline and rest: the first line of every rendering."""
        return f"{self.headline} {self.rest}".strip()

    @property
    def facts(self) -> tuple[Fact, Fact, Fact]:
        """The three facts in their order."""
        return self.how_much, self.on_what, self.how_sure

    @property
    def is_shown(self) -> bool:
        """False where the data do not settle the question: charts then draw hollow marks."""
        return self.case not in ("failed", "too_few", "unclear")


def verdict(report: Mapping[str, Any]) -> Verdict:
    """Put the head numbers of a report into words; numbers in, text out.

    The gap is out of context minus in context on the benchmark's primary metric, negative = worse out of context.
    Of the cases below the first that fits wins; l and u bound the gap g, d is the benchmark's practical gap.
    An in-context interval wholly below chance counts as including it: neither is better than guessing.

    ========= =================================================================
    failed    the in-context interval includes chance
    too_few   a hard slice has fewer than 50 examples, or g or its interval is undefined
    relies    u < 0 and g <= -d
    slight    u < 0 and -d < g < 0
    no_effect l > -d and u < d
    reversed  l > 0 and g >= d
    unclear   otherwise
    ========= =================================================================

    Args:
        report: A report of schema version 1.

    Raises:
        KeyError: A field of the schema is missing.
    """
    case = _case(report)
    gap, benchmark = report["gap"], report["benchmark"]
    bounds = (numbers.points(gap["low"]), numbers.points(gap["high"]))
    headline, rest = {
        "failed": ("This model has not learned the task.", "Its gap says nothing."),
        "too_few": ("Too few out-of-context examples to say.", ""),
        "relies": ("This model relies on context.", ""),
        "slight": ("This model is slightly worse out of context.", ""),
        "no_effect": (
            f"Any effect of context is smaller than {numbers.whole_points(benchmark['practical_gap'])} points.",
            "",
        ),
        "reversed": ("This model does better out of context.", "Check labels and slices before believing it."),
        "unclear": (
            "No clear sign that this model relies on context.",
            f"The data allow a gap between {bounds[0]} and {bounds[1]} points.",
        ),
    }[case]
    drops = group_drops(report)
    return Verdict(
        case=case,
        headline=headline,
        rest=rest,
        lead=_lead(report),
        how_much=_how_much(report),
        on_what=_on_what(report, drops),
        how_sure=_how_sure(report, case, drops),
    )


def _case(report: Mapping[str, Any]) -> Case:
    benchmark, gap = report["benchmark"], report["gap"]
    d = benchmark["practical_gap"]
    inside = _primary(report, "in")
    if inside is not None and not numbers.is_undefined(inside["low"]) and inside["low"] <= benchmark["chance"]:
        return "failed"
    g, low, high = gap["value"], gap["low"], gap["high"]
    if any(numbers.is_undefined(number) for number in (g, low, high)) or gap["n_out_smallest"] < _FEWEST:
        return "too_few"
    if high < 0:
        return "relies" if g <= -d else "slight"
    if low > -d and high < d:
        return "no_effect"
    return "reversed" if low > 0 and g >= d else "unclear"


def _primary(report: Mapping[str, Any], role: str) -> Mapping[str, Any] | None:
    part = wording.find_slice(report, role)
    return None if part is None else part["metrics"].get(report["benchmark"]["primary_metric"])


def _lead(report: Mapping[str, Any]) -> str:
    metric = report["benchmark"]["primary_metric"]
    title, values = wording.metric_title(report, metric), {}
    for side in ("in", "out"):
        estimate = _primary(report, side)
        if estimate is not None and not numbers.is_undefined(estimate["value"]):
            values[side] = float(estimate["value"])
    if metric.startswith("worst_group"):
        return _lead_of_worst_group(report)
    if not values:
        return f"{title} could not be measured on either side."
    if len(values) == 1:
        (side, value), other = *values.items(), "out" if "in" in values else "in"
        return f"{title} is {numbers.fraction(value)} of 100 {SIDES[side]}; {SIDES[other]} it could not be measured."
    inside, outside = numbers.times_in_100(values["in"], values["out"])
    if metric == "auc":
        return (
            f"Shown one image with the object and one without, it picks the right one {inside} times in 100 when "
            f"objects stand in their usual context, and {outside} times out of context."
        )
    if metric == "accuracy":
        return f"It is right {inside} times in 100 on usual backgrounds and {outside} times on unusual ones."
    return f"{title} is {inside} of 100 in context and {outside} out of context."


def _lead_of_worst_group(report: Mapping[str, Any]) -> str:
    worst = report["worst_group"]["accuracy"]
    average = (wording.find_slice(report, "all") or {"metrics": {}})["metrics"]["accuracy"]["value"]
    low, mean = numbers.times_in_100(worst["value"], average)
    return f"Its worst group, {_worst_words(report, worst)}, is right {low} times in 100; the average is {mean}."


def _how_much(report: Mapping[str, Any]) -> Fact:
    gap, title = report["gap"], "How much"
    metric = wording.in_sentence(wording.metric_title(report, report["benchmark"]["primary_metric"]))
    if numbers.is_undefined(gap["value"]):
        return Fact(title, numbers.UNDEFINED, f": {wording.clean(gap['reason'] or 'the gap could not be computed')}.")
    interval = numbers.interval_points(gap)
    inner = f"95% interval {interval}" if interval else f"no interval: {wording.clean(gap['reason'] or 'unknown')}"
    where = f"{numbers.count(gap['n_in'])} examples in context against {wording.out_count(report)} out of context"
    return Fact(title, f"{numbers.points(gap['value'])} points", f" of {metric} ({inner}), {where}.")


def _on_what(report: Mapping[str, Any], drops: Sequence[Drop]) -> Fact:
    title, benchmark = "On what", report["benchmark"]
    if benchmark["object"] is not None:
        return _on_object(report)
    if drops:
        clear = [drop for drop in drops if drop.is_clear and drop.value < 0][:3]
        if not clear:
            return Fact(title, "No single group stands out.", "")
        named = wording.listed([f"{drop.group} ({numbers.points(drop.value)})" for drop in clear])
        least = drops[-1]
        tail = f"; least for {least.group} ({numbers.points(least.value)})" if least not in clear else ""
        return Fact(title, f"Most for {named}", f", in points of accuracy against the same class in context{tail}.")
    worst = (report.get("worst_group") or {}).get("error_rate")
    if worst is None or numbers.is_undefined(worst["value"]):
        return Fact(title, "Groups were not measured.", "")
    error = f"error {numbers.fraction(worst['value'])}% ({numbers.interval(worst) or 'no interval'})"
    return Fact(title, f"Most errors for {_worst_words(report, worst)}", f": {error}.")


def _worst_words(report: Mapping[str, Any], worst: Mapping[str, Any]) -> str:
    rows = (report.get("groups") or {"rows": []})["rows"]
    row = next((row for row in rows if row["group"] == worst["group"]), None)
    return wording.words(worst["group"]) if row is None else wording.group_words(report, row)


def _on_object(report: Mapping[str, Any]) -> Fact:
    benchmark = report["benchmark"]
    contexts = wording.listed([wording.words(context) for context in benchmark["contexts"]]) or "none declared"
    errors = []
    for role in ("hard_positive", "hard_negative"):
        part = wording.find_slice(report, role)
        estimate = part["metrics"].get("error_rate") if part is not None else None
        if estimate is not None and benchmark["contexts"]:
            pair = wording.pairing(benchmark, present=role == "hard_positive", role="out")
            value = estimate["value"]
            errors.append(f"{numbers.fraction(value)}{'' if numbers.is_undefined(value) else '%'} on {pair}")
    detail = f": error {', '.join(errors)}." if errors else "."
    return Fact("On what", f"{wording.words(benchmark['object'])} (usual context: {contexts})", detail)


def _how_sure(report: Mapping[str, Any], case: Case, drops: Sequence[Drop]) -> Fact:
    benchmark, gap = report["benchmark"], report["gap"]
    if case == "failed":
        inside = _primary(report, "in") or {}
        answer = f"In context {numbers.interval(inside)}, chance is {numbers.whole_points(benchmark['chance'])}."
    elif case == "too_few":
        smallest, reason = gap["n_out_smallest"], gap["reason"] or "the gap has no interval"
        few = f"{numbers.count(smallest)} in the smallest out-of-context set, {_FEWEST} are needed."
        answer = few if smallest < _FEWEST else f"Undefined: {wording.clean(reason)}."
    elif case == "no_effect":
        d = numbers.whole_points(benchmark["practical_gap"])
        answer = f"The interval lies between \u2212{d} and +{d} points."
    else:
        answer = f"The interval {'includes' if gap['low'] <= 0 <= gap['high'] else 'excludes'} zero."
    clear = sum(drop.is_clear and drop.value < 0 for drop in drops)
    groups = f" Clearly lower in {clear} of {len(drops)} groups (Holm, 5%)." if drops and case != "failed" else ""
    seeds = numbers.seeds(report["model"]["seeds"])
    return Fact("How sure", answer, f"{groups} {seeds[0].upper()}{seeds[1:]}.{_caveat(report)}")


def _caveat(report: Mapping[str, Any]) -> str:
    """The first caveat that holds; one seed is said with the seeds."""
    training = report["provenance"].get("training") or {}
    if len(report["model"]["seeds"]) > 1 and "oracle" in str(training.get("selection", "")):
        return " The model was chosen on test groups (oracle)."
    return ""
