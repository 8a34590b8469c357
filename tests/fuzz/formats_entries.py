"""A leaderboard of three entries, one of them with something wrong: the site is made, and says which it verified.

The rows of the benchmark that the results hold are refused if anything in them was changed.
"""

from dataclasses import replace
from pathlib import Path

import datasets
from fuzz_case import Format, Used
from leaderboard_entries import made_predictions, sent_entry

from oochub.leaderboard.benchmark_rows import BenchmarkRows
from oochub.leaderboard.site import Site
from oochub.records.metadata import PredictedBy

CHANGED_ENTRY = "results/changed"


def _make(folder: Path) -> None:
    for name, skill in (("changed", 1.5), ("first", 2.0), ("second", 0.8)):
        entry = sent_entry(folder / "results", predictions=made_predictions(skill, rows=60), model=name)
        entry.rename(folder / "results" / name)


def _use(folder: Path, out: Path) -> Used:
    site = Site.write(folder / "results", out / "site")
    rows = [row for board in site.boards for row in board.rows]
    numbers = {row.name: [None if row.reason else float(row.report["accuracy"]), row.rank, row.reason] for row in rows}
    return Used(numbers={**numbers, "unread": [each.name for each in site.unread]})


def _make_truth(folder: Path) -> None:
    _make(folder)
    made = made_predictions(1.0, rows=60)
    table = made.table.drop_columns(["logits"])
    features = datasets.Features(
        {name: datasets.ClassLabel(names=made.class_names) if name == "label" else datasets.Value("string")
         for name in ("example_id", "label", "challenge", "group")}
    )  # fmt: skip
    rows = datasets.Dataset(table.select(list(features)).cast(features.arrow_schema))
    about = replace(made.metadata, model=PredictedBy(), rows={made.split[0]: len(made)})
    BenchmarkRows(source="toy", splits={made.split[0]: rows}, about=about).save(folder / "results")


ENTRIES = Format(name="leaderboard", make=_make, use=_use)
TRUTH = Format(name="benchmark's own rows", make=_make_truth, use=_use)
