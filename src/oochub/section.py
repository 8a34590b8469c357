"""The form of a section: one finding of a report, declared once for every form in which a report is shown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import signature
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from oochub import catalog
from oochub.records.document import Block
from oochub.records.report_records import Side, Verdict
from oochub.records.schema import from_json
from oochub.stats.estimate import Estimate

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Passage(Block):
    """What a section says in text.

    Without a title it is of the summary: forms set its sentences below the verdict, and its table bare. A terminal
    shows one with steps last, above the prompt.
    """


class NamedNumber(NamedTuple):
    """One number of a section at full precision.

    Attributes:
        slice: What it is of, in `report.to_pandas()`.
        metric: Which number of it.
        estimate: The number.
        key: What `report[...]` calls it; "" where it has no such key.
    """

    slice: str
    metric: str
    estimate: Estimate
    key: str = ""


class ChartRow(NamedTuple):
    """One row of a chart.

    Attributes:
        title: What it is.
        estimate: Its number.
        side: The side that gives its color and mark.
        n: How many rows it has; 0 if its title says that.
        is_hollow: Whether its mark is hollow.
        note: What stands in place of the number; "" for none.
    """

    title: str
    estimate: Estimate
    side: Side | None
    n: int
    is_hollow: bool = False
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class OnPage:
    """What the template of a section prints.

    Attributes:
        values: Values by name; the template has them as `shown`.
        pictures: Characters of the page that are images.
        spent: Bytes of the images that count against those that later sections may show.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    pictures: int = 0
    spent: int = 0


class Section(Generic[R]):
    """One finding of a report: its record, sentences, tables, chart, and its part in the verdict.

    A file of `sections/` defines one, and nothing else is edited: `oochub.evaluate` asks each section to measure its
    part of the report; the terminal, Markdown, LaTeX, the notebook, the data frame and the page loop over the sections
    in the order of their places, and each names the ones that it leaves out. A section has no state; every method but
    `measure` gets the report.

    A section says no more than its numbers allow: each sentence is made by a function that says in its docstring when
    it is true, and gives "" otherwise.

    On the page a section is printed by `sections/templates/<name>.html.jinja`, with what `page` gives, where there is
    such a file; else its passages and its chart are printed as they are.

    Attributes:
        title: Title in the navigation of the page, and where a form says that it leaves the section out.
        anchor: The id of its place on the page.
        place: Sections stand in the order of their places.
        record: The frozen dataclass that `measure` gives and the report holds in `report.findings[name]`; None where
            the section has fields of the report.
        fields: The fields of `oochub.Report` that are its own, where it has no record. `measure` gives their values.
        is_beside_verdict: Whether the page shows it beside the verdict, and not below.
    """

    title: ClassVar[str]
    anchor: ClassVar[str]
    place: ClassVar[int] = 1000
    record: ClassVar[type | None] = None
    fields: ClassVar[tuple[str, ...]] = ()
    is_beside_verdict: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The name of its file, as in the catalog."""
        return type(self).__module__.rpartition(".")[2]

    def has(self, report: R) -> bool:
        """Whether the report has what the section shows."""
        return self.found(report) is not None

    def found(self, report: R) -> Any:
        """What the report holds for this section: its record, or its first field; None where it holds nothing.

        Raises:
            OochubError: A field of the record that is missing or of another type; it is named.
        """
        if self.fields:
            return getattr(report, self.fields[0])
        content = (getattr(report, "findings", None) or {}).get(self.name)
        if content is None or self.record is None or isinstance(content, self.record):
            return content
        return from_json(self.record, content, what=f"the finding {self.name}")

    def measure(self, evaluation: Any) -> Any:
        """Its part of the report that `oochub.evaluate` makes.

        A section that needs the predictions alone may name its argument `predictions`: it gets these.

        Args:
            evaluation: The rows, their slices and sides, and the settings, see
                `oochub.evaluation.evaluation.Evaluation`.

        Returns:
            Its record; or the values of its fields by their names, those that are left out at their defaults. None for
            neither.
        """
        return None

    def passages(self, report: R) -> Iterable[Passage]:
        """What is said in text; none for a section that needs images."""
        return ()

    def numbers(self, report: R) -> Iterable[NamedNumber]:
        """Every number, for the data frame and `report[...]`."""
        return ()

    def chart(self, report: R) -> Any:
        """What its chart shows, for the page and for a figure; ChartRows of fractions where no template draws it."""
        return ()

    def page(self, report: R, *, room: int | None) -> OnPage | None:
        """What its template prints; None where there is nothing to print.

        Args:
            report: Report with what the section shows.
            room: Bytes that images may still take; None shows no image.
        """
        return OnPage() if self.has(report) else None

    def command(self, report: R) -> str:
        """The command that makes the finding again; "" where that of the report does."""
        return ""

    def verdict(self, report: R) -> Verdict | None:
        """The verdict, where this finding is what the report is judged by; None where it is not."""
        return None


def measure_sections(evaluation: Any) -> dict[str, Any]:
    """The fields of the report that the sections measure, `findings` with the records of those that have one."""
    fields: dict[str, object] = {}
    findings: dict[str, object] = {}
    for section in sections():
        takes_predictions = "predictions" in signature(section.measure).parameters
        finding = section.measure(evaluation.predictions if takes_predictions else evaluation)
        if section.fields:
            fields |= finding or {}
        elif finding is not None:
            findings[section.name] = finding
    return fields | {"findings": findings or None}


@cache
def sections() -> tuple[Section[Any], ...]:
    """Every section of the catalog, in the order of their places.

    >>> [section.title for section in sections()][:2]
    ['Chosen rows', 'Both sides']
    """
    every = [catalog.get("section", name)() for name in catalog.names("section")]
    return tuple(sorted(every, key=lambda section: section.place))
