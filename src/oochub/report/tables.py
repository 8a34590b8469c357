"""A report as tables: for the terminal, for Markdown, for LaTeX, and as a data frame of every number."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from oochub.report import numbers, theme, wording
from oochub.report.detector_tables import detection_blocks, detection_estimates, legend
from oochub.report.markup import latex_row, latex_text, markdown_row, markdown_text
from oochub.report.matched_words import matched_words
from oochub.report.verdict import verdict

if TYPE_CHECKING:
    import pandas as pd


def terminal(report: Mapping[str, Any]) -> Group:
    """A report for a terminal: the verdict, in context beside out of context, the groups, the notes.

    Args:
        report: A report of schema version 1.

    Returns:
        A rich renderable; names in it are plain text, never console markup.
    """
    said = verdict(report)
    parts: list[Any] = [Text(said.sentence, style="bold"), Text(said.lead), Text(), _sides_table(report), Text()]
    if _group_rows(report):
        parts += [_groups_table(report), Text()]
    matched = matched_words(report)
    parts += [Text(line) for line in ([matched] if matched else []) + [fact.text for fact in said.facts[1:]]]
    for block in detection_blocks(report):
        heading = [Text(), Text(block.title, style="bold"), *map(Text, block.sentences)]
        parts += [*heading, _filled(_table(block.heads), block.rows)]
    parts += [Text(), Text(legend(report), style="dim")] if legend(report) else []
    parts += [Text(f"Note: {note}") for note in _notes(report)]
    return Group(*parts)


def to_markdown(report: Mapping[str, Any]) -> str:
    """A report in Markdown: the verdict, its facts, both sides, all slices, the groups, the notes.

    Args:
        report: A report of schema version 1.

    Returns:
        Text ending in a line feed; pipes, angle brackets and other markup in names are escaped.
    """
    said = verdict(report)
    lines = [
        f"**{markdown_text(said.headline)}**{markdown_text(f' {said.rest}' if said.rest else '')}",
        "",
        markdown_text(said.lead),
        "",
    ]
    lines += [f"- {fact.title}: **{markdown_text(fact.answer)}**{markdown_text(fact.detail)}" for fact in said.facts]
    matched = matched_words(report)
    lines += [f"- {markdown_text(matched)}", ""] if matched else [""]
    lines += _markdown_table(["Metric", "In context", "Out of context", "Gap, points"], _sides(report), join=" ")
    lines += ["", *_markdown_table(["Slice", *_heads(report), "n"], _slice_rows(report), join="<br>")]
    if _group_rows(report):
        lines += [
            "",
            *_markdown_table(["Group", "Side", "Error % ↓", "95% interval", "n"], _group_rows(report), join=" "),
        ]
    for block in detection_blocks(report):
        lines += ["", f"**{markdown_text(block.title)}** {markdown_text(' '.join(block.sentences))}", ""]
        lines += _markdown_table(block.heads, block.rows, join="<br>")
    lines += ["", markdown_text(legend(report))] if legend(report) else []
    lines += ["", "The numbers in brackets or under a value are its 95% interval."]
    lines += [f"Note: {markdown_text(note)}." for note in _notes(report)]
    return "\n".join(lines) + "\n"


def to_latex(report: Mapping[str, Any]) -> str:
    r"""The slices as a LaTeX table in the style of booktabs, the intervals in small type below the values.

    Args:
        report: A report of schema version 1.

    Returns:
        A `table` environment; it needs `\usepackage{booktabs}`.
    """
    heads = _heads(report)
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{l{'r' * (len(heads) + 1)}}}", r"\toprule"]
    lines += [latex_row([latex_text(head) for head in ("Slice", *heads, "n")]), r"\midrule"]
    for cells in _slice_rows(report):
        lines.append(latex_row([latex_text(cell.partition("\n")[0]) for cell in cells]))
        below = [cell.partition("\n")[2] for cell in cells]
        if any(below):
            lines.append(latex_row([rf"{{\footnotesize {latex_text(cell)}}}" if cell else "" for cell in below]))
    benchmark = report["benchmark"]
    task = f"{wording.name(benchmark['name'])}/{wording.name(benchmark['config'])}"
    notes = "".join(f" {note[:1].upper()}{note[1:]}." for note in _notes(report))
    said = f"{wording.name(report['model']['id'])} on {task}. {verdict(report).sentence}"
    matched = f" {matched_words(report)}".rstrip()
    caption = f"{said}{matched} Below each value its 95% interval.{notes}"
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{latex_text(caption)}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def to_frame(report: Mapping[str, Any]) -> "pd.DataFrame":
    """Every number of the slices, the gap, the groups and the detectors, one to a row, at full precision.

    Args:
        report: A report of schema version 1.

    Returns:
        Columns slice, metric, value, low, high (float, nan where undefined), n (int), method and reason (str, missing
        where there is none). The slice of the gap is "gap", that of the matched one "gap matched on area", that of a
        group "group split:name", that of a detector "detection in / out" (its metric begins with its name).
    """
    import pandas as pd

    rows = [(part["name"], metric, one) for part in report["slices"] for metric, one in part["metrics"].items()]
    gap = report["gap"]
    rows.append(("gap", gap["metric"], gap | {"n": gap["n_in"] + gap["n_out"]}))
    matched = report.get("matched_gap")
    if matched:
        rows.append((f"gap matched on {matched['column']}", matched["metric"], matched))
    for row in (report.get("groups") or {"rows": []})["rows"]:
        group = f"group {row['split']}:{row['group']}"
        rows += [(group, metric, row[metric]) for metric in ("accuracy", "error_rate", "nll") if metric in row]
    rows += detection_estimates(report)
    records = [
        {"slice": name, "metric": metric}
        | {key: math.nan if one[key] is None else float(one[key]) for key in ("value", "low", "high")}
        | {"n": int(one["n"]), "method": one["method"], "reason": one["reason"]}
        for name, metric, one in rows
    ]
    return pd.DataFrame.from_records(records)


def _metrics(report: Mapping[str, Any]) -> list[str]:
    primary = report["benchmark"]["primary_metric"]
    names = [m for m in report["metrics"] if any(m in part["metrics"] for part in report["slices"])]
    return sorted(names, key=lambda metric: metric != primary)


def _head(report: Mapping[str, Any], metric: str) -> str:
    described = report["metrics"][metric]
    unit, arrow = numbers.unit_of(metric, described["unit"]), numbers.arrow(described["direction"])
    return f"{wording.name(described['title'], 40)} {unit} {arrow}"


def _heads(report: Mapping[str, Any]) -> list[str]:
    return [_head(report, metric) for metric in _metrics(report)]


def _cell(estimate: Mapping[str, Any] | None, unit: str) -> str:
    """The value, a line feed, and its interval or the reason why it has none."""
    if estimate is None:
        return numbers.ABSENT
    below = numbers.interval(estimate, unit) or wording.name(estimate["reason"] or "no interval")
    return f"{numbers.quantity(estimate['value'], unit)}\n{below}"


def _sides(report: Mapping[str, Any]) -> list[list[str]]:
    inside, outside = wording.find_slice(report, "in"), wording.find_slice(report, "out")
    gap, benchmark = report["gap"], report["benchmark"]
    rows = []
    for metric in _metrics(report):
        unit = report["metrics"][metric]["unit"]
        pair = [None if part is None else part["metrics"].get(metric) for part in (inside, outside)]
        if any(one is not None for one in pair):
            below = numbers.interval_points(gap) or wording.name(gap["reason"] or "no interval")
            difference = f"{numbers.points(gap['value'])}\n{below}" if metric == gap["metric"] else numbers.ABSENT
            rows.append([_head(report, metric), *(_cell(one, unit) for one in pair), difference])
        if metric == benchmark["primary_metric"]:
            chance = numbers.fraction(benchmark["chance"])
            rows.append(["chance", chance, chance, numbers.ABSENT])
    rows.append(["n", numbers.count(gap["n_in"]), wording.out_count(report), numbers.ABSENT])
    return rows


def _slice_rows(report: Mapping[str, Any]) -> list[list[str]]:
    metrics, rows = _metrics(report), []
    for part in sorted(report["slices"], key=lambda part: theme.ROLES.index(part["role"])):
        cells = [_cell(part["metrics"].get(metric), report["metrics"][metric]["unit"]) for metric in metrics]
        rows.append([wording.slice_words(report, part), *cells, numbers.count(part["n"])])
    primary, benchmark = report["benchmark"]["primary_metric"], report["benchmark"]
    chance = [numbers.fraction(benchmark["chance"]) if m == primary else numbers.ABSENT for m in metrics]
    return [*rows, ["chance", *chance, numbers.ABSENT]]


def _group_rows(report: Mapping[str, Any]) -> list[list[str]]:
    rows = (report.get("groups") or {"rows": []})["rows"]
    ordered = sorted(rows, key=lambda row: (row["role"] != "out", -(row["error_rate"]["value"] or 0.0)))
    return [
        [
            wording.group_words(report, row),
            theme.SIDES[row["role"]] if row["role"] else numbers.ABSENT,
            *_cell(row["error_rate"], "fraction").split("\n"),
            numbers.count(row["n"]),
        ]
        for row in ordered
    ]


def _notes(report: Mapping[str, Any]) -> list[str]:
    return [numbers.counts_in_text(wording.name(note, 400)) for note in report["notes"]]


def _sides_table(report: Mapping[str, Any]) -> Table:
    table = _table(["", "In context", "Out of context", "Gap, points"])
    for cells in _sides(report):
        value = [Text.assemble(*_two_lines(cell)) for cell in cells[1:]]
        table.add_row(Text(cells[0], style="bold" if "\n" in cells[1] else "dim"), *value)
    return table


def _groups_table(report: Mapping[str, Any]) -> Table:
    table = _table(["Group", "Side", "Error % ↓", "95% interval", "n"])
    for cells in _group_rows(report):
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _filled(table: Table, rows: Sequence[Sequence[str]]) -> Table:
    for cells in rows:
        table.add_row(*(Text.assemble(*_two_lines(cell)) for cell in cells))
    return table


def _table(heads: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for i, title in enumerate(heads):
        table.add_column(Text(title), justify="left" if i == 0 or title == "Side" else "right")
    return table


def _two_lines(cell: str) -> list[tuple[str, str]]:
    value, _, below = cell.partition("\n")
    return [(value, ""), *([(f"\n{below}", "dim")] if below else [])]


def _markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, join: str) -> list[str]:
    def cell(text: str) -> str:
        value, _, below = map(markdown_text, text.partition("\n"))
        return f"{value}{join}({below})" if below and join == " " else f"{value}{join}{below}" if below else value

    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *[[cell(text) for text in row] for row in rows]]
    return [markdown_row(line) for line in lines]
