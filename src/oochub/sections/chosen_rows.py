"""Reports on hand-selected rows: states the selection first, then tests its rule on other rows."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from oochub.records.finding_records import ChosenRows, TestedRule
from oochub.records.report_records import Fact, Verdict
from oochub.records.table import Table
from oochub.report import format_numbers, wording
from oochub.report.footnotes import Footnotes, describe_interval
from oochub.section import NamedNumber, Passage, Section
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.evaluation.evaluation import Evaluation
    from oochub.report.report_record import ReportRecord

_TITLE = "Chosen rows"
_RULE = 200  # characters


class RowsThatWereChosen(Section["ReportRecord"]):
    """Shows `report.findings["chosen_rows"]`, and gives the verdict: nothing else may be read off such rows.

    A model is not judged by rows that were chosen after looking at its answers. A rule that was tested on other rows
    is judged by the difference of right answers where it holds and elsewhere.
    """

    title, anchor, place = _TITLE, "chosen-rows", 5
    record = ChosenRows

    def measure(self, evaluation: "Evaluation") -> ChosenRows | None:
        """How the rows were chosen, with the test of the rule if there was one."""
        return evaluation.chosen_rows

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """Which rows the report is of; the numbers of the tested rule."""
        chosen: ChosenRows | None = self.found(report)
        if chosen is None:
            return
        if chosen.tested is None:
            yield Passage(title=_TITLE, sentences=(_say_which(chosen), _say_how_to_test(chosen)))
            return
        sentences = (_say_tested(chosen, chosen.tested), *_say_limits(chosen.tested))
        yield Passage(title="The rule on rows that nobody looked at", sentences=sentences, table=_build(chosen.tested))

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """The numbers of the tested rule."""
        chosen: ChosenRows | None = self.found(report)
        if chosen is not None and chosen.tested is not None:
            for name, estimate in _list_numbers(chosen.tested).items():
                yield NamedNumber(_TITLE.lower(), name, estimate, f"chosen_rows/{name}")

    def verdict(self, report: "ReportRecord") -> Verdict | None:
        """That the rows were chosen; or whether the tested rule holds."""
        chosen: ChosenRows | None = self.found(report)
        if chosen is None:
            return None
        return _judge_rows(report, chosen) if chosen.tested is None else _judge_rule(chosen, chosen.tested)


def _judge_rows(report: "ReportRecord", found: ChosenRows) -> Verdict:
    """The verdict on rows that were chosen: a number, and that it is of these rows alone."""
    metric, value = report.benchmark.primary_metric, report.headline("all")
    title = wording.name(report.description(metric).title)
    if value is None or format_numbers.is_undefined(value):
        how_much, lead = (
            Fact("Result", format_numbers.UNDEFINED, "."),
            f"{title} could not be measured on these rows.",
        )
    else:
        size = format_numbers.quantity(value, report.unit)
        of = f"{size}%" if report.unit == "fraction" else size
        detail = (
            f" is the {wording.put_in_sentence(title)} of the chosen rows ({describe_interval(value, report.unit)})."
        )
        how_much, lead = Fact("Result", of, detail), f"{title} is {of} on these rows."
    return Verdict(
        case="unclear",
        headline="These rows were selected after looking at the predictions.",
        rest="Their numbers do not generalize to other rows.",
        lead=lead,
        how_much=how_much,
        on_what=Fact("Where", _count(found), f"{_describe_rule(found, before=': ')}."),
        how_sure=Fact("Certainty", "The intervals do not account for this selection.", f" {_say_how_to_test(found)}"),
    )


def _judge_rule(found: ChosenRows, tested: TestedRule) -> Verdict:
    """The verdict on a rule: whether answers are right less or more often where it holds."""
    inside, outside = tested.accuracy_rule, tested.accuracy_others
    shown = (
        f"{format_numbers.fraction(inside)}% of answers are right, and {format_numbers.fraction(outside)}% elsewhere"
    )
    if tested.is_clear:
        answer = f"The model is right {'less' if tested.difference < 0 else 'more'} often where the rule holds."
    elif format_numbers.is_undefined(tested.p_value):
        answer = "There are too few rows to test the rule."
    else:
        answer = "There is no clear sign that the rule matters."
    size = f"{format_numbers.points(tested.difference)}{format_numbers.points_word('fraction')}"
    return Verdict(
        case="unclear",
        headline=answer,
        rest="",
        lead=f"Where the rule holds {shown}.",
        how_much=Fact(
            "Size of the difference", size, f" of accuracy ({describe_interval(tested.difference, signed=True)})."
        ),
        on_what=Fact("Where", _count(found), f"{_describe_rule(found, before=': ')}."),
        how_sure=Fact("Certainty", _say_how_sure(tested), f" {_describe_unseen(tested)}"),
    )


def _say_how_sure(tested: TestedRule) -> str:
    """Whether the difference is more than chance, with the p-value of its test."""
    if format_numbers.is_undefined(tested.p_value):
        return "The rule was not tested, because the rows are too few."
    words = "more than chance" if tested.is_clear else "no more than chance could explain"
    return f"The difference is {words} ({format_numbers.p_value(tested.p_value)})."


def _say_which(found: ChosenRows) -> str:
    rule = _describe_rule(found, before=" The rule of the choice: ")
    return (
        f"This report is of {_count(found)}, which were selected after looking at the predictions "
        f"({wording.name(found.file)}).{rule}{'.' if rule else ''}"
    )


def _say_how_to_test(found: ChosenRows) -> str:
    """What to do next: a rule is tested on other rows, and rows without one need one first."""
    if not found.rule:
        return "A rule in the first line of the file could be tested on rows that nobody looked at."
    return "The option “unseen” of an evaluation tests the rule on rows that nobody looked at."


def _say_tested(found: ChosenRows, tested: TestedRule) -> str:
    """What the test found, and on what."""
    return (
        f"Where the rule holds ({_describe_rule(found)}), {format_numbers.fraction(tested.accuracy_rule)}% of "
        f"{format_numbers.count(tested.n_rule)} answers are right; elsewhere "
        f"{format_numbers.fraction(tested.accuracy_others)}% of {format_numbers.count(tested.n_others)} "
        f"({_describe_p(tested)}). {_describe_unseen(tested)}"
    )


def _say_limits(tested: TestedRule) -> Iterable[str]:
    """Which conditions were left out, and that this is the test of one rule."""
    if tested.left_out:
        named = wording.join_names([wording.name(left, 60) for left in tested.left_out])
        yield f"The test measures the outcome, so this part of the rule does not choose rows: {named}."
    yield "If several rules are tested, correct for multiple testing: 1 in 20 looks significant by chance."


def _describe_unseen(tested: TestedRule) -> str:
    if tested.unseen == "half":
        return f"The rows are the half that the page kept back, by a hash of {wording.name(tested.by)}."
    return "The rows are of other data than those that were looked at."


def _describe_p(tested: TestedRule) -> str:
    if format_numbers.is_undefined(tested.p_value):
        return "not tested, because the rows are too few"
    return format_numbers.p_value(tested.p_value)


def _count(found: ChosenRows) -> str:
    return f"{format_numbers.count(found.n)} of {format_numbers.count(found.among)} rows"


def _describe_rule(found: ChosenRows, *, before: str = "") -> str:
    return f"{before}{wording.name(found.rule, _RULE)}" if found.rule else ""


def _list_numbers(tested: TestedRule) -> dict[str, Estimate]:
    return {
        "accuracy by the rule": tested.accuracy_rule,
        "accuracy elsewhere": tested.accuracy_others,
        "difference": tested.difference,
    }


def _build(tested: TestedRule) -> Table:
    below = Footnotes()
    rows = (
        ("accuracy by the rule", below.cell(tested.accuracy_rule), format_numbers.count(tested.n_rule)),
        ("accuracy elsewhere", below.cell(tested.accuracy_others), format_numbers.count(tested.n_others)),
        (
            "difference, points",
            below.cell(tested.difference, signed=True),
            format_numbers.count(tested.n_rule + tested.n_others),
        ),
    )
    return Table(heads=("%", "Value", "n"), rows=rows, footnotes=below.lines)
