"""What `oochub.check` returns: an outcome for each rule and number, and every form in which they are shown."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from oochub.records.check_records import RuleCorrection, RuleOutcome, State
from oochub.records.schema import to_json
from oochub.records.table import Table, escape_markdown
from oochub.report import wording
from oochub.report.check_words import SHOWN, describe_limits, describe_outcome, is_of_points

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

STATES: tuple[State, ...] = ("fail", "undecided", "pass")
"""From the worst to the best."""
_EXIT_CODES = {"pass": 0, "fail": 1, "undecided": 3}
_HEADS = ("Rule", "State", "Value", "95% interval", "Bound", "n")
_SIGNS = {"pass": "\u2705 pass", "fail": "\u274c fail", "undecided": "\u2754 undecided"}


@dataclass(frozen=True, kw_only=True)
class Check:
    """What `oochub.check` returns.

    Attributes:
        rules: Name of the file of rules.
        correction: "holm" if the fails are corrected for how many rules there are.
        baseline: Path of the baseline, as typed; None without one.
        undecided: What an undecided rule counts as; None leaves the check undecided.
        outcomes: An outcome for each report, rule and number, in this order.
    """

    rules: str
    correction: RuleCorrection
    baseline: str | None
    undecided: Literal["pass", "fail"] | None
    outcomes: tuple[RuleOutcome, ...]

    @property
    def state(self) -> State:
        """What all of it comes to: "fail" if one fails, else "undecided" if one is, else "pass"."""
        found = {self.count_as(outcome) for outcome in self.outcomes}
        return next(state for state in STATES if state in found)

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

    def count_as(self, outcome: RuleOutcome) -> State:
        """The state of an outcome, where undecided ones may count as another."""
        return self.undecided or "undecided" if outcome.state == "undecided" else outcome.state

    def by_report(self) -> dict[str, list[RuleOutcome]]:
        """The outcomes of each report by its path, as typed."""
        found: dict[str, list[RuleOutcome]] = {}
        for outcome in self.outcomes:
            found.setdefault(outcome.report, []).append(outcome)
        return found

    def to_json(self) -> dict[str, object]:
        """Everything as JSON types."""
        return {
            "state": self.state,
            "exit_code": self.exit_code,
            "rules": self.rules,
            "correction": self.correction,
            "baseline": self.baseline,
            "undecided": self.undecided,
            "counts": dict(self.counts),
            "outcomes": to_json(self.outcomes),
        }

    def to_terminal(self, *, width: int = 100) -> "Group":
        """A table for each report, what limits its numbers, and the sentence.

        Args:
            width: Characters in a line.
        """
        from rich.console import Group
        from rich.text import Text

        parts: list[RenderableType] = []
        reports = self.by_report()
        for name, outcomes in reports.items():
            if len(reports) > 1:
                parts.append(Text(wording.name(name), style="bold"))
            parts += [*self._make_table(outcomes).to_terminal(width), Text()]
            lines = [*describe_limits(outcomes)]
            parts += [*map(Text, lines), *([Text()] if lines else [])]
        return Group(*parts, Text(self.sentence, style="bold"))

    def to_markdown(self) -> str:
        """The same for the page of a job: the sentence, a table for each report, and what limits its numbers."""
        lines = [f"### {self.sentence}", ""]
        reports = self.by_report()
        for name, outcomes in reports.items():
            lines += [f"**{escape_markdown(wording.name(name))}**", ""] if len(reports) > 1 else []
            lines += [self._make_table(outcomes, signs=True).to_markdown(), ""]
            limits = [f"- {escape_markdown(line)}" for line in describe_limits(outcomes)]
            lines += [*limits, ""] if limits else []
        lines.append(escape_markdown(" ".join(self._describe_origin())))
        return "\n".join(lines) + "\n"

    def to_junit(self) -> str:
        """The outcomes as JUnit XML: a suite for each report, a case for each outcome; undecided ones are skipped."""
        from oochub.report.check_files import format_junit

        return format_junit(self)

    def to_badge(self) -> str:
        """The state as a small SVG."""
        from oochub.report.check_files import draw_badge

        return draw_badge(self)

    def _make_table(self, outcomes: Sequence[RuleOutcome], *, signs: bool = False) -> Table:
        rows = []
        for each in outcomes[:SHOWN]:
            name, *numbers = describe_outcome(each)
            rows.append((name, _SIGNS[each.state] if signs else each.state, *numbers))
        more = len(outcomes) - SHOWN
        notes = [f"{more:,} more are in the output of --json and --junit"] if more > 0 else []
        notes += ["Differences of fractions are in points."] if any(map(is_of_points, outcomes)) else []
        return Table(
            heads=_HEADS,
            rows=tuple(rows),
            left=frozenset({0, 1}),
            bold=frozenset((i, 1) for i, each in enumerate(outcomes[:SHOWN]) if each.state == "fail"),
            footnotes=tuple(notes),
        )

    def _describe_origin(self) -> Iterator[str]:
        yield f"Rules: {self.rules}."
        if self.baseline is not None:
            yield f"Baseline: {self.baseline}."
        if self.correction == "holm":
            yield "Fails are corrected for the number of rules (Holm)."
