"""What a repair found: how the rows were divided, which heads were tried, and what the chosen one proved."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from oochub.errors import OochubError
from oochub.records.report_records import ComparedNumber
from oochub.records.schema import Count, Share, from_json, optional, to_json
from oochub.report.collection import Collection
from oochub.report.paired_report import PairedReport
from oochub.stats.estimate import Estimate
from oochub.storage.artifacts import RECORD
from oochub.storage.files import write_whole
from oochub.storage.reading import read_json

SCHEMA_VERSION = 1

FINE_TUNE = "fine_tune"
"""Name of the method that fine-tunes a whole network."""
Outcome = Literal["better", "no_worse", "not_shown", "nothing_to_repair"]
PartName = Literal["fit", "choose", "prove"]


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
        parts: Where the rows of each split went.
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
        return next((each for each in self.tried if each.is_chosen), None)

    @property
    def inside(self) -> ComparedNumber | None:
        """Accuracy in context on the rows that prove: before, after, and the paired difference."""
        return self.draws[0].inside if self.draws else None

    @property
    def outside(self) -> ComparedNumber | None:
        """The same out of context."""
        return self.draws[0].outside if self.draws else None

    def _repr_html_(self) -> str:
        from oochub.prediction.notebook_table import make_notebook_table
        from oochub.report.notebook_frame import frame_page
        from oochub.report.repair_page import repair_page
        from oochub.report.repair_words import make_repair_tables, write_sentences, write_verdict

        said = make_notebook_table([[line] for line in write_sentences(self)], title=write_verdict(self))
        shown = [
            make_notebook_table(each.rows, heads=each.heads, title=each.title, footnotes=each.footnotes)
            for each in make_repair_tables(self)
        ]
        tables = "\n".join([said, *shown])
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
