"""The page of a repair: the verdict, both numbers, what was done, groups that won and lost, images that changed."""

from typing import TYPE_CHECKING, Any

from oochub.report import format_numbers, wording
from oochub.report.collection import Collection
from oochub.report.collection_chart import draw_learning_curves
from oochub.report.collection_words import describe_collection, make_collection_table
from oochub.report.comparison_page import lay_out_table
from oochub.report.paired_page import make_paired_sections
from oochub.report.repair_words import (
    describe_choice,
    describe_draws,
    make_repair_tables,
    write_sentences,
    write_verdict,
)
from oochub.report.self_contained_page import self_contained_page

if TYPE_CHECKING:
    from oochub.report.repair import Repair

_NAMES = ("before", "after", "change")
_TITLES = {"Only B is right": "Right after the repair alone", "Only A is right": "Right before the repair alone"}


def repair_page(repair: "Repair", *, images: bool = True) -> str:
    """Renders a repair as a self-contained HTML page; the same repair gives the same bytes.

    Args:
        repair: Any repair.
        images: False leaves the images out, for data that may not be passed on; ids and words stay.

    Raises:
        OochubError: So many groups or notes that the page would exceed its limits.
    """
    paired = None if repair.comparison is None else make_paired_sections(repair.comparison, images=images)
    flips = [] if paired is None else [_name_flips(part) for part in paired["flips"]]
    groups = None if paired is None or paired["groups"] is None else paired["groups"] | {"names": _NAMES}
    return self_contained_page(
        "repair.html.jinja",
        pictures=sum(len(card["picture"] or "") for part in flips for card in part["cards"]),
        advice="Repair with fewer groups at once.",
        repair=repair,
        headline=write_verdict(repair),
        sentences=write_sentences(repair),
        choice=describe_choice(repair),
        draws=describe_draws(repair),
        tables=[lay_out_table(table) for table in make_repair_tables(repair)],
        collect=None if repair.collection is None else _lay_out_collection(repair.collection),
        groups=groups,
        groups_left_out=0 if paired is None else paired["groups_left_out"],
        sides={} if paired is None else paired["sides"],
        flips=flips,
        without_pictures=paired is not None and paired["without_pictures"],
        notes=[format_numbers.counts_in_text(wording.clean(note)) for note in repair.notes],
        facts=_list_facts(repair),
        commands=_write_commands(repair),
        name=wording.name(str(repair.provenance.get("model") or "A model"), 60),
        data=wording.name(str(repair.provenance.get("data") or "own data"), 60),
        oochub=str(repair.provenance.get("oochub", "")),
        licenses=[] if paired is None else paired["reproduce"]["licenses"],
    )


def _lay_out_collection(collection: Collection) -> dict[str, Any]:
    table = make_collection_table(collection)
    return {
        "sentences": describe_collection(collection),
        "tables": [lay_out_table(table)] if table.rows else [],
        "charts": draw_learning_curves(collection),
    }


def _name_flips(part: dict[str, Any]) -> dict[str, Any]:
    """The examples of one direction; the models are called before and after, and not A and B."""
    is_won = part["title"] == "Only B is right"
    cards = [
        card | {"right": card["right"].replace("B gave" if is_won else "A gave", "after" if is_won else "before")}
        for card in part["cards"]
    ]
    return {"title": _TITLES[part["title"]], "who": "before " if is_won else "after ", "cards": cards}


def _list_facts(repair: "Repair") -> list[tuple[str, str]]:
    known = repair.provenance
    versions = {"oochub": known.get("oochub"), **(known.get("packages") or {}), "Python": known.get("python")}
    when = known.get("when") or {}
    facts = {
        "Model": known.get("model"),
        "Data": known.get("data"),
        "Intervals": f"95%, paired; seed {known.get('seed')}",
        "Versions": " · ".join(f"{name} {text}" for name, text in versions.items() if text),
        "Made": when.get("created"),
    }
    return [(title, wording.name(str(text), 400)) for title, text in facts.items() if text]


def _write_commands(repair: "Repair") -> str:
    """The command of the repair, and those that look at what it left."""
    if not repair.command:
        return ""
    after = "\noochub compare before.parquet after.parquet" if repair.comparison is not None else ""
    return wording.clean(repair.command) + after
