"""What the author of own data declares of them: title, sides, headline, words, license, citation."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from oochub.errors import OochubError
from oochub.records.schema import Share, optional
from oochub.records.sides import Form, PercentileOfGroups, Rows, Vocabulary, WorstOfGroups


@dataclass(frozen=True, kw_only=True)
class OwnSide:
    """One side of the comparison, see `oochub.records.sides`.

    Attributes:
        name: What its rows are ("usual").
        split: The split that they are taken from.
        where: Column name to allowed values; empty takes the whole split.
        form: What is compared: "rows", the metric over all of them; "worst_group", on the worst of their groups;
            "group_percentile", a percentile of it over their groups.
        column: Column of the groups.
        percentile: Percentile in [0, 100] from the worst end, for "group_percentile".

    Raises:
        OochubError: A percentile outside [0, 100].
    """

    name: str
    split: str
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    form: Form = optional("rows")
    column: str = optional("group")
    percentile: float = optional(10.0)

    def __post_init__(self) -> None:
        if not 0 <= self.percentile <= 100:
            raise OochubError(f"percentile of a side must be in [0, 100], got {self.percentile:g}. Correct it.")

    def make_rows(self) -> Rows:
        """The side as an evaluation reads it."""
        rows = Rows(name=self.name, split=self.split, where=self.where)
        if self.form == "rows":
            return rows
        if self.form == "worst_group":
            return WorstOfGroups(**vars(rows), column=self.column)
        return PercentileOfGroups(**vars(rows), column=self.column, percentile=self.percentile)


@dataclass(frozen=True, kw_only=True)
class OwnDeclaration:
    """What a `benchmark.toml` declares; what it leaves out follows from the columns, as for any own data.

    Attributes:
        title: Name of the benchmark in print.
        summary: One sentence on what is out of context in it.
        version: Version of the rows.
        homepage: Where it is published.
        citation: BibTeX.
        license: License of the images.
        labels_license: License of the labels.
        sources: Data sets that its rows are of or overlap with, by words that model cards use for them.
        in_context: The rows on which context helps.
        out_of_context: The rows on which it misleads; both sides are declared, or none.
        headline: Metric whose gap between the sides is the headline.
        metrics: Metrics computed by default, the headline among them or not.
        chance: The headline metric of guessing; nan if there is none.
        practical_gap: A gap smaller than this does not matter in practice.
        words: What report, page and terminal call the sides.
        templates: Texts with {} for the name of a class, by which a model of images and texts answers.
        border: Pixels that are cut from each side of an image before a model sees it.

    Raises:
        OochubError: One side without the other, an empty title, or a border below 0.
    """

    title: str
    summary: str = optional("")
    version: str = optional("1.0.0")
    homepage: str = optional("")
    citation: str = optional("")
    license: str = optional("")
    labels_license: str = optional("")
    sources: tuple[str, ...] = optional(())
    in_context: OwnSide | None = optional()
    out_of_context: OwnSide | None = optional()
    headline: str | None = optional()
    metrics: tuple[str, ...] = optional(())
    chance: float = optional(math.nan)
    practical_gap: Share = optional(0.02)
    words: Vocabulary = optional(Vocabulary())
    templates: tuple[str, ...] = optional(())
    border: int = optional(0)

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise OochubError('title must have a text, such as title = "Cows on sand".')
        if (self.in_context is None) != (self.out_of_context is None):
            one, other = ("in_context", "out_of_context")
            one, other = (one, other) if self.in_context is not None else (other, one)
            raise OochubError(f"There is [{one}] without [{other}]. Declare both sides, or none.")
        if self.border < 0:
            raise OochubError(f"border must be 0 pixels or more, got {self.border}. Correct it.")
        without = [text for text in self.templates if "{}" not in text]
        if without:
            raise OochubError(f"A template needs {{}} for the name of a class, got {without[0]!r:.80}. Add it.")
