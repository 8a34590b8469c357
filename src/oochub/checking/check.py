"""What `oochub.check` returns: an outcome for each rule and number, and every form in which they are shown.

The words of a check: an outcome as cells of a table, and what limits the numbers.

The files of a check that other programs read: JUnit XML for a CI server, and a badge as SVG.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from oochub.checking.rules import Looks, RuleCorrection, RuleOutcome, State, is_gap
from oochub.errors import choose_wording
from oochub.records.document import Block, Document, DocumentForms
from oochub.records.schema import to_json
from oochub.records.table import Table
from oochub.report import format_numbers, theme, wording

_SHOWN = 2_000
"""How many outcomes of one report a table shows."""
_BOUNDS = {"at_least": "\u2265 {}", "at_most": "\u2264 {}", "at_most_worse": "\u2264 {} worse"}


STATES: tuple[State, ...] = ("fail", "undecided", "pass")
"""From the worst to the best."""
_EXIT_CODES = {"pass": 0, "fail": 1, "undecided": 3}
_HEADS = ("Rule", "State", "Value", "95% interval", "Bound", "n")
_SIGNS = {"pass": "\u2705 pass", "fail": "\u274c fail", "undecided": "\u2754 undecided"}


_LABEL = "oochub check"
_CHARACTER, _PAD, _HEIGHT = 6.6, 8, 20  # pixels, for a sans-serif of 11


def _describe_outcome(outcome: RuleOutcome) -> tuple[str, str, str, str, str]:
    """An outcome as the cells of a table: what it is of, its value, the interval, the bound and the rows.

    Fractions stand in hundredths with a percent sign, differences of them in points, with a plus or minus.
    """
    rule, judged, unit = outcome.rule, outcome.judged, outcome.described.unit
    of_gap = is_gap(rule.metric)
    is_difference = of_gap or outcome.change is not None
    sign = "%" if unit == "fraction" and not is_difference else ""
    if is_difference:
        value, interval = format_numbers.points(judged, unit), format_numbers.interval_points(judged, unit)
    else:
        value, interval = format_numbers.quantity(judged, unit), format_numbers.interval(judged, unit)
        value += sign if value != format_numbers.UNDEFINED else ""
    is_signed = of_gap and rule.bound != "at_most_worse"
    limit = format_numbers.points(rule.limit, unit) if is_signed else format_numbers.quantity(rule.limit, unit)
    names = [rule.metric, *([wording.name(outcome.place, 60)] if outcome.place else [])]
    names += ["new \u2212 old"] if outcome.change is not None else []
    bound = _BOUNDS[rule.bound].format(limit + sign)
    return ", ".join(names), value, interval or format_numbers.ABSENT, bound, format_numbers.count(judged.n)


def _is_of_points(outcome: RuleOutcome) -> bool:
    """Whether its value is a difference of fractions, which is shown in points."""
    is_difference = is_gap(outcome.rule.metric) or outcome.change is not None
    return is_difference and outcome.described.unit == "fraction"


def _describe_limits(outcomes: Sequence[RuleOutcome], looks: Looks) -> Iterator[str]:
    """A line for each outcome that says why it is undecided, or what limits its interval, and what was not paired."""
    anytime = choose_wording("anytime=True", "--anytime")
    for each in outcomes[:_SHOWN]:
        once = "would decide it if the estimate stays the same"
        once += "" if looks == "any" else f": collect them in one go and check once, or use {anytime}"
        needed = f"; about {each.needed:,} rows in all {once}" if each.needed else ""
        if each.reason:
            yield f"{each.rule.text}: {each.reason}{needed}."
    unpaired = Counter(outcome.paired for outcome in outcomes if outcome.paired not in (None, "paired"))
    for reason, n in unpaired.items():
        yield f"{n} {'change is' if n == 1 else 'changes are'} {reason}".rstrip(".") + "."


@dataclass(frozen=True, kw_only=True)
class Check(DocumentForms):
    """What `oochub.check` returns.

    Attributes:
        rules: Name of the file of rules.
        correction: "holm" if the fails are corrected for how many rules there are.
        baseline: Path of the baseline, as typed; None without one.
        undecided: What an undecided rule counts as; None leaves the check undecided.
        looks: "any" if each end errs in 2.5% over all looks, "one" if in one look.
        earlier: How many earlier looks were named.
        outcomes: An outcome for each report, rule and number, in this order.
    """

    rules: str
    correction: RuleCorrection
    baseline: str | None
    undecided: Literal["pass", "fail"] | None
    looks: Looks
    earlier: int
    outcomes: tuple[RuleOutcome, ...]

    @property
    def state(self) -> State:
        """What all of it comes to: "fail" if one fails, else "undecided" if one is, else "pass"."""
        states = {self.count_as(outcome) for outcome in self.outcomes}
        return next(state for state in STATES if state in states)

    @property
    def exit_code(self) -> int:
        """0 if all rules pass, 1 if one fails, else 3."""
        return _EXIT_CODES[self.state]

    @property
    def counts(self) -> dict[State, int]:
        """How many outcomes have each state, whatever undecided ones count as."""
        found = Counter(outcome.state for outcome in self.outcomes)
        return {state: found[state] for state in reversed(STATES)}

    @property
    def sentence(self) -> str:
        """The counts in words, and what undecided rules count as."""
        counts, n = self.counts, len(self.outcomes)
        counted = f" (counted as {self.undecided})" if self.undecided else ""
        parts = [f"{counts['pass']} of {n} passed"]
        parts += [f"{counts['fail']} failed"] if counts["fail"] else []
        parts += [f"{counts['undecided']} undecided{counted}"] if counts["undecided"] else []
        return f"{wording.capitalize_sentence(self.state)}: {', '.join(parts)}."

    @property
    def promise(self) -> str:
        """How often a rule errs, at one look or over all of them."""
        anytime = choose_wording("anytime=True", "--anytime")
        if self.looks == "any":
            return "A model at a bound ever passes by luck in at most 2.5% of cases, however often the set grows."
        if self.earlier:
            looks, share = self.earlier + 1, min(2.5 * (self.earlier + 1), 100)
            return (
                f"This is look {looks}: a model at a bound passes at one of {looks} looks by luck in up to {share:g}% "
                f"of cases, not 2.5%. {anytime} keeps 2.5% at every look."
            )
        return f"A model at a bound passes by luck in 2.5% of cases, for one look. {anytime} keeps this at every look."

    def count_as(self, outcome: RuleOutcome) -> State:
        """The state of an outcome, where undecided ones may count as another."""
        return self.undecided or "undecided" if outcome.state == "undecided" else outcome.state

    def by_report(self) -> dict[str, list[RuleOutcome]]:
        """The outcomes of each report by its path, as typed."""
        outcomes_of: dict[str, list[RuleOutcome]] = {}
        for outcome in self.outcomes:
            outcomes_of.setdefault(outcome.report, []).append(outcome)
        return outcomes_of

    def to_json(self) -> dict[str, object]:
        """Everything as JSON types."""
        return {
            "state": self.state,
            "exit_code": self.exit_code,
            "rules": self.rules,
            "correction": self.correction,
            "baseline": self.baseline,
            "undecided": self.undecided,
            "looks": self.looks,
            "earlier": self.earlier,
            "counts": dict(self.counts),
            "outcomes": [to_json(outcome) | {"p_value": to_json(outcome.p_value)} for outcome in self.outcomes],
        }

    def to_markdown(self) -> str:
        """The same for the page of a job: the sentence, a table for each report, and what limits its numbers."""
        return replace(
            self._document(signs=True), notes=(" ".join([*self._describe_origin(), self.promise]),)
        ).to_markdown()

    def to_junit(self) -> str:
        """The outcomes as JUnit XML: a suite for each report, a case for each outcome; undecided ones are skipped."""
        return _format_junit(self)

    def to_badge(self) -> str:
        """The state as a small SVG."""
        return _draw_badge(self)

    def _document(self, *, signs: bool = False) -> Document:
        reports = self.by_report()
        return Document(
            headline=self.sentence,
            blocks=tuple(
                Block(
                    title=wording.name(name) if len(reports) > 1 else "",
                    table=self._make_table(outcomes, signs=signs),
                    below=tuple(_describe_limits(outcomes, self.looks)),
                )
                for name, outcomes in reports.items()
            ),
            notes=(self.promise,),
            form="### {}",
            bullet="- ",
            is_headline_last=True,
        )

    def _make_table(self, outcomes: Sequence[RuleOutcome], *, signs: bool = False) -> Table:
        rows = []
        for outcome in outcomes[:_SHOWN]:
            name, *numbers = _describe_outcome(outcome)
            rows.append((name, _SIGNS[outcome.state] if signs else outcome.state, *numbers))
        more = len(outcomes) - _SHOWN
        notes = [f"{more:,} more are in the output of --json and --junit"] if more > 0 else []
        notes += ["Differences of fractions are in points."] if any(map(_is_of_points, outcomes)) else []
        return Table(
            heads=_HEADS,
            rows=tuple(rows),
            left=frozenset({0, 1}),
            bold=frozenset((i, 1) for i, outcome in enumerate(outcomes[:_SHOWN]) if outcome.state == "fail"),
            footnotes=tuple(notes),
        )

    def _describe_origin(self) -> Iterator[str]:
        yield f"Rules: {self.rules}."
        if self.baseline is not None:
            yield f"Baseline: {self.baseline}."
        if self.correction == "holm":
            yield "Failures are corrected for multiple rules (Holm)."


def _format_junit(check: "Check") -> str:
    """A check as JUnit XML, for the elements and attributes that Jenkins, GitLab and Surefire share.

    A suite is a report, a case is a rule on one number. A fail is a `failure`; an undecided rule is `skipped`, unless
    it counts as another state.

    Args:
        check: The check.

    Returns:
        The XML, with its declaration.
    """

    def count(outcomes: Sequence[RuleOutcome]) -> dict[str, str]:
        states = [check.count_as(outcome) for outcome in outcomes]
        return {"tests": str(len(states)), "failures": str(states.count("fail")), "errors": "0"}

    root = ElementTree.Element("testsuites", {"name": _LABEL, **count(check.outcomes)})
    for name, outcomes in check.by_report().items():
        skipped = [check.count_as(outcome) for outcome in outcomes].count("undecided")
        about = {"name": wording.clean(name), **count(outcomes), "skipped": str(skipped)}
        suite = ElementTree.SubElement(root, "testsuite", about)
        for outcome in outcomes:
            cells = _describe_outcome(outcome)
            message = wording.clean(f"{cells[1]} (95% interval {cells[2]}), bound {cells[3]}, n = {cells[4]}")
            reasons = wording.clean("\n".join(_describe_limits([outcome], check.looks)))
            place = "" if outcome.place in ("", outcome.rule.slice, outcome.rule.group) else f", {outcome.place}"
            case = {"name": f"{outcome.rule.text}{place}", "classname": f"oochub.{outcome.rule.metric}"}
            case = {key: wording.clean(text) for key, text in case.items()}
            element = ElementTree.SubElement(suite, "testcase", case)
            state = check.count_as(outcome)
            tag = {"fail": "failure", "undecided": "skipped"}.get(state)
            if tag is not None:
                ElementTree.SubElement(element, tag, {"message": message, "type": outcome.state}).text = reasons
            elif reasons:
                ElementTree.SubElement(element, "system-out").text = f"{message}\n{reasons}"
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _draw_badge(check: "Check") -> str:
    """The state of a check as a small SVG that loads nothing: no font, image or script of another file.

    Args:
        check: The check.
    """
    counts, n = check.counts, len(check.outcomes)
    shown = {
        "pass": f"{counts['pass']} of {n} passed",
        "fail": f"{counts['fail']} of {n} failed" if counts["fail"] else f"{counts['undecided']} of {n} undecided",
        "undecided": f"{counts['undecided']} of {n} undecided",
    }[check.state]
    left, right = (round(len(text) * _CHARACTER) + 2 * _PAD for text in (_LABEL, shown))
    width, color, dark = left + right, theme.STATES[check.state], theme.STATES["label"]

    def draw_text(text: str, start: int, room: int) -> str:
        middle, length = start + room / 2, room - 2 * _PAD
        return (
            f'<text x="{middle:g}" y="14" textLength="{length}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
        )

    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT}" viewBox="0 0 {width} {_HEIGHT}" '
        f'role="img" aria-label="{escape(f"{_LABEL}: {shown}")}">\n'
        f"<title>{escape(f'{_LABEL}: {shown}')}</title>\n"
        f'<clipPath id="round"><rect width="{width}" height="{_HEIGHT}" rx="3"/></clipPath>\n'
        f'<g clip-path="url(#round)"><rect width="{left}" height="{_HEIGHT}" fill="{dark}"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{color}"/></g>\n'
        '<g fill="#ffffff" text-anchor="middle" font-family="Verdana, DejaVu Sans, Geneva, sans-serif" font-size="11">'
        f"{draw_text(_LABEL, 0, left)}{draw_text(shown, left, right)}</g>\n"
        "</svg>\n"
    )
