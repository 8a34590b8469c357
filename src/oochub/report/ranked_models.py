"""Many models on the same rows: the places that paired tests allow each of them, in every form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from oochub.records.origin_records import EvaluatedBenchmark, EvaluatedModel
from oochub.records.report_records import MetricDescription, Role
from oochub.records.schema import Bounds, Count, to_json
from oochub.records.table import Table, escape_markdown
from oochub.report import format_numbers, svg, wording
from oochub.report.footnotes import Footnotes
from oochub.report.place_words import describe_pairs, describe_smallest, format_place
from oochub.report.self_contained_page import self_contained_page
from oochub.settings.table_settings import TableSettings, TableStyle
from oochub.stats.estimate import Estimate
from oochub.storage.artifacts import format_csv

if TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup
    from rich.console import Group, RenderableType

Place = Annotated[int, Bounds(1, 2**31)]


@dataclass(frozen=True, kw_only=True)
class RankedModel:
    """A model in a table.

    Attributes:
        model: Its number among the models of the ranking, 0 being the first.
        number: Its own number, with its interval.
        best: Its best place.
        worst: Its worst place.
    """

    model: Count
    number: Estimate
    best: Place
    worst: Place


@dataclass(frozen=True, kw_only=True)
class RankedPair:
    """The test of two models.

    Attributes:
        first: Number of the first model.
        second: Number of the second model.
        difference: Second minus first, with a paired interval that is not corrected.
        p_value: p-value of no difference, two-sided; nan where there is none.
        test: How it was found.
        is_clear: Whether the difference holds among all pairs of the table (Holm, 5%).
    """

    first: Count
    second: Count
    difference: Estimate
    p_value: float
    test: str
    is_clear: bool


@dataclass(frozen=True, kw_only=True)
class RankingTable:
    """The models by one metric on some rows.

    Attributes:
        metric: Name of the metric.
        slice: Key of the rows, as in a report.
        role: What the rows are to the comparison.
        title: What they are in the benchmark's words.
        split: The split that they are of.
        n: How many they are.
        models: The models, those of the better places first.
        pairs: The tests of all pairs.
        smallest: True difference that would be found with the chance 0.8, for the median pair; nan if unknown.
    """

    metric: str
    slice: str
    role: Role
    title: str
    split: str
    n: Count
    models: tuple[RankedModel, ...]
    pairs: tuple[RankedPair, ...]
    smallest: float


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """What `oochub.compare` returns for three or more predictions.

    Attributes:
        benchmark: Benchmark that they are of.
        models: The models in the order in which they were given.
        names: The name that each goes by.
        metrics: What the metrics' numbers mean.
        tables: One for each slice and metric.
        notes: Caveats of the data.
    """

    benchmark: EvaluatedBenchmark
    models: tuple[EvaluatedModel, ...]
    names: tuple[str, ...]
    metrics: Mapping[str, MetricDescription]
    tables: tuple[RankingTable, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        data = "/".join(wording.name(part) for part in (self.benchmark.name, self.benchmark.config))
        lines = [f"<Ranking of {len(self.names)} models on {data}>", self.headline]
        for table in self.tables:
            lines.append(f"{self._title(table)}:")
            lines += [
                f"  {self.names[each.model]}: place {_format_place(each)}, {each.number!r}" for each in table.models
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from oochub.prediction.notebook_table import make_notebook_table

        parts = []
        for number, table in enumerate(self.tables):
            text = self._format_table(table)
            title, said = (text.title, []) if number else (self.headline, [text.title])
            below = (*text.footnotes, *self._describe(table))
            parts.append(make_notebook_table(text.rows, heads=text.heads, title=title, sentences=said, footnotes=below))
        return "\n".join(parts)

    @property
    def headline(self) -> str:
        """Who is ahead on the rows of the first table, or that nobody is."""
        table = self.tables[0]
        leaders = [self.names[each.model] for each in table.models if each.best == 1]
        where = self._describe_place(table)
        if len(leaders) == len(self.names):
            return f"No model of {len(self.names)} is clearly better than another {where}."
        if len(leaders) == 1:
            return f"{leaders[0]} is clearly better than each of the {len(self.names) - 1} other models {where}."
        shown = wording.join_names(leaders[:4]) + (f" and {len(leaders) - 4} more" if len(leaders) > 4 else "")
        return f"Any of {len(leaders)} models may be the best {where}: {shown}."

    def to_json(self) -> dict[str, Any]:
        """Every number as JSON types."""
        content: dict[str, Any] = to_json(self)
        return content

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each pair: slice, split, n, metric, first, second, difference, low, high, p_value, test, clear.

        `best_first` to `worst_second` are the places of both models.
        """
        import pandas as pd

        records = []
        for table in self.tables:
            places = {each.model: each for each in table.models}
            for pair in table.pairs:
                one, other = places[pair.first], places[pair.second]
                records.append(
                    {"slice": table.slice, "split": table.split, "n": table.n, "metric": table.metric}
                    | {"first": self.names[pair.first], "second": self.names[pair.second]}
                    | {"value_first": one.number.value, "value_second": other.number.value}
                    | {"difference": pair.difference.value, "low": pair.difference.low, "high": pair.difference.high}
                    | {"p_value": pair.p_value, "test": pair.test, "is_clear": pair.is_clear}
                    | {"best_first": one.best, "worst_first": one.worst}
                    | {"best_second": other.best, "worst_second": other.worst}
                )
        return pd.DataFrame(records)

    def to_csv(self) -> str:
        """`to_pandas` as text."""
        return format_csv(self.to_pandas())

    def to_terminal(self, *, width: int = 100, shows_bold: bool = True) -> "Group":
        """The tables for a terminal, as a renderable of rich.

        Args:
            width: Characters in a line; a table wider than it is printed in several, column after column.
            shows_bold: Whether bold can be seen; nothing here is bold but titles.
        """
        from rich.console import Group
        from rich.text import Text

        parts: list[RenderableType] = [Text(self.headline, style="bold" if shows_bold else ""), Text()]
        for table in self.tables:
            text = self._format_table(table)
            parts.append(Text(text.title, style="bold" if shows_bold else ""))
            for grid in text.to_terminal(width):
                parts += [grid, Text()]
            parts += [Text(line) for line in self._describe(table)] + [Text()]
        return Group(*parts, *(Text(f"Note: {wording.name(note, 400)}.") for note in self.notes))

    def to_markdown(self) -> str:
        """The tables in Markdown; ends in a line feed."""
        lines = [escape_markdown(self.headline), ""]
        for table in self.tables:
            text = self._format_table(table)
            lines += [f"**{escape_markdown(text.title)}**", "", text.to_markdown(), ""]
            lines += [f"{escape_markdown(line)}\n" for line in self._describe(table)]
        lines += [f"{escape_markdown(f'Note: {wording.name(note, 400)}.')}\n" for note in self.notes]
        return "\n".join(lines).rstrip() + "\n"

    def to_latex(self, style: TableStyle = "compact") -> str:
        r"""The tables in LaTeX; they need `\usepackage{booktabs}`.

        Args:
            style: Either gives the same.

        Raises:
            OochubError: Another style.
        """
        TableSettings(style=style)
        parts = []
        for table in self.tables:
            text = self._format_table(table)
            parts.append(text.to_latex(" ".join([f"{text.title}.", *self._describe(table)])))
        return "\n".join(parts)

    def to_html(self) -> str:
        """The self-contained page: for each table the places as bars, and the numbers."""
        from importlib.metadata import version

        return self_contained_page(
            "ranking.html.jinja",
            advice=f"It has {len(self.names)} models and {len(self.tables)} tables: compare fewer at once.",
            headline=self.headline,
            task=f"{wording.name(self.benchmark.name)}/{wording.name(self.benchmark.config)}",
            count=len(self.names),
            tables=[self._lay_out(table) for table in self.tables],
            notes=[format_numbers.counts_in_text(wording.clean(note)) for note in self.notes],
            oochub=version("oochub"),
        )

    def _lay_out(self, table: RankingTable) -> dict[str, Any]:
        unit = self._unit(table)
        scale = svg.LinearScale(low=0.5, high=len(self.names) + 0.5)
        rows = [
            {
                "name": self.names[each.model],
                "place": _format_place(each),
                "chart": _draw_place(each, scale),
                "number": each.number,
            }
            for each in table.models
        ]
        return {
            "title": self._title(table),
            "metric": wording.title_metric(table.metric, self._described(table)),
            "unit": unit,
            "rows": rows,
            "sentences": self._describe(table),
            "axis": svg.tick_labels(scale, lambda tick: f"{tick:g}"),
        }

    def _described(self, table: RankingTable) -> MetricDescription:
        return self.metrics.get(table.metric) or self.metrics[table.metric.partition(".")[0]]

    def _unit(self, table: RankingTable) -> str:
        return self._described(table).unit

    def _describe_place(self, table: RankingTable) -> str:
        if table.role in ("in", "out"):
            return wording.title_side(self.benchmark, table.role)
        return (
            f"on all of {wording.name(table.split, 40)}" if table.role == "all" else f"on {wording.name(table.title)}"
        )

    def _title(self, table: RankingTable) -> str:
        metric = wording.title_metric(table.metric, self._described(table))
        return f"{metric} {self._describe_place(table)}, {wording.name(self.benchmark.name)}"

    def _format_table(self, table: RankingTable) -> Table:
        limits, unit = Footnotes(), self._unit(table)
        rows = tuple(
            (self.names[each.model], _format_place(each), limits.cell(each.number, unit)) for each in table.models
        )
        return Table(
            title=self._title(table), heads=("Model", "Place", table.metric), rows=rows, footnotes=limits.lines
        )

    def _describe(self, table: RankingTable) -> tuple[str, ...]:
        """What the table is of, how places were found, and what was too small to be seen."""
        clear = sum(pair.is_clear for pair in table.pairs)
        tests = wording.join_names(list(dict.fromkeys(pair.test for pair in table.pairs)))
        first = (
            "A model's best place is 1 + the number of models that are clearly better; its worst place is by those "
            f"that are clearly worse. {describe_pairs(clear, len(table.pairs), table.n, tests)}"
        )
        second = describe_smallest(table.smallest, self._unit(table))
        return (first, second) if second else (first,)


def _format_place(ranked: RankedModel) -> str:
    return format_place(ranked.best, ranked.worst)


def _draw_place(ranked: RankedModel, scale: svg.LinearScale) -> "Markup":
    """A bar from the best to the worst place; the number beside it says the same."""
    from markupsafe import Markup

    low, high = scale.at(ranked.best - 0.35), scale.percent(ranked.worst + 0.35) - scale.percent(ranked.best - 0.35)
    bar = Markup('<rect x="{}" y="9" width="{:.2f}%" height="10" class="bar b-out"/>').format(low, high)
    return svg.strip(28, [svg.grid(scale), bar])
