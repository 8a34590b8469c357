"""What docs/results.md says of docs/results/repeats.parquet: the same seed elsewhere, and how long JTT trains."""

from typing import Any

import numpy as np
import pandas as pd
from repeated_runs import SEED
from results_numbers import TASKS

from oochub.report import format_numbers

_PLACE = ["threads", "instructions", "time"]


def repeats_section(repeats: pd.DataFrame, table: pd.DataFrame, about: dict[str, Any]) -> str:
    """Markdown.

    Args:
        repeats: The table of docs/results/repeats.parquet.
        table: The table of docs/results/runs.parquet: the spread over seeds, beside that over places.
        about: What the metadata of `repeats` says: `versions`.
    """
    placed = repeats.groupby(["task", "method"], sort=False).filter(lambda rows: len(rows) > 1)
    places = [tuple(place) for place in placed[_PLACE].drop_duplicates().to_numpy()]
    again = [_pair(rows) for _, rows in placed.groupby(["task", "method"], sort=False)]
    same = sum(first == second for first, second in again)
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    head = ["world", "method", *map(_describe_place, places), "range", f"range of seeds {_list_seeds(table)}"]
    lines = [
        _PREFACE.format(runs=len(placed), seed=SEED, same=same, of=len(again), versions=versions),
        f"| {' | '.join(head)} |",
        "|" + "---|" * len(head),
    ]
    for key, rows in placed.groupby(["task", "method"], sort=False):
        task, method = map(str, key)
        at = rows.set_index(_PLACE)["out_of_context"]
        seeds = table[(table["task"] == task) & (table["method"] == method)]["out_of_context"]
        cells = [TASKS[task][0], method, *(_format_cell(at, place) for place in places)]
        lines.append(f"| {' | '.join([*cells, *(format_numbers.fraction(np.ptp(each)) for each in (at, seeds))])} |")
    return "\n".join(lines) + "\n"


def steps_sentence(repeats: pd.DataFrame) -> str:
    """How many steps JTT takes, against ERM with as many epochs."""
    steps = {(row["task"], row["method"]): row["steps"] for row in repeats.to_dict("records")}
    parts = [
        f"on {TASKS[task][0]} {count:,} steps against ERM's {steps[task, 'ERM']:,}"
        for (task, method), count in steps.items()
        if method == "JTT"
    ]
    return (
        "An epoch of JTT's second stage visits each row that its first got wrong `upweight` times, so it is longer: "
        f"{', '.join(parts)} (seed {SEED}, both stages). Part of what it gains may be that it trains longer; no run of "
        "ERM with as many steps is here."
    )


def _format_cell(at: "pd.Series[float]", place: tuple[int, str, int]) -> str:
    return format_numbers.fraction(at.loc[place]) if place in at.index else format_numbers.ABSENT


def _pair(rows: pd.DataFrame) -> tuple[float, float]:
    """The number at the first place, the first time and the second."""
    first = rows.iloc[0]
    here = rows[(rows["threads"] == first["threads"]) & (rows["instructions"] == first["instructions"])]
    one, two = here.sort_values("time")["out_of_context"]
    return float(one), float(two)


def _describe_place(place: tuple[int, str, int]) -> str:
    threads, instructions, time = place
    words = f"{threads} thread{'s' if threads > 1 else ''}"
    words += "" if instructions == "all" else f", {instructions}"
    return f"{words}, again" if time > 1 else words


def _list_seeds(table: pd.DataFrame) -> str:
    return ", ".join(map(str, sorted(table["seed"].unique())))


_PREFACE = """## The same seed elsewhere

A seed fixes the first weights, the order of rows and the augmentation. It does not fix the order in which a processor
adds: that goes by the number of threads and by its instructions, and training makes a large difference of the last
digit. These are runs of the table above, seed {seed}, done again on one machine: with one thread and with two, with all
instructions of its processor and with AVX2 alone, as on an older one. Out of context, × 100, from
`docs/results/repeats.parquet`, {runs} runs; `python docs/make/repeated_runs.py` does them again. {versions}.

The same threads and instructions give the same number again ({same} of {of}); a dash was not run. The *range* is the
largest minus the smallest, beside that of the seeds on one machine. If the first is as large as the second, naming
the seed says little, and one run is one draw. Predictions of a model that is already trained do not change like this.
"""
