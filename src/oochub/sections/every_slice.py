"""Every metric on every slice, and which group each worst-group error is of."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from oochub.records.table import Table
from oochub.report import format_numbers, theme, wording
from oochub.report.footnotes import Footnotes
from oochub.report.group_findings import describe_worst_group, select_metrics, select_slices, write_headings
from oochub.section import ChartRow, NamedNumber, OnPage, Passage, Section
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.evaluation.evaluation import Evaluation
    from oochub.report.report_record import ReportRecord

_SIDE_OF = {"in": "in", "out": "out", "hard_positive": "out", "hard_negative": "out"}
_COLUMNS = 6
_NONE_OF_THEM = "none_of_them"
"""What the share of answers that are none of the classes is called in the data frame and in `report[...]`."""


class EverySlice(Section["ReportRecord"]):
    """Shows `report.slices`."""

    title, anchor, place = "Slices", "slices", 20
    fields = ("slices", "metrics")

    def measure(self, evaluation: "Evaluation") -> dict[str, object]:
        """The slices, and what their numbers mean.

        Metrics of confidence stay described where no slice has them: worst_group has no NLL without a probability.
        """
        from oochub.data.declaration import describe_metrics

        names, primary = evaluation.metrics, evaluation.rows.benchmark.primary_metric
        measured = {key for part in evaluation.slices for key in part.metrics}
        has_confidence = evaluation.predictions.output.has_confidence
        described = describe_metrics(dict.fromkeys((*names, primary)))
        metrics = {
            key: fact
            for key, fact in described.items()
            if key in measured or (has_confidence and key.partition(".")[0] in names)
        }
        return {"slices": evaluation.slices, "metrics": metrics}

    def has(self, report: "ReportRecord") -> bool:
        """Whether there is a slice."""
        return bool(report.slices)

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """Which groups are the worst, and the table."""
        yield Passage(sentences=(describe_worst_group(report),), table=_build_table(report))

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """Every metric of every slice."""
        for part in report.slices:
            for metric, estimate in part.metrics.items():
                yield NamedNumber(part.name, metric, estimate, f"{part.name}/{metric}")
            if part.none_of_them is not None and part.n:
                share = Estimate(part.none_of_them / part.n, n=part.n, method="none", reason="a share that was counted")
                yield NamedNumber(part.name, _NONE_OF_THEM, share, f"{part.name}/{_NONE_OF_THEM}")

    def chart(self, report: "ReportRecord") -> tuple[str, list[ChartRow]]:
        """One metric on every slice that has it: the primary one, else the error, else one that every slice has.

        Returns:
            The metric and its rows; "" and none for a report without any number.
        """
        titled = select_slices(report)
        parts = [part for _, part in titled]
        primary = report.benchmark.primary_metric
        names = list(dict.fromkeys(name for part in parts for name in part.metrics))
        complete = [
            name for name in names if not any(format_numbers.is_undefined(part.metrics.get(name)) for part in parts)
        ]
        preferred = [primary] if primary in complete else ["error_rate", *complete, primary]
        metric = next((name for name in (*preferred, *names) if name in names), "")
        rows = []
        for title, part in titled:
            if metric in part.metrics:
                side = next((side for side in theme.SIDES if side == _SIDE_OF.get(part.role)), None)
                rows.append(ChartRow(title, part.metrics[metric], side, part.n))
        return metric, rows

    def page(self, report: "ReportRecord", *, room: int | None) -> OnPage | None:
        """The tables, as many metrics beside each other as fit."""
        return OnPage(values=_make_page_content(report)) if report.slices else None


def _build_table(report: "ReportRecord") -> Table:
    """Every metric on every slice, and chance."""
    metrics, benchmark = select_metrics(report), report.benchmark
    rows, below = [], Footnotes()
    for title, part in select_slices(report):
        cells = [below.cell(part.metrics.get(metric), report.description(metric).unit) for metric in metrics]
        rows.append((title, *cells, format_numbers.count(part.n)))
    if benchmark.primary_metric in metrics and not format_numbers.is_undefined(benchmark.chance):
        chance = {benchmark.primary_metric: format_numbers.quantity(benchmark.chance, report.unit)}
        rows.append(
            ("chance", *(chance.get(metric, format_numbers.ABSENT) for metric in metrics), format_numbers.ABSENT)
        )
    heads = ("Slice", *(wording.title_metric(metric, report.description(metric)) for metric in metrics), "n")
    return Table(heads=heads, rows=tuple(rows), footnotes=below.lines)


def _make_page_content(report: "ReportRecord") -> dict[str, Any]:
    """The slices in tables of six metrics, and apart from them the metrics that one slice alone has."""
    titled = select_slices(report)
    parts = [part for _, part in titled]
    names = select_metrics(report)
    shared = [m for m in names if sum(m in part.metrics for part in parts) > 1 or len(parts) == 1]
    alone = [
        (metric, title, part.metrics[metric])
        for metric in names
        for title, part in titled
        if metric not in shared and metric in part.metrics
    ]
    tables = [shared[start : start + _COLUMNS] for start in range(0, max(len(shared), 1), _COLUMNS)]
    title = write_headings(report).slices
    return {"title": title, "parts": titled, "tables": tables, "alone": alone, "worst": describe_worst_group(report)}
