"""repair.json with one thing wrong, read and shown: refused, or the same numbers."""

import math
from pathlib import Path

from fuzz_case import Format, Used

from oochub.records.report_records import ComparedNumber
from oochub.repairs.collection import CellGain, Collection, CurvePoint
from oochub.repairs.repair import PartOfSplit, Repair, RepairDraw, TriedHead, repair_page, terminal, write_verdict
from oochub.stats.estimate import Estimate

_FILE = "repair.json"


def _estimate(value: float) -> Estimate:
    return Estimate(value, low=value - 0.1, high=value + 0.1, n=80, method="wilson")


def _collection() -> Collection:
    """One with a cell that has a curve, and one that has none."""
    curve = tuple(CurvePoint(rows=rows, accuracy=0.5 + rows / 100) for rows in (4.0, 9.0))
    first = CellGain(
        name="cat/sea", side="out", rows=12, more=12, gain=_estimate(0.1), curve=curve, level=0.8, fall=0.6
    )
    few = Estimate(math.nan, n=80, method="", reason="too few rows: 8 are needed")
    return Collection(
        more=100,
        head="last layer retrained on weighted groups",
        settings={"c": 0.1, "unseen": 0.0},
        scored=80,
        scored_out=30,
        cells=(first, CellGain(name="dog/sea", side="out", rows=3, more=3, gain=few)),
        ranked=7,
        notes=("1 image could not be read",),
    )


def _repair() -> Repair:
    """One that shows nothing, with two heads that were tried and one division."""
    change = ComparedNumber(
        first=_estimate(0.4), second=_estimate(0.5), difference=_estimate(0.1), p_value=0.2, test="exact McNemar"
    )
    own = {"groups": "", "rows": "", "inside": 0.9, "outside": 0.4, "loss": 1.0, "is_allowed": True}
    return Repair(
        outcome="not_shown",
        reason="The interval of the difference in unusual contexts includes 0.",
        needed=320,
        gap=_estimate(-0.5),
        at_most_lost=0.05,
        parts=tuple(
            PartOfSplit(part=part, split="all", rows=160, out=80, is_seen=False) for part in ("fit", "choose", "prove")
        ),
        tried=(
            TriedHead(method="none", title="the model's own", settings={}, is_chosen=False, **own),
            TriedHead(method="adjust_logits", title="logits adjusted", settings={"tau": 1.0}, is_chosen=True, **own),
        ),
        draws=(
            RepairDraw(
                seed=0,
                method="adjust_logits",
                title="logits adjusted",
                settings={"tau": 1.0},
                inside=change,
                outside=change,
            ),
        ),
        collection=_collection(),
        command="oochub repair model images --out repaired",
        key="0" * 40,
        provenance={"model": "net", "data": "own", "seed": 0},
    )


def _use(folder: Path, out: Path) -> Used:
    repair = Repair.load(folder / _FILE)
    (out / "page.html").write_text(repair_page(repair), "utf-8")
    terminal(repair, 100)
    both = [
        each and [*map(float, (each.first, each.second, each.difference))] for each in (repair.inside, repair.outside)
    ]
    return Used(numbers={"outcome": [write_verdict(repair)], "both": both}, notes=repair.notes)


REPAIRS = Format(name="repairs", make=lambda folder: _repair().save(folder / _FILE), use=_use)
