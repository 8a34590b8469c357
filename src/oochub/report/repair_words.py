"""A repair in words and tables: the verdict, what was done, both numbers, and how much the division of rows matters."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from oochub.records.report_records import ComparedNumber
from oochub.records.table import Table
from oochub.report import format_numbers, wording
from oochub.report.collection_words import describe_collection, make_collection_table
from oochub.report.footnotes import Footnotes, describe_interval
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from rich.console import Group

    from oochub.report.repair import PartOfSplit, Repair, TriedHead

_SHOWN = 12
"""Heads that were tried, of which the page has the best."""
_PARTS: Mapping[str, str] = {
    "fit": "fits new last layers",
    "choose": "chooses one of them",
    "prove": "proves the chosen one",
}
_SIDES: Mapping[str, str] = {"in": "in usual contexts", "out": "in unusual contexts"}


def write_verdict(repair: "Repair") -> str:
    """The outcome in one sentence, the last line of the command: better, nothing to repair, or not shown."""
    if repair.outcome == "better":
        return "The repaired model is better in unusual contexts."
    if repair.outcome == "nothing_to_repair":
        return "There is nothing to repair."
    if not repair.tried:
        return "It is not shown that there is anything to repair."
    return "It is not shown that a repair makes the model better."


def write_sentences(repair: "Repair") -> list[str]:
    """What follows the verdict: both numbers with their intervals, why, and what would show more."""
    said = []
    if repair.outside is not None and repair.inside is not None:
        said.append(
            f"Accuracy in unusual contexts goes {_move(repair.outside)}, and in usual contexts {_move(repair.inside)}, "
            "on rows that nothing was fitted or chosen on."
        )
    if repair.outcome == "better" and repair.inside is not None and repair.inside.difference.low > 0:
        said.append("It is better in usual contexts too, so not all of the gain comes from relying less on context.")
    if repair.reason:
        said.append(wording.clean(repair.reason))
    if repair.contexts:
        said.append(
            "Contexts were found in the images. Those that matter to the model on rows that do not prove: "
            f"{wording.join_names([wording.name(each, 60) for each in repair.contexts])}."
        )
    if repair.outside is None and not format_numbers.is_undefined(repair.gap):
        where = "On the rows that fit and choose" if repair.tried else "On rows that the model was not trained on"
        said.append(
            f"{where}, accuracy in unusual contexts is {_points(repair.gap)} compared with usual ones, at equal shares "
            "of the classes."
        )
    if repair.needed is not None:
        said.append(
            f"About {format_numbers.count(repair.needed)} rows in unusual contexts would be needed to show it, in four "
            "of five samples, if it is as large as it seems."
            if repair.outside is not None
            else f"About {format_numbers.count(repair.needed)} such rows in unusual contexts would be needed to tell."
        )
    if repair.outcome != "better":
        said.append("No model was written.")
    return said


def describe_choice(repair: "Repair") -> str:
    """What was done: how many heads were tried, which was chosen, by what rule, and its temperature."""
    if not repair.tried:
        return "No new last layer was fitted."
    allowed = format_numbers.whole_points(repair.at_most_lost)
    networks = sum(each.is_fine_tuned for each in repair.tried)
    counted = "1 whole network was" if networks == 1 else f"{networks} whole networks were"
    tuned = f", and {counted} fine-tuned on the same rows" if networks else ""
    rule = (
        f"{len(repair.tried) - networks - 1} new last layers were fitted on the features of the rows that fit{tuned}. "
        "The one with the best accuracy on its worse side was chosen on the rows that choose, among those that lose at "
        f"most {allowed} points in usual contexts there, one standard error included unless that costs more than half "
        "of the gain. On rows that the model was trained on, a plain refit of its last layer stood in its place."
    )
    chosen = repair.chosen
    if chosen is None:
        return f"{rule} None is better than the model's own."
    again = "" if chosen.is_fine_tuned else " It was then fitted once more on both parts together."
    return (
        f"{rule} It is: {name_head(chosen)}.{again} Its logits were divided by a temperature of "
        f"{format_numbers.significant(repair.temperature)}, fitted on the rows that choose."
    )


def describe_draws(repair: "Repair") -> str:
    """How much the result depends on how the rows were divided; "" for one division."""
    changes = [draw.outside.difference for draw in repair.draws if draw.outside is not None]
    if len(repair.draws) < 2 or not changes:
        return ""
    none = len(repair.draws) - len(changes)
    more = f" In {none} of them nothing that was tried was better than the model." if none else ""
    low, high = format_numbers.points(min(changes)), format_numbers.points(max(changes))
    return (
        f"The first of {len(repair.draws)} divisions of the rows decides. Over all of them the change in unusual "
        f"contexts is {low} to {high} points.{more}"
    )


def name_head(tried: "TriedHead") -> str:
    """A head in words: "last layer retrained on weighted groups (c = 0.1; class and side)"."""
    about = _describe_settings(tried)
    return f"{wording.clean(tried.title)} ({about})" if about else wording.clean(tried.title)


def _describe_settings(tried: "TriedHead") -> str:
    """Its hyperparameters, groups and rows: "c = 0.1; class and context"."""
    settings = [f"{name} = {value:g}" for name, value in tried.settings.items()]
    groups = {"context": "class and context", "side": "class and side"}.get(tried.groups, "")
    rows = "unseen rows alone" if tried.rows == "unseen" else ""
    return "; ".join(filter(None, (", ".join(settings), groups, rows)))


def make_repair_tables(repair: "Repair") -> list[Table]:
    """The tables: both sides before and after, where the rows went, the heads that were tried, the divisions."""
    tables = [_make_sides(repair), _make_parts(repair), _make_tried(repair), _make_draws(repair)]
    return [table for table in tables if table.rows]


def terminal(repair: "Repair", width: int) -> "Group":
    """Both sides before and after, where the rows went, and what was done; the other tables are on the page.

    Args:
        repair: Any repair.
        width: Characters in a line.
    """
    from rich.console import Group, RenderableType
    from rich.text import Text

    parts: list[RenderableType] = []
    for table in (_make_sides(repair), _make_parts(repair)):
        for piece in [Text(table.title, style="bold"), *table.to_terminal(width), Text()] if table.rows else []:
            parts.append(piece)
    notes = [f"Note: {format_numbers.counts_in_text(wording.clean(note))}" for note in repair.notes]
    lines = [describe_choice(repair), describe_draws(repair), *write_sentences(repair), *notes]
    parts += [Text(line) for line in lines if line]
    if repair.collection is not None:
        table = make_collection_table(repair.collection)
        head = [Text(), Text(table.title, style="bold"), *table.to_terminal(width)] if table.rows else []
        parts += [*head, Text(), *map(Text, describe_collection(repair.collection))]
    return Group(*parts)


def _make_sides(repair: "Repair") -> Table:
    notes, rows = Footnotes(), []
    for side, number in (("out", repair.outside), ("in", repair.inside)):
        if number is not None:
            cells = [notes.cell(each) for each in (number.first, number.second)]
            change = notes.cell(number.difference, signed=True)
            rows.append((f"Accuracy {_SIDES[side]}", *cells, change, format_numbers.count(number.first.n)))
    return Table(
        title="Before and after, on the rows that prove",
        heads=("Side", "before", "after", "change", "n"),
        rows=tuple(rows),
        footnotes=notes.lines,
    )


def _make_parts(repair: "Repair") -> Table:
    return Table(
        title="Where the rows of each split went",
        heads=("Part", "split", "rows", "in unusual contexts", "model trained on it"),
        rows=tuple(_part_cells(each) for each in repair.parts),
    )


def _part_cells(each: "PartOfSplit") -> tuple[str, ...]:
    counts = map(format_numbers.count, (each.rows, each.out))
    return (_PARTS[each.part], wording.name(each.split, 40), *counts, "yes" if each.is_seen else "no")


def _make_tried(repair: "Repair") -> Table:
    best = sorted(repair.tried, key=lambda each: (-each.is_chosen, -each.is_allowed, -min(each.inside, each.outside)))
    shown = sorted(best[:_SHOWN], key=repair.tried.index)
    rows = [
        (
            wording.clean(each.title),
            _describe_settings(each),
            format_numbers.fraction(each.outside),
            format_numbers.fraction(each.inside),
            "chosen" if each.is_chosen else "" if each.is_allowed else "loses too much",
        )
        for each in shown
    ]
    left_out = len(repair.tried) - len(shown)
    more = (f"{left_out} more, which are worse, are in repair.json.",) if left_out else ()
    return Table(
        title="What was tried, on the rows that choose",
        heads=("Model", "settings", "unusual contexts", "usual contexts", ""),
        rows=tuple(rows),
        bold=frozenset((i, k) for i, each in enumerate(shown) if each.is_chosen for k in range(1, 5)),
        left=frozenset({0, 1}),
        footnotes=more,
    )


def _make_draws(repair: "Repair") -> Table:
    notes, rows = Footnotes(), []
    for draw in repair.draws if len(repair.draws) > 1 else ():
        cells = [
            format_numbers.ABSENT if number is None else notes.cell(number.difference, signed=True)
            for number in (draw.outside, draw.inside)
        ]
        rows.append((f"seed {draw.seed}", *cells, wording.clean(draw.title)))
    return Table(
        title="The same with other divisions of the rows",
        heads=("Division", "change in\nunusual contexts", "change in\nusual contexts", "chosen"),
        rows=tuple(rows),
        footnotes=notes.lines,
    )


def _move(number: ComparedNumber) -> str:
    """From what to what, by how much, on how many rows."""
    first, second = (format_numbers.fraction(each) for each in (number.first, number.second))
    return f"from {first}% to {second}%, by {_points(number.difference)}, n = {format_numbers.count(number.first.n)}"


def _points(estimate: Estimate) -> str:
    return f"{format_numbers.points(estimate)} points ({describe_interval(estimate, signed=True)})"
