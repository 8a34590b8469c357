"""Data as they were opened: one record that later steps take, so that nobody asks the source again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from oochub import catalog
from oochub.data.user_columns import CONTEXT_COLUMNS, name_candidates
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.records.build_record import BuildRecord
from oochub.records.metadata import HubDataSet
from oochub.records.sides import CHALLENGES
from oochub.report.report_commands import write_command


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """Data that were opened.

    Attributes:
        given: Name or path, or the data set that was loaded already.
        rows: The splits by name; a data set that was given as one split stays one.
        name: What the data are called without the place where they stand.
        folder: What paths of images are relative to; None for data that are not from this disk.
        guessed: Role to column, where the only column that can hold it was taken.
    """

    given: Any
    rows: Any
    name: str = "data"
    folder: Path | None = None
    guessed: Mapping[str, str] = field(default_factory=dict)

    def pin(self, typed: object) -> object:
        """What was typed; an id on the Hub with its commit, so that the same rows can be asked for again."""
        data_set = HubDataSet.of(self.first.info)
        is_named = data_set is not None and str(typed).partition("@")[0] == data_set.id
        return f"{data_set.id}@{data_set.revision}" if data_set and is_named else typed

    @property
    def splits(self) -> Mapping[str, Any]:
        """The splits by name."""
        return self.rows if isinstance(self.rows, Mapping) else {str(self.rows.split or "train"): self.rows}

    @property
    def first(self) -> Any:
        """The first split, whose features and information stand for all."""
        return next(iter(self.splits.values()))

    @cached_property
    def record(self) -> BuildRecord | None:
        """The build record that the rows carry."""
        return BuildRecord.of(self.first.info)

    @property
    def is_benchmark(self) -> bool:
        """Whether the rows are those of a benchmark."""
        return (self.record.benchmark if self.record else self.first.info.dataset_name) in catalog.names("benchmark")

    def check_context(
        self,
        *,
        needed: bool = True,
        typed: Sequence[str] = ("MODEL", "SOURCE"),
        masks: Sequence[str] = ("--masks", "MASKS"),
    ) -> None:
        """Checks that own data have a column of contexts, groups or challenges; a benchmark always passes.

        Args:
            needed: False takes data without such a column; a column of challenges is checked still.
            typed: Words that name model and data in a command that is suggested.
            masks: Words that say where objects are; none if the data do.

        Raises:
            OochubError: They have none; it says how to add one. A column challenge with another word than these.

        >>> import datasets
        >>> rows = datasets.Dataset.from_dict({"label": [0, 1], "context": ["grass", "sand"]})
        >>> DataSource(given=rows, rows=rows).check_context()
        """
        for part in self.splits.values():
            feature = (part.features or {}).get("challenge")
            if feature is not None and hasattr(part, "unique"):
                for word in getattr(feature, "names", None) or part.unique("challenge"):
                    if word not in (None, "", *CHALLENGES):
                        raise unknown_name("challenge", word, CHALLENGES, "The column challenge says it of each row.")
        columns: Sequence[str] = self.first.column_names or ()
        if not needed or self.is_benchmark or any(column in CONTEXT_COLUMNS for column in columns):
            return
        name = choose_wording("context='NAME'", "--context-column NAME")
        properties = choose_wording("contexts='properties'", write_command("audit", *typed, "--contexts", "properties"))
        probed = choose_wording(
            "probe='background' with probe_settings={'masks': ...}",
            write_command("audit", *typed, "--probe", "background", *masks),
        )
        raise OochubError(
            "No context column found: the data has no column named context, group or challenge, only "
            f"{', '.join(columns)}.{name_candidates(self.splits)} If one of these contains the context, pass it with "
            f"{name}. Otherwise add a column `context`; for a folder of images, in its metadata.csv:\n"
            "  file_name,label,context\n"
            "  1.jpg,dog,grass\n"
            "  2.jpg,dog,beach\n"
            "The usual contexts of each class are then counted, and images in another context are the hard ones. Two "
            f"audits of images need no such column. One finds contexts: {properties}. The other exchanges backgrounds, "
            f"where masks or boxes say where the object is: {probed} (or boxes)."
        )
