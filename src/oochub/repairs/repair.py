"""What a repair found: how the rows were divided, which heads were tried, and what the chosen one proved.

A repair in words and tables: the verdict, what was done, both numbers, and how much the division of rows matters.

The README.md of a repaired model: what was done, and both numbers on rows never used before.

The page of a repair: the verdict, both numbers, what was done, groups that won and lost, images that changed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from oochub.comparison.comparison_page import lay_out_tables
from oochub.comparison.paired_report import PairedReport, PairWords, make_paired_sections
from oochub.errors import OochubError
from oochub.records.document import Block, Document
from oochub.records.report_records import ComparedNumber
from oochub.records.schema import from_json, optional, to_json
from oochub.records.table import Table, escape_markdown
from oochub.records.typed_values import Count, Share
from oochub.repairs.collection import Collection, draw_learning_curves, make_collection_document
from oochub.report import format_numbers, wording
from oochub.report.footnotes import Footnotes, describe_interval
from oochub.report.self_contained_page import self_contained_page
from oochub.stats.estimate import Estimate
from oochub.storage.artifacts import RECORD
from oochub.storage.files import write_whole
from oochub.storage.reading import read_json

if TYPE_CHECKING:
    from rich.console import Group

_SHOWN = 12
"""Heads that were tried, of which the page has the best."""
_PARTS: Mapping[str, str] = {
    "fit": "used to fit new last layers",
    "choose": "used to select one of them",
    "prove": "held out to test the selected one",
}
_SIDES: Mapping[str, str] = {"in": "in usual contexts", "out": "in unusual contexts"}


SCHEMA_VERSION = 1

FINE_TUNE = "fine_tune"
"""Name of the method that fine-tunes a whole network."""
Outcome = Literal["better", "no_worse", "not_shown", "nothing_to_repair"]
PartName = Literal["fit", "choose", "prove"]


_OPENS = (
    "oochub opens it, as `oochub audit model.onnx SOURCE` or `oochub audit SOURCE --model-file repaired.py`; for the "
    "latter, the file that made the given model must stay where it is."
)


_WORDS = PairWords(names=("before", "after", "change"), only="Right {} the repair alone", gave="{}")


def write_verdict(repair: "Repair") -> str:
    """The outcome in one sentence, the last line of the command: better, nothing to repair, or not shown."""
    if repair.outcome == "better":
        return f"The repaired model is better in unusual contexts{_describe_spread(repair)}."
    if repair.outcome == "nothing_to_repair":
        return "There is nothing to repair."
    if not repair.tried:
        return "There is no clear evidence that the model needs a repair."
    return "There is no clear evidence that a repair improves the model."


def write_sentences(repair: "Repair") -> list[str]:
    """What follows the verdict: both numbers with their intervals, why, and what would show more."""
    sentences = []
    if repair.outside is not None and repair.inside is not None:
        sentences.append(
            f"Accuracy in unusual contexts goes {_move(repair.outside)}, and in usual contexts "
            f"{_move(repair.inside)}, on held-out rows."
        )
    if repair.outcome == "better" and repair.inside is not None and repair.inside.difference.low > 0:
        sentences.append(
            "It is better in usual contexts too, so not all of the gain comes from relying less on context."
        )
    if repair.reason:
        sentences.append(repair.reason)
    if repair.contexts:
        sentences.append(
            "Contexts were found in the images. On the fitting and selection rows, these matter to the model: "
            f"{wording.join_names([wording.name(context, 60) for context in repair.contexts])}."
        )
    if repair.outside is None and not format_numbers.is_undefined(repair.gap):
        where = "On the fitting and selection rows" if repair.tried else "On rows that the model was not trained on"
        sentences.append(
            f"{where}, accuracy in unusual contexts is {_points(repair.gap)} compared with usual ones, at equal shares "
            "of the classes."
        )
    if repair.needed is not None:
        sentences.append(
            f"About {format_numbers.count(repair.needed)} rows in unusual contexts would be needed to detect it in "
            "four of five samples, if it is as large as estimated."
            if repair.outside is not None
            else f"About {format_numbers.count(repair.needed)} such rows in unusual contexts would be needed to tell."
        )
    if repair.outcome != "better":
        sentences.append("No model was written.")
    return sentences


def describe_choice(repair: "Repair") -> str:
    """What was done: how many heads were tried, which was chosen, by what rule, and its temperature."""
    if not repair.tried:
        return "No new last layer was fitted."
    allowed = format_numbers.whole_points(repair.at_most_lost)
    networks = sum(head.is_fine_tuned for head in repair.tried)
    counted = "1 whole network was" if networks == 1 else f"{networks} whole networks were"
    tuned = f", and {counted} fine-tuned on the same rows" if networks else ""
    rule = (
        f"{len(repair.tried) - networks - 1} new last layers were fitted on the features of the fitting rows{tuned}. "
        "The one with the best accuracy on its worse side was chosen on the rows that choose, among those that lose "
        f"at most {allowed} points in usual contexts there, one standard error included unless that costs more than "
        "half of the gain. On rows that the model was trained on, a plain refit of its last layer stood in its place."
    )
    chosen = repair.chosen
    if chosen is None:
        return f"{rule} None is better than the model's own."
    again = "" if chosen.is_fine_tuned else " It was then refitted on both parts together."
    return (
        f"{rule} It is: {name_head(chosen)}.{again} Its logits were divided by a temperature of "
        f"{format_numbers.significant(repair.temperature)}, fitted on the rows that choose."
    )


def _describe_spread(repair: "Repair") -> str:
    """The change in unusual contexts over all divisions, 0 where the model stayed as it was; "" for one division."""
    changes = [0.0 if draw.outside is None else float(draw.outside.difference) for draw in repair.draws]
    if len(changes) < 2:
        return ""
    low, high = format_numbers.points(min(changes)), format_numbers.points(max(changes))
    return f", by {low} to {high} points over {len(changes)} divisions of the rows"


def _describe_draws(repair: "Repair") -> str:
    """How much the result depends on how the rows were divided; "" for one division."""
    changes = [draw.outside.difference for draw in repair.draws if draw.outside is not None]
    if len(repair.draws) < 2 or not changes:
        return ""
    none = len(repair.draws) - len(changes)
    more = f" In {none} of them no candidate was better than the model." if none else ""
    low, high = format_numbers.points(min(changes)), format_numbers.points(max(changes))
    return (
        f"The first of {len(repair.draws)} divisions of the rows decides. Over all of them the change in unusual "
        f"contexts is {low} to {high} points.{more}"
    )


def name_head(tried: "TriedHead") -> str:
    """A head in words: "last layer retrained on weighted groups (c = 0.1; class and side)"."""
    about = _describe_settings(tried)
    return f"{tried.title} ({about})" if about else tried.title


def _describe_settings(tried: "TriedHead") -> str:
    """Its hyperparameters, groups and rows: "c = 0.1; class and context"."""
    settings = [f"{name} = {value:g}" for name, value in tried.settings.items()]
    groups = {"context": "class and context", "side": "class and side"}.get(tried.groups, "")
    rows = "unseen rows alone" if tried.rows == "unseen" else ""
    return "; ".join(filter(None, (", ".join(settings), groups, rows)))


def _make_blocks(repair: "Repair", *, is_short: bool = False) -> tuple[Block, ...]:
    """The tables: both sides before and after, where the rows went; unless short, the heads tried, the divisions."""
    makers = (_make_sides, _make_parts) if is_short else (_make_sides, _make_parts, _make_tried, _make_draws)
    return tuple(Block(table=table) for make in makers if (table := make(repair)).rows)


def terminal(repair: "Repair", width: int) -> "Group":
    """Both sides before and after, where the rows went, and what was done; the other tables are on the page.

    Args:
        repair: Any repair.
        width: Characters in a line.
    """
    from rich.console import Group
    from rich.text import Text

    notes = [f"Note: {format_numbers.counts_in_text(note)}" for note in repair.notes]
    lines = [describe_choice(repair), _describe_draws(repair), *write_sentences(repair), *notes]
    document = Document(blocks=_make_blocks(repair, is_short=True), notes=tuple(filter(None, lines)))
    if repair.collection is None:
        return document.to_terminal(width)
    return Group(document.to_terminal(width), Text(), make_collection_document(repair.collection).to_terminal(width))


def _make_sides(repair: "Repair") -> Table:
    notes, rows = Footnotes(), []
    for side, number in (("out", repair.outside), ("in", repair.inside)):
        if number is not None:
            cells = [notes.cell(estimate) for estimate in (number.first, number.second)]
            change = notes.cell(number.difference, signed=True)
            rows.append((f"Accuracy {_SIDES[side]}", *cells, change, format_numbers.count(number.first.n)))
    return Table(
        title="Before and after, on held-out rows",
        heads=("Side", "before", "after", "change", "n"),
        rows=tuple(rows),
        footnotes=notes.lines,
    )


def _make_parts(repair: "Repair") -> Table:
    return Table(
        title="How the rows of each split were used",
        heads=("Part", "split", "rows", "in unusual contexts", "model trained on it"),
        rows=tuple(_part_cells(part) for part in repair.parts),
    )


def _part_cells(each: "PartOfSplit") -> tuple[str, ...]:
    counts = map(format_numbers.count, (each.rows, each.out))
    return (_PARTS[each.part], wording.name(each.split, 40), *counts, "yes" if each.is_seen else "no")


def _make_tried(repair: "Repair") -> Table:
    best = sorted(repair.tried, key=lambda each: (-each.is_chosen, -each.is_allowed, -min(each.inside, each.outside)))
    shown = sorted(best[:_SHOWN], key=repair.tried.index)
    rows = [
        (
            head.title,
            _describe_settings(head),
            format_numbers.fraction(head.outside),
            format_numbers.fraction(head.inside),
            "chosen" if head.is_chosen else "" if head.is_allowed else "loses too much",
        )
        for head in shown
    ]
    left_out = len(repair.tried) - len(shown)
    more = (f"{left_out} more, which are worse, are in repair.json.",) if left_out else ()
    return Table(
        title="Candidates, on the selection rows",
        heads=("Model", "settings", "unusual contexts", "usual contexts", ""),
        rows=tuple(rows),
        bold=frozenset((i, k) for i, head in enumerate(shown) if head.is_chosen for k in range(1, 5)),
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
        rows.append((f"seed {draw.seed}", *cells, draw.title))
    return Table(
        title="Results with other random partitions of the rows",
        heads=("Division", "change in\nunusual contexts", "change in\nusual contexts", "chosen"),
        rows=tuple(rows),
        footnotes=notes.lines,
    )


def _move(number: ComparedNumber) -> str:
    """From what to what, by how much, on how many rows."""
    first, second = (format_numbers.fraction(estimate) for estimate in (number.first, number.second))
    return f"from {first}% to {second}%, by {_points(number.difference)}, n = {format_numbers.count(number.first.n)}"


def _points(estimate: Estimate) -> str:
    return f"{format_numbers.points(estimate)} points ({describe_interval(estimate, signed=True)})"


@dataclass(frozen=True, kw_only=True)
class PartOfSplit:
    """The rows of one split that went to one part.

    Attributes:
        part: Part that they went to.
        split: Split that they belong to.
        rows: Number of rows.
        out: Number of these out of context.
        is_seen: Whether the model was trained on that split.
    """

    part: PartName
    split: str
    rows: Count
    out: Count
    is_seen: bool


@dataclass(frozen=True, kw_only=True)
class TriedHead:
    """A new head, or a fine-tuned network, on the rows that choose.

    Attributes:
        method: Name of the method; "none" is the model's own head, "fine_tune" a fine-tuned network.
        title: What it is, in words.
        settings: Its hyperparameters.
        groups: Kind of group that it was fitted on: "context" or "side"; "" if it does not depend on them.
        rows: Rows that it was fitted on: "all" of the part, or those that the model was not trained on, "unseen"; ""
            for the model's own.
        inside: Accuracy in context on the rows that choose.
        outside: Accuracy out of context.
        loss: The larger of the two sides' mean losses in nats; settles ties.
        is_allowed: Whether it loses no more in context than is allowed, see `choose_head`.
        is_chosen: Whether it was chosen.
    """

    method: str
    title: str
    settings: Mapping[str, float]
    groups: str
    rows: str
    inside: Share
    outside: Share
    loss: float
    is_allowed: bool
    is_chosen: bool

    @property
    def is_fine_tuned(self) -> bool:
        """Whether it is a whole network, and not a last layer."""
        return self.method == FINE_TUNE


@dataclass(frozen=True, kw_only=True)
class RepairDraw:
    """One division of the rows, and what it gives on the rows that prove.

    Attributes:
        seed: Seed of the division.
        method: Name of the method that was chosen; "none" if no head beats the model's own.
        title: What it is, in words.
        settings: Its hyperparameters.
        inside: Accuracy in context: of the model, of the repaired one, and the paired difference; None without a head.
        outside: The same out of context.
    """

    seed: int
    method: str
    title: str
    settings: Mapping[str, float]
    inside: ComparedNumber | None
    outside: ComparedNumber | None


@dataclass(frozen=True, kw_only=True)
class Repair:
    """What `oochub.repair` returns.

    Attributes:
        schema_version: Version of the JSON's schema.
        outcome: "better", "no_worse" (by the margin), "not_shown", or "nothing_to_repair".
        reason: One sentence that says why.
        needed: Rows out of context that would show it, if the difference is what it seems; None if unknown.
        gap: Accuracy of the model out of context minus in context, at equal shares of the classes: on the rows that fit
            or choose, if these show one, else on all rows that it was not trained on.
        at_most_lost: What may be lost in context, a share.
        parts: How the rows of each split were used.
        tried: Heads that were tried in the first division.
        draws: The divisions, the first one first: it decides.
        comparison: The model (A) and the repaired one (B) on the rows that prove; None if no head was chosen.
        contexts: Contexts that were found in the images, and by which rows are in or out of context; () if the data
            name the contexts.
        collection: Which rows to collect; None if it was not asked.
        temperature: What the logits of the new head are divided by.
        model: Folder of the repaired model, in that of the record; None if none was written.
        weights: SHA-256 of each file of its weights, by name.
        notes: Caveats.
        command: The command that makes it again; "" if a model or data in memory was given.
        key: What it was made of: model, data and settings; None for a model in memory.
        provenance: Versions and seed, and the model and data that it is of.
    """

    schema_version: int = SCHEMA_VERSION
    outcome: Outcome
    reason: str
    needed: Count | None = optional()
    gap: Estimate
    at_most_lost: Share
    parts: tuple[PartOfSplit, ...]
    tried: tuple[TriedHead, ...] = ()
    draws: tuple[RepairDraw, ...] = ()
    comparison: PairedReport | None = optional()
    contexts: tuple[str, ...] = ()
    collection: Collection | None = optional()
    temperature: float | None = optional()
    model: str | None = optional()
    weights: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    command: str = ""
    key: str | None = optional()
    provenance: Mapping[str, Any]

    @property
    def chosen(self) -> TriedHead | None:
        """The head that was chosen in the first division."""
        return next((head for head in self.tried if head.is_chosen), None)

    @property
    def inside(self) -> ComparedNumber | None:
        """Accuracy in context on the rows that prove: before, after, and the paired difference."""
        return self.draws[0].inside if self.draws else None

    @property
    def outside(self) -> ComparedNumber | None:
        """The same out of context."""
        return self.draws[0].outside if self.draws else None

    def _repr_html_(self) -> str:
        from oochub.report.self_contained_page import frame_page

        answer = Table(title=write_verdict(self), heads=(), rows=tuple((line,) for line in write_sentences(self)))
        tables = Document(blocks=(Block(table=answer), *_make_blocks(self))).to_notebook()
        try:
            page = repair_page(self)
        except OochubError:  # too large
            return tables
        return frame_page(page, title=write_verdict(self), tables=tables)

    def save(self, path: str | Path) -> Path:
        """Writes the record as JSON, whole or not at all."""
        with write_whole(path, kind=RECORD) as draft:
            draft.write_text(json.dumps(to_json(self), indent=2) + "\n", "utf-8")
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> "Repair":
        """Reads what `save` wrote.

        Raises:
            OochubError: No such file, or it is no record of a repair.
        """
        return from_json(cls, read_json(Path(path)), what=str(path))


def write_repair_card(
    repair: Repair, *, class_names: Sequence[str], is_wrapper: bool = False, is_own: bool = False
) -> str:
    """Markdown with the Hub's YAML header; the same repair gives the same card.

    Args:
        repair: A repair that is better.
        class_names: Names of the model's outputs.
        is_wrapper: Whether the model is an encoder with a linear layer, which transformers opens after an import.
        is_own: Whether the model is no model of transformers, but an ONNX file or one that a user's own file makes.
    """
    base = wording.name(str(repair.provenance.get("model") or "a model"), 60)
    data = wording.name(str(repair.provenance.get("data") or "the user's own data"), 60)
    shown = ", ".join(wording.name(name, 40) for name in class_names[:20])
    more = f" and {len(class_names) - 20} more" if len(class_names) > 20 else ""
    lines = [
        "---",
        f"library_name: {'oochub' if is_own else 'transformers'}",
        "pipeline_tag: image-classification",
        "tags:",
        "- oochub",
        "- repair",
        "---",
        f"# {escape_markdown(base)}, repaired on {escape_markdown(data)}",
        "",
        f"{write_verdict(repair)} {write_sentences(repair)[0]}",
        "",
        "The whole network was fine-tuned from the given model on."
        if repair.chosen is not None and repair.chosen.is_fine_tuned
        else "All weights but those of the last layer are the given model's.",
        f"Classes: {escape_markdown(shown + more)}.",
        *(["The Auto classes of transformers open it after `import oochub.models.encoder_classifier`."] * is_wrapper),
        *([_OPENS] * is_own),
        "",
        "## What was done",
        describe_choice(repair),
        "",
        *filter(None, [_describe_draws(repair)]),
    ]
    for block in _make_blocks(repair):
        lines += ["", f"## {block.heading}", *([block.table.to_markdown()] if block.table else [])]
    if repair.command:
        lines += ["", "## How to reproduce it", "```", repair.command, "```"]
    packages = repair.provenance.get("packages") or {}
    versions = [f"oochub {repair.provenance.get('oochub', '')}", *(f"{name} {text}" for name, text in packages.items())]
    return wording.clean("\n".join([*lines, "", "## Versions", f"{', '.join(versions)}."]) + "\n")


def repair_page(repair: "Repair", *, images: bool = True) -> str:
    """Renders a repair as a self-contained HTML page; the same repair gives the same bytes.

    Args:
        repair: Any repair.
        images: False leaves the images out, for data that may not be passed on; ids and words stay.

    Raises:
        OochubError: So many groups or notes that the page would exceed its limits.
    """
    comparison = repair.comparison
    paired = None if comparison is None else make_paired_sections(comparison, images=images, words=_WORDS)
    flips = [] if paired is None else paired["flips"]
    return self_contained_page(
        "repair.html.jinja",
        pictures=sum(len(card["picture"] or "") for part in flips for card in part["cards"]),
        advice="Repair with fewer groups at once.",
        repair=repair,
        headline=write_verdict(repair),
        sentences=write_sentences(repair),
        choice=describe_choice(repair),
        draws=_describe_draws(repair),
        tables=lay_out_tables(_make_blocks(repair)),
        collect=None if repair.collection is None else _lay_out_collection(repair.collection),
        groups=None if paired is None else paired["groups"],
        groups_left_out=0 if paired is None else paired["groups_left_out"],
        sides={} if paired is None else paired["sides"],
        flips=flips,
        without_pictures=paired is not None and paired["without_pictures"],
        notes=[format_numbers.counts_in_text(note) for note in repair.notes],
        facts=_list_facts(repair),
        commands=_write_commands(repair),
        name=wording.name(str(repair.provenance.get("model") or "A model"), 60),
        data=wording.name(str(repair.provenance.get("data") or "own data"), 60),
        oochub=str(repair.provenance.get("oochub", "")),
        licenses=[] if paired is None else paired["reproduce"]["licenses"],
    )


def _lay_out_collection(collection: Collection) -> dict[str, Any]:
    document = make_collection_document(collection)
    return {
        "sentences": document.notes,
        "tables": lay_out_tables(document.blocks),
        "charts": draw_learning_curves(collection),
    }


def _list_facts(repair: "Repair") -> list[tuple[str, str]]:
    provenance = repair.provenance
    versions = {
        "oochub": provenance.get("oochub"),
        **(provenance.get("packages") or {}),
        "Python": provenance.get("python"),
    }
    when = provenance.get("when") or {}
    facts = {
        "Model": provenance.get("model"),
        "Data": provenance.get("data"),
        "Intervals": f"95%, paired; seed {provenance.get('seed')}",
        "Versions": " · ".join(f"{name} {text}" for name, text in versions.items() if text),
        "Made": when.get("created"),
    }
    return [(title, wording.name(str(text), 400)) for title, text in facts.items() if text]


def _write_commands(repair: "Repair") -> str:
    """The command of the repair, and those that look at what it left."""
    if not repair.command:
        return ""
    after = "\noochub compare before.parquet after.parquet" if repair.comparison is not None else ""
    return repair.command + after
