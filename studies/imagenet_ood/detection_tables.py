"""The tables of a study, made of its numbers: means over models, their spread, what is best, what the paper prints."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from oochub.comparison.paper_numbers import ReportedNumbers, find_reported_numbers
from oochub.studies.imagenet_ood.detection_table import DetectionTable, ModelBlock, caption
from oochub.studies.imagenet_ood.plan import TABLES, Pair, Plan
from oochub.studies.imagenet_ood.table_cells import Entry, mark_best, measured_cell, printed_cell

if TYPE_CHECKING:
    import pandas as pd


def detection_tables(
    frame: "pd.DataFrame", plan: Plan, *, reported: bool = False, failed: Mapping[str, str] | None = None
) -> tuple[DetectionTable, ...]:
    """The tables that a plan names.

    A cell is the mean over models of each model's own number, never a number of pooled rows. Bold is the best mean of a
    column and every one whose mean +- standard deviation overlaps with its (of one model: whose interval does).

    Args:
        frame: Numbers as in `oochub.studies.imagenet_ood.study.Study.frame`.
        plan: Names the tables, their detectors and pairs.
        reported: Adds the paper's numbers where set and detector have the same name, in columns of their own.
        failed: Models that are missing, with their errors.
    """
    notes = [f"{name} failed and is not in the table: {error}" for name, error in (failed or {}).items()]
    return tuple(_build_table(name, frame, plan, reported, notes) for name in plan.tables)


def _build_table(name: str, frame: "pd.DataFrame", plan: Plan, reported: bool, notes: Sequence[str]) -> DetectionTable:
    part = frame[frame["seed"].notna()] if name == "random" else frame[frame["seed"].isna()]
    blocks = tuple(_build_blocks(name, part, plan, reported))
    entries = [entry for block in blocks for _, row in block.rows for entry in row if entry is not None]
    measured = [entry for entry in entries if not entry.reported]
    reasons = list(
        dict.fromkeys(str(entry.cell.reason) for entry in measured if entry.cell.reason and math.isnan(entry.cell.mean))
    )
    remarks = [f"n/a: {reason}" for reason in reasons]
    printed = _read_reported(name) if reported else None
    if printed is not None:
        has_reported = any(entry.reported for entry in entries)
        of_paper = next(str(cell) for cell in printed.values() if cell.values)
        remarks.append(of_paper if has_reported else "the paper has no numbers for these sets and detectors")
    return DetectionTable(
        name=name,
        title=TABLES[name].title,
        blocks=blocks,
        caption=_write_caption(name, measured, plan),
        notes=(*notes, *remarks),
        frame=_make_frame(name, blocks),
    )


def _build_blocks(name: str, part: "pd.DataFrame", plan: Plan, reported: bool) -> Iterator[ModelBlock]:
    detectors, printed = plan.tables[name][0], _read_reported(name) if reported else None
    for architecture in dict.fromkeys(part["model"]) if name == "random" else [""]:
        of = part[part["model"] == architecture] if architecture else part
        for title, columns in _list_grids(name, plan):
            rows = [[measured_cell(name, of, key, pair, metric) for _, pair, metric in columns] for key in detectors]
            heads = [head for head, _, _ in columns]
            if name.isdigit():
                mark_best(rows, -1 if name == "2" else 1)
            if printed is not None:
                of_paper = [(printed.get((metric, pair[1])), pair) for _, pair, metric in columns]
                theirs = [[printed_cell(numbers, key, pair) for numbers, pair in of_paper] for key in detectors]
                kept = [k for k in range(len(columns)) if any(row[k] for row in theirs)]
                heads += [f"{heads[k]} (reported)" for k in kept]
                rows = [[*row, *(other[k] for k in kept)] for row, other in zip(rows, theirs, strict=True)]
            yield ModelBlock(
                title=f"{architecture}: {title}" if architecture else title,
                head="detector",
                columns=tuple(heads),
                rows=tuple((key, tuple(row)) for key, row in zip(detectors, rows, strict=True)),
            )


def _list_grids(name: str, plan: Plan) -> Iterator[tuple[str, list[tuple[str, Pair, str]]]]:
    """The title of each grid of a table, and its columns: head, pair and metric."""
    metrics, pairs = TABLES[name].metrics, plan.tables[name][1]
    if name in ("4", "gain"):
        for pair in pairs:
            unit = ", \u00d7 100 ↑" if name == "4" else ""
            yield f"{' / '.join(pair)}{unit}", [(title, pair, metric) for metric, title in metrics.items()]
        return
    unit = {"2": "% ↓", "differences": "points", "random": "\u00d7 100"}.get(name, "\u00d7 100 ↑")
    for metric, title in metrics.items():
        yield f"{title}, {unit}", [(" / ".join(pair), pair, metric) for pair in pairs]


def _read_reported(name: str) -> dict[tuple[str, str], ReportedNumbers] | None:
    """The paper's numbers of a table by (metric, set out of distribution)."""
    if not name.isdigit():
        return None
    kind = TABLES[name]
    return {
        (m, out): find_reported_numbers("imagenet_ood", m, out, table=name)
        for m in kind.metrics
        for _, out in kind.pairs
    }


def _write_caption(name: str, measured: Sequence[Entry], plan: Plan) -> str:
    right = " An answer is right among the classes of its set." if plan.classes == "present" else ""
    return caption(name, [entry.cell for entry in measured]) + right


def _make_frame(name: str, blocks: Sequence[ModelBlock]) -> "pd.DataFrame":
    import pandas as pd

    records = [
        {"table": name, "block": block.title, "row": label, "column": column}
        | {"mean": entry.cell.mean, "sd": entry.cell.sd, "low": entry.cell.low, "high": entry.cell.high}
        | {"models": entry.cell.seeds, "bold": entry.bold, "reported": entry.reported, "reason": entry.cell.reason}
        | (entry.verdicts.counts() if entry.verdicts else {})
        for block in blocks
        for label, row in block.rows
        for column, entry in zip(block.columns, row, strict=True)
        if entry is not None
    ]
    return pd.DataFrame.from_records(records)
