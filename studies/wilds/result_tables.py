"""Tables 1 and 2 of WILDS from reports: in and out of distribution, and methods, beside the paper's numbers."""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from oochub import catalog
from oochub.errors import OochubError, choose_wording
from oochub.records.document import Block
from oochub.records.schema import from_json, optional
from oochub.records.table import Table
from oochub.report import format_numbers
from oochub.report.report import Report
from oochub.studies.wilds.official_replicates import official_replicates

METHODS = {"erm": "ERM", "coral": "CORAL", "irm": "IRM", "group_dro": "GroupDRO"}
"""The methods of Table 2 by objective, in its order."""


@dataclass(frozen=True, kw_only=True)
class _Printed:
    """One data set of a table of `studies/reported/wilds.json`."""

    metric: str
    slice: str
    columns: tuple[str, ...]
    rows: Mapping[str, Any]
    average: Mapping[str, Any] | None = optional()
    comparison: str = optional("")

    def cell(self, method: str) -> tuple[float, float] | None:
        """What the paper prints, of the folds together where they are several."""
        if method not in self.columns:
            return None
        rows = self.average or self.rows
        mean, sd = next(iter(rows.values()))[self.columns.index(method)]
        return mean, sd


@dataclass(frozen=True, kw_only=True)
class _File:
    source: str
    notes: tuple[str, ...]
    tables: Mapping[str, _Printed]


class Replicates(NamedTuple):
    """A measured number: its mean and standard deviation (ddof 1; nan of one) over replicates, and how many they are.

    >>> Replicates.of([0.2, 0.4])
    Replicates(mean=0.3..., sd=0.1414..., n=2)
    """

    mean: float
    sd: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Replicates":
        """Mean and standard deviation of one value per replicate."""
        sd = statistics.stdev(values) if len(values) > 1 and not any(map(math.isnan, values)) else math.nan
        return cls(statistics.fmean(values), sd, len(values))


def result_tables(reports: Sequence[Report], *, partial: bool = True) -> tuple[Block, Block]:
    """Tables 1 and 2, a row each data set, in the paper's order; what was not measured stays empty.

    A number is the mean over replicates, the seeds or PovertyMap's folds, with the standard deviation (ddof 1). In
    Table 1 the number in distribution is of the kind that the paper has for the data set: fixed-train compares with
    held-out rows of the training domains, fixed-test and randomized with models of another config
    (`fmow_mixed-to-test`, `ogb_molpcba_random`), average with all rows of the same test.

    Args:
        reports: Reports on `wilds`, on models that `oochub train` made; one per config, objective and seed.
        partial: Whether fewer replicates than the paper's are noted; False refuses them, where there are some at all.

    Returns:
        (Table 1, Table 2), with the sentences below them. The records of the tables are the numbers at full precision:
        table, data_set, method, side ("in" or "out"), metric, mean, sd, replicates, reported and reported_sd.

    Raises:
        OochubError: No report, one of another benchmark or of no training, two of one config, objective and seed, or
            fewer replicates than the paper's where they may not be.

    Source:
        Koh et al. 2021, Tables 1 and 2.
    """
    if not reports:
        raise OochubError("There are no reports of WILDS. Pass paths of report.json.")
    reports_by_run = _group_by_run(reports)
    content: _File = from_json(
        _File, json.loads(catalog.reported_files()["wilds"].read_text("utf-8")), what="reported numbers of WILDS"
    )
    names = list(dict.fromkeys(key.split()[1] for key in content.tables))
    first, second, few, lacking = [], [], [], []
    records: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
    for name in names:
        inside, outside, table = (content.tables[key] for key in (f"1 {name} in", f"1 {name} out", f"2 {name}"))
        measured = [_make_measured_row(reports_by_run, split, "erm") for split in (inside, outside)]
        printed = [split.cell("erm") for split in (inside, outside)]
        words = [_format_number(number, inside.metric) for number in (*measured, *printed)]
        first.append((name, inside.metric, outside.metric, inside.comparison, *words))
        of_methods = {method: _make_measured_row(reports_by_run, table, method) for method in METHODS}
        theirs = [table.cell(method) for method in METHODS]
        second.append((name, *(_format_number(number, table.metric) for number in (*of_methods.values(), *theirs))))
        wanted = official_replicates(name)
        counts = {row.n for row in (*measured, *of_methods.values()) if row}
        short = f"{name}: {'/'.join(map(str, sorted(counts)))} of {wanted} replicates"
        few += [short] if counts - {wanted} else []
        lacking += [short] if min(counts, default=wanted) < wanted else []
        for side, place, number, paper in zip(("in", "out"), (inside, outside), measured, printed, strict=True):
            records[1].append(_record(1, name, "erm", side, place.metric, number, paper))
        for (method, number), paper in zip(of_methods.items(), theirs, strict=True):
            records[2].append(_record(2, name, method, "out", table.metric, number, paper))
    if lacking and not partial:
        raise OochubError(
            f"Replicates are missing: {'; '.join(lacking)}. `oochub sweep wilds` trains them all; "
            + choose_wording("partial=True makes the tables without them.")
        )
    remark = (
        "Values are × 100, except for a correlation. Mean over replicates, with the standard deviation (ddof 1) in "
        "brackets; a single replicate has none.",
        *([f"Fewer or more replicates than the paper's: {'; '.join(few)}."] if few else []),
        f"Reported, not measured: Tables 1 and 2 of {content.source}.",
    )
    heads = tuple(METHODS.values())
    return (
        Block(
            table=Table(
                title="Table 1: in and out of distribution, ERM",
                heads=(
                    *("Dataset", "Metric in", "Metric out", "Comparison", "In distribution", "Out of distribution"),
                    *("In (reported)", "Out (reported)"),
                ),
                rows=tuple(first),
                records=tuple(records[1]),
                reported=2,
            ),
            below=(*remark, *content.notes),
        ),
        Block(
            table=Table(
                title="Table 2: methods out of distribution",
                heads=("Dataset", *heads, *(f"{head} (reported)" for head in heads)),
                rows=tuple(second),
                records=tuple(records[2]),
                reported=len(heads),
            ),
            below=remark,
        ),
    )


def _record(
    table: int,
    name: str,
    method: str,
    side: str,
    metric: str,
    number: Replicates | None,
    printed: tuple[float, float] | None,
) -> dict[str, Any]:
    mean, sd, n = number or (math.nan, math.nan, 0)
    paper, paper_sd = printed or (math.nan, math.nan)
    return {
        **{"table": table, "data_set": name, "method": method, "side": side, "metric": metric},
        **{"mean": mean, "sd": sd, "replicates": n, "reported": paper, "reported_sd": paper_sd},
    }


def _group_by_run(reports: Sequence[Report]) -> Mapping[tuple[str, str], Mapping[tuple[int, ...], Report]]:
    """The reports by config and objective, then by seed."""
    groups: dict[tuple[str, str], dict[tuple[int, ...], Report]] = {}
    for number, report in enumerate(reports, 1):
        name, objective = report.benchmark.name, report.model.objective
        if name != "wilds":
            raise OochubError(f"Report {number} is on {name}, but these tables are for wilds. Remove it.")
        if not objective:
            raise OochubError(
                f"Report {number} does not say how its model was trained, but these tables compare methods. Train "
                "with `oochub train`, or compare it with others with `oochub compare`."
            )
        of_seeds = groups.setdefault((report.benchmark.config, objective), {})
        if report.model.seeds in of_seeds:
            raise OochubError(
                f"Two reports are on {objective} on {report.benchmark.config} with seed "
                f"{', '.join(map(str, report.model.seeds)) or 'none'}. Remove one."
            )
        of_seeds[report.model.seeds] = report
    return groups


def _make_measured_row(
    found: Mapping[tuple[str, str], Mapping[tuple[int, ...], Report]], printed: _Printed, method: str
) -> Replicates | None:
    runs = [report for config in printed.rows for report in found.get((config, method), {}).values()]
    key = f"{printed.slice}/{printed.metric}"
    paths = [next((path for path in report if path == key or path.startswith(f"{key}.")), None) for report in runs]
    values = [report[path].value for report, path in zip(runs, paths, strict=True) if path]
    return Replicates.of(values) if values else None


def _format_number(number: Any, metric: str) -> str:
    if number is None:
        return ""
    unit = "correlation" if metric.startswith("pearson") else "fraction"
    mean, sd = (format_numbers.quantity(value, unit) for value in number[:2])
    return mean if math.isnan(number[1]) else f"{mean} ({sd})"
