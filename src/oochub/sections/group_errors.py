"""The error of each group, or for a kind of output without errors its first metric: where the model is worst."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.metric import read_facts
from oochub.records.report_records import GroupRow, Groups, WorstValue
from oochub.records.table import Table
from oochub.report import format_numbers, svg, theme, wording
from oochub.report.footnotes import Footnotes, describe_interval, simultaneous
from oochub.report.group_findings import rank_groups, write_headings
from oochub.section import ChartRow, NamedNumber, OnPage, Passage, Section
from oochub.stats.estimate import Estimate
from oochub.stats.stratified_gap import unpaired_shares

if TYPE_CHECKING:
    from oochub.evaluation.evaluation import Evaluation
    from oochub.evaluation.evaluation_rows import EvaluationRows
    from oochub.report.report_record import ReportRecord

_NAMED = ("accuracy", "error_rate", "nll")  # fields of a GroupRow; other metrics stand in its `metrics`
_WORST = 1_000  # groups of a side that a report has if there are more than twice as many, and as many of the best
_MATRIX_CELLS = 60
_LISTED = 20  # bars of groups that have so many rows, and of those that have fewer
_FEWEST = 5  # rows of a group whose bar is shown before a reader unfolds the others
_FIRST = 3  # bars that are shown if every group has fewer


class GroupErrors(Section["ReportRecord"]):
    """Shows `report.groups`, and `report.worst_group` above them.

    The worst group is named where it has an error. Its error has a simultaneous interval, which allows for the choice
    among the groups; in the list each has its single one.
    """

    title, anchor, place = "Groups", "groups", 30
    fields = ("groups", "worst_group")

    def measure(self, evaluation: "Evaluation") -> dict[str, object]:
        """The metrics of each group on each side, and the worst groups of the evaluation split."""
        return {"groups": _measure_groups(evaluation), "worst_group": _find_worst_groups(evaluation)}

    def has(self, report: "ReportRecord") -> bool:
        """Whether a group has a number."""
        return bool(rank_groups(report)[1])

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """The table of the groups; nothing without groups."""
        table = _build_table(report)
        if table.rows:
            yield Passage(table=table)

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """Accuracy, error and NLL of each group, or the metrics of its kind of output."""
        for row in report.group_rows:
            errors = {"accuracy": row.accuracy, "error_rate": row.error_rate, "nll": row.nll}
            defined = {metric: estimate for metric, estimate in errors.items() if estimate is not None}
            for metric, estimate in (defined | dict(row.metrics or {})).items():
                yield NamedNumber(f"group {row.split}:{row.group}", metric, estimate)

    def chart(self, report: "ReportRecord") -> tuple[str, list[ChartRow]]:
        """The metric and its rows, those out of context first, the worst first."""
        return _list_rows(report)

    def page(self, report: "ReportRecord", *, room: int | None) -> OnPage | None:
        """The matrix of classes and contexts where it fits, and the bars."""
        shown = _make_page_content(report)
        return None if shown is None else OnPage(values=shown)


def _measure_groups(evaluation: "Evaluation") -> Groups | None:
    """The metrics of each group on each side of the comparison; None without a column of groups.

    The column `group` holds a name per row, `groups` a list of them. Without sides all rows of the split are taken.
    """
    evaluated, sides = evaluation.rows, evaluation.sides
    if evaluated.benchmark.group_column not in evaluated.columns:
        return None
    facts = evaluated.predictions.metadata.facts
    trained = facts.trained_groups
    metrics = {name: catalog.get("metric", name) for name in evaluated.predictions.output.group_metrics}
    rows, left_out = [], 0
    for side, mask in evaluation.sides_of_groups:
        groups = evaluated.members(mask)
        named = list(groups.items())
        kept = _choose_groups(evaluated, list(groups.values()), metrics)
        left_out += len(named) - len(kept)
        listed = [named[place] for place in kept]
        is_tested = side == "out" and "in" in sides and "accuracy" in metrics
        inside = _select_rows_by_label(evaluated, sides["in"], dict(listed)) if is_tested else {}
        measured = {
            name: evaluated.of_groups(metric, [members for _, members in listed]) for name, metric in metrics.items()
        }
        splits = np.asarray(evaluated.columns["split"][[members[0] for _, members in listed]]).tolist()
        for place, (group, members) in enumerate(listed):
            values = {name: column[place] for name, column in measured.items()}
            rows.append(
                GroupRow(
                    group=group,
                    label=group.partition("/")[0],
                    context=evaluated.benchmark.describe_context({"group": group}, facts),
                    split=str(splits[place]),
                    role=side,
                    trained=None if trained is None else group in trained,
                    n=len(members),
                    metrics={name: value for name, value in values.items() if name not in _NAMED} or None,
                    drop_p_value=_drop_p_value(evaluated, members, inside.get(group.partition("/")[0])),
                    **{name: value for name, value in values.items() if name in _NAMED},
                )
            )
    return Groups(columns=("label", "context"), split=evaluation.split, rows=tuple(rows), left_out=left_out)


def _choose_groups(
    evaluated: "EvaluationRows", groups: Sequence[NDArray[np.int64]], metrics: Mapping[str, Any]
) -> Sequence[int]:
    """The places of the groups that a report has, in order: all, or of thousands the worst and the best ones."""
    if len(groups) <= 2 * _WORST:
        return range(len(groups))
    metric = next(iter(metrics.values()))  # the report's first one
    estimates, facts = evaluated.of_groups(metric, groups), read_facts(metric)
    sign = -1.0 if facts is not None and facts.direction == "lower" else 1.0
    values, n = sign * np.array(estimates, np.float64), np.array([estimate.n for estimate in estimates])
    chosen = [np.lexsort((-n, order))[:_WORST] for order in (values, -values)]  # of equal ones the largest
    kept: list[int] = np.union1d(*chosen).tolist()
    return kept


def _select_rows_by_label(
    evaluated: "EvaluationRows", inside: NDArray[np.bool_], groups: Iterable[str]
) -> dict[str, NDArray[np.int64]]:
    """The rows of the groups in context, by the label that their group is of: the labels of other groups alone."""
    of: dict[str, list[NDArray[np.int64]]] = {group.partition("/")[0]: [] for group in groups}
    for group, members in evaluated.members(inside).items():
        if (label := group.partition("/")[0]) in of:
            of[label].append(members)
    return {label: np.concatenate(rows) for label, rows in of.items() if rows}


def _drop_p_value(
    evaluated: "EvaluationRows", members: NDArray[np.int64], inside: NDArray[np.int64] | None
) -> float | None:
    if inside is None:
        return None
    rows = np.concatenate([members, inside])
    right = evaluated.columns["prediction"][rows] == evaluated.columns["label"][rows]
    p_value = unpaired_shares(right, np.arange(len(rows)) < len(members), cluster=evaluated.cluster(rows))
    return 1.0 if np.isnan(p_value) else p_value  # a report keeps no nan apart from what it lacks


def _find_worst_groups(evaluation: "Evaluation") -> dict[str, WorstValue] | None:
    """The worst accuracy, error and NLL over the groups of the evaluation split, each with its group.

    The interval is simultaneous over the groups, so it covers the minimum, whichever group attains it. None without
    groups, or for a kind of output without accuracy.
    """
    evaluated, rows = evaluation.rows, evaluation.sets[0].mask
    if "group" not in evaluated.columns or not evaluated.predictions.output.one_answer:
        return None
    metric = catalog.get("metric", "worst_group")
    if not evaluated.has_groups(metric, rows):
        return None
    if evaluation.metrics.get("worst_group") is metric:  # then the slice of all rows has it
        measured = evaluation.slices[0]
        return {
            name.partition(".")[2]: WorstValue(estimate=measured.metrics[name], group=group.name)
            for name, group in (measured.worst_groups or {}).items()
        }
    intervals, values = evaluated.of(metric, rows), evaluated.value(metric, rows)
    return {
        key: WorstValue(estimate=interval, group=str(values[f"{key}_group"])) for key, interval in intervals.items()
    }


def _build_table(report: "ReportRecord") -> Table:
    """The error of each group, those out of context first, the highest first; no rows without groups.

    For a kind of output without errors, it is the first metric, the worst group first.
    """
    metric, groups = _list_rows(report)
    head, unit, below = _group_head(report, metric), report.description(metric).unit, Footnotes()
    rows = [
        (
            row.title,
            wording.title_side(report.benchmark, row.side) if row.side else format_numbers.ABSENT,
            *below.cell(row.estimate, unit).split("\n"),
            format_numbers.count(row.n),
        )
        for row in groups
    ]
    heads = ("Group", "Side", head, "95% interval", "n")
    left_out = report.groups_left_out
    note = f"The worst and the best groups; {format_numbers.count(left_out)} between them are left out of the report."
    more = (note,) if left_out else ()
    return Table(heads=heads, rows=tuple(rows), left=frozenset({0, 1}), footnotes=(*below.lines, *more))


def _group_head(report: "ReportRecord", metric: str) -> str:
    """What stands over the numbers of the groups: "Error % ↓", or title, unit and direction of another metric."""
    return "Error % ↓" if metric == "error_rate" else wording.title_metric(metric, report.description(metric))


def _list_rows(report: "ReportRecord", *, by_pairing: bool = False) -> tuple[str, list[ChartRow]]:
    """The error of each group, or the metric of its kind of output, in the order of `rank_groups`.

    Args:
        report: Any report.
        by_pairing: The four pairings of an object with its context stand in an order of their own.

    Returns:
        The metric and its rows; "" and none without groups.
    """
    metric, rows = rank_groups(report)
    if by_pairing and report.benchmark.object is not None:
        rows.sort(key=lambda pair: _describe_pairing(pair[0], report.benchmark.object))
    return metric, [ChartRow(wording.group_words(report.benchmark, row), e, row.role, row.n) for row, e in rows]


def _describe_pairing(row: GroupRow, thing: str | None) -> int:
    """Both, object alone, context alone, neither."""
    order = [(True, "in"), (True, "out"), (False, "out"), (False, "in")]
    return order.index((row.label == thing, row.role)) if row.role else len(order)


def _make_page_content(report: "ReportRecord") -> dict[str, Any] | None:
    metric, rows = _list_rows(report, by_pairing=True)
    if not rows:
        return None
    unit = report.description(metric).unit
    scale = _group_axis(rows, unit)
    errors = [row.error_rate for row in report.group_rows if row.error_rate is not None]
    large, small = ([row for row in rows if (row.n < _FEWEST) is is_small][:_LISTED] for is_small in (False, True))
    worst = (report.worst_group or {}).get("error_rate")
    worst_row = next((row for row in report.group_rows if worst is not None and row.group == worst.group), None)
    return {
        "title": write_headings(report).groups,
        "matrix": _build_matrix(report),
        "rows": [(row, svg.row(scale, {row.side or "bare": row.estimate}, is_bar=True)) for row in (*large, *small)],
        "first": len(large) or _FIRST,
        "folded": len(small) if large else len(small[_FIRST:]),
        "fewest": _FEWEST,
        "left_out": len(rows) - len(large) - len(small),
        "not_in_report": report.groups_left_out,
        "head": _group_head(report, metric),
        "unit": unit,
        "axis": svg.tick_labels(scale, lambda tick: f"{format_numbers.SCALES.get(unit, 1) * tick:.4g}"),
        "worst": worst
        and worst_row
        and not format_numbers.is_zero(worst.estimate)
        and (wording.group_words(report.benchmark, worst_row), worst.estimate, _describe_worst(worst.estimate)),
        "heat": partial(_choose_heat_class, width=theme.heat_width(errors)),
        "steps": theme.heat_ends(theme.heat_width(errors)),
    }


def _describe_worst(estimate: Estimate) -> str:
    """The interval of the worst group's error: over what it holds, of how many rows, and what limits it."""
    n = f"n = {format_numbers.count(estimate.n)}"
    return describe_interval(estimate, also=", ".join(filter(None, (simultaneous(estimate), n))), level="")


def _group_axis(rows: Sequence[ChartRow], unit: str) -> svg.LinearScale:
    """From zero, or the lowest number below it, to the highest; for fractions, to a full tenth."""
    ends = svg.list_ends(row.estimate for row in rows)
    low, high = min([0.0, *ends]), max([0.0, *ends])
    if unit == "fraction":
        high = min(max(0.1, -(-high // 0.1) * 0.1), 1.0)
    return svg.LinearScale(low=low, high=high if high > low else low + 1.0)


def _choose_heat_class(estimate: Estimate, n: int, width: float) -> str:
    """The CSS class of a heat cell; "" below 10 examples, whose number is printed without heat.

    >>> error = Estimate(0.5, n=100, method="wilson")
    >>> _choose_heat_class(error, 100, 0.08), _choose_heat_class(error, 9, 0.08)
    ('h6', '')
    """
    return (
        "" if format_numbers.is_undefined(estimate) or n < theme.HEAT_FROM else f"h{theme.heat_step(estimate, width)}"
    )


def _build_matrix(report: "ReportRecord") -> dict[str, Any] | None:
    rows = [row for row in report.group_rows if row.error_rate is not None]
    if not rows or report.groups is None or report.benchmark.object is not None:
        return None
    if any(not row.context for row in rows):
        return None
    labels, contexts = (sorted({getattr(row, name) for row in rows}) for name in ("label", "context"))
    if len(labels) * len(contexts) > _MATRIX_CELLS:
        return None
    # A pair that stands in several splits shows the one out of context.
    cells: dict[tuple[str, str], GroupRow] = {}
    cells |= {(row.label, row.context): row for row in sorted(rows, key=lambda row: row.role == "out")}
    return {
        "contexts": [wording.words(context) for context in contexts],
        "body": [(wording.words(label), [cells.get((label, context)) for context in contexts]) for label in labels],
        "column": wording.words(report.benchmark.context_column or report.groups.columns[-1]),
        "says_trained": any(row.trained is not None for row in rows),
    }
