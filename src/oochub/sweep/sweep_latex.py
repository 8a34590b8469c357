"""The selected settings of a sweep in LaTeX: the table of a paper, or every column of the selection."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from oochub.records.table import Table
from oochub.report import wording
from oochub.report.comparison_table import Column, ComparisonTable, tabulate_values
from oochub.report.paper_table import FULL
from oochub.report.paper_table_of_methods import GAP, paper_table_of_methods
from oochub.report.report import describe_by_name
from oochub.settings.table_settings import TableSettings, TableStyle
from oochub.stats.estimate import Estimate
from oochub.sweep.selection import ORACLES, describe_rule
from oochub.sweep.sweep_recipe import SweepRecipe
from oochub.sweep.sweep_table import SELECTION_HEADS, list_unselected, make_selection_table, selection_rows

_SIDES = ("in_context", "out_of_context")


def write_latex(table: pd.DataFrame, recipe: SweepRecipe, style: TableStyle = "compact") -> str:
    r"""The selected settings in LaTeX; needs `\usepackage{booktabs}`.

    Args:
        table: The runs, see `oochub.sweep.sweep_table.make_run_table`.
        recipe: What they are of.
        style: "compact" is the table of a paper, one for each headline metric: methods as rows; in context, out of
            context and the gap as columns, over the seeds of the selected setting. "full" has the columns of the
            sweep's page, with the settings.

    Returns:
        `table` environments; a comment where nothing was selected.

    Raises:
        OochubError: Another style.
    """
    notes = _collect_notes(table, recipe)
    if TableSettings(style=style).style == "full":
        rows = selection_rows(make_selection_table(table))
        text = Table(heads=SELECTION_HEADS, rows=tuple(map(tuple, rows)))
        said = f"The sweep {recipe.name}. Mean over seeds, with the standard deviation in brackets."
        return text.to_latex(" ".join([said, *notes]), small=True)
    made = [
        paper_table_of_methods(
            tables,
            notes=[*notes, *dict.fromkeys(note for each in tables for note in each.notes)],
            label=("sweep", recipe.name, tables[0].metric),
            data=tables[0].rows[0] if len(tables[0].rows) == 1 else f"the tasks of the sweep {recipe.name}",
            unpaired=False,
        ).to_latex()
        for tables in _tabulate_sides(table, recipe)
    ]
    return "\n".join(made) or f"% Nothing was selected. {FULL}\n"


def _collect_notes(table: pd.DataFrame, recipe: SweepRecipe) -> list[str]:
    tracks = list(dict.fromkeys(table["track"])) if len(table) else []
    notes = [f"Settings are selected by {recipe.select}: {wording.put_in_sentence(describe_rule(recipe.select))}"]
    notes += [f"Track: {track}." for track in tracks]
    notes += [ORACLES[recipe.select]] if recipe.select in ORACLES else []
    failed = int((table["status"] == "failed").sum()) if len(table) else 0
    notes += [f"Runs that failed: {failed}."] if failed else []
    return [*notes, *list_unselected(table)]


def _tabulate_sides(table: pd.DataFrame, recipe: SweepRecipe) -> Iterator[tuple[ComparisonTable, ...]]:
    """For each headline metric its tables in context, out of context and of the gap, without a side that has none."""
    taken = table[table["selected"] & (table["stage"] == "final")] if len(table) else table
    for metric in dict.fromkeys(taken["headline"].dropna()) if len(taken) else ():
        runs: list[Any] = taken[taken["headline"] == metric].to_dict("records")
        described = describe_by_name(metric)
        sides = [_collect_values(runs, [f"{side}/{metric}"]) for side in _SIDES]
        both = [*zip(_SIDES, sides, strict=True), (GAP, _collect_values(runs, [f"{side}/{metric}" for side in _SIDES]))]
        tables = tuple(
            tabulate_values(values, described, benchmark=recipe.name, metric=metric, slice=name)
            for name, values in both
            if values
        )
        if tables:
            yield tables


def _collect_values(
    runs: Sequence[Any], names: Sequence[str]
) -> dict[tuple[str, Column], dict[tuple[int, ...], Estimate]]:
    """The number of each run by task, method and seed; for two names second minus first, without an interval."""
    values: dict[tuple[str, Column], dict[tuple[int, ...], Estimate]] = {}
    if not all(any(not math.isnan(run.get(name, math.nan)) for run in runs) for name in names):
        return values  # no run has it
    for run in runs:
        numbers = [run.get(name, math.nan) for name in names]
        value, ends = numbers[-1], {end: run.get(f"{names[-1]}.{end}", math.nan) for end in ("low", "high")}
        if len(names) > 1:
            value, ends = numbers[-1] - numbers[0], {}
        reason = "undefined in a run" if math.isnan(value) else None
        of_seed = values.setdefault((run["task"], Column(run["method"])), {})
        of_seed[(run["seed"],)] = Estimate(value, n=1, method="run", reason=reason, **ends)
    return values
