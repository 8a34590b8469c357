"""Three or more models on the same rows: every pair is tested, and each model gets the places that the tests allow.

What is said of places that paired tests allow: by `oochub compare` of many models, and by a leaderboard.

Many models on the same rows: the places that paired tests allow each of them, in every form.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub import catalog
from oochub.comparison.common_examples import pair_rows
from oochub.comparison.model_difference import compute_numbers, compute_side_number, find_side
from oochub.data.declaration import describe_benchmark, describe_metrics, describe_model
from oochub.errors import OochubError, unknown_name
from oochub.evaluation.evaluation_rows import EvaluationRows, check_metric
from oochub.evaluation.slices import RowSet, estimate_side, is_computed, make_row_sets
from oochub.prediction.predictions import Predictions
from oochub.process.follow import follow
from oochub.records.document import Block, Document, DocumentForms
from oochub.records.origin_records import EvaluatedBenchmark, EvaluatedModel
from oochub.records.report_records import ComparedNumber, MetricDescription, Role
from oochub.records.schema import to_json
from oochub.records.sides import GroupsOfRows
from oochub.records.table import Table
from oochub.records.typed_values import Bounds, Count
from oochub.report import format_numbers, svg, wording
from oochub.report.footnotes import Footnotes
from oochub.report.self_contained_page import self_contained_page
from oochub.settings.report_settings import TableSettings, TableStyle
from oochub.stats import RESAMPLES
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.model_places import POWER, Pair, PairedGain, clear_pairs, find_rank_ranges, smallest_found
from oochub.storage.artifacts import format_csv

if TYPE_CHECKING:
    import pandas as pd

MOST = 50
"""Models that are ranked together: 1,225 pairs."""


_RANKED = ("higher", "lower")  # directions of numbers of which one is better


Place = Annotated[int, Bounds(1, 2**31)]


def describe_pairs(clear: int, pairs: int, rows: int, test: str, *, unit: str = "rows") -> str:
    """How many pairs differ clearly, by what test, and what the ranges of places hold.

    >>> print(describe_pairs(2, 3, 400, "exact McNemar"))
    2 of 3 pairs differ clearly on 400 rows (exact McNemar, corrected by Holm over the pairs), and all true places lie \
in these ranges at once with 95%.
    """
    return (
        f"{format_numbers.count(clear)} of {format_numbers.count(pairs)} pairs differ clearly on "
        f"{format_numbers.count(rows)} {unit} ({test}, corrected by Holm over the pairs), and all true places lie in "
        "these ranges at once with 95%."
    )


def describe_smallest(smallest: float, unit: str) -> str:
    """The true difference that would be found; "" where it is not known.

    Args:
        smallest: The difference.
        unit: Unit of the metric.

    >>> print(describe_smallest(0.028, "fraction"))
    For two models as similar as the median pair, a true difference of 2.8 points would be found 8 times in 10.
    """
    if format_numbers.is_undefined(smallest):
        return ""
    least = format_numbers.quantity(smallest, unit)
    return (
        f"For two models as similar as the median pair, a true difference of {least} "
        f"{format_numbers.points_word(unit)} would be found {round(10 * POWER)} times in 10."
    ).replace("  ", " ")


def format_place(best: int, worst: int, *, to: str = " to ") -> str:
    """A range of places.

    >>> format_place(2, 4), format_place(1, 1)
    ('2 to 4', '1')
    """
    return str(best) if best == worst else f"{best}{to}{worst}"


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
class Ranking(DocumentForms):
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
        data = wording.name_benchmark(self.benchmark)
        lines = [f"<Ranking of {len(self.names)} models on {data}>", self.headline]
        for table in self.tables:
            lines.append(f"{self._title(table)}:")
            lines += [
                f"  {self.names[model.model]}: place {_format_place(model)}, {model.number!r}" for model in table.models
            ]
        return "\n".join(lines)

    @property
    def headline(self) -> str:
        """Who is ahead on the rows of the first table, or that nobody is."""
        table = self.tables[0]
        leaders = [self.names[model.model] for model in table.models if model.best == 1]
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
            places = {model.model: model for model in table.models}
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

    def to_latex(self, style: TableStyle = "compact") -> str:
        r"""The tables in LaTeX; they need `\usepackage{booktabs}`.

        Args:
            style: Either gives the same.

        Raises:
            OochubError: Another style.
        """
        TableSettings(style=style)
        return self._document().to_latex()

    def _document(self) -> Document:
        return Document(
            headline=self.headline,
            blocks=tuple(Block(table=self._format_table(table), below=self._describe(table)) for table in self.tables),
            notes=tuple(f"Note: {wording.name(note, 400)}." for note in self.notes),
            apart=True,
        )

    def to_html(self) -> str:
        """The self-contained page: for each table the places as bars, and the numbers."""
        from importlib.metadata import version

        return self_contained_page(
            "ranking.html.jinja",
            advice=f"It has {len(self.names)} models and {len(self.tables)} tables: compare fewer at once.",
            headline=self.headline,
            task=wording.name_benchmark(self.benchmark),
            count=len(self.names),
            tables=[self._lay_out(table) for table in self.tables],
            notes=[format_numbers.counts_in_text(note) for note in self.notes],
            oochub=version("oochub"),
        )

    def _lay_out(self, table: RankingTable) -> dict[str, Any]:
        unit = self._unit(table)
        scale = svg.LinearScale(low=0.5, high=len(self.names) + 0.5)
        rows = [
            {
                "name": self.names[model.model],
                "place": _format_place(model),
                "chart": svg.range_bar(scale, model.best - 0.35, model.worst + 0.35),
                "number": model.number,
            }
            for model in table.models
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
            (self.names[model.model], _format_place(model), limits.cell(model.number, unit)) for model in table.models
        )
        return Table(
            title=self._title(table), heads=("Model", "Place", table.metric), rows=rows, footnotes=limits.lines
        )

    def _describe(self, table: RankingTable) -> tuple[str, ...]:
        """What the table is of, how places were found, and what was too small to be seen."""
        clear = sum(pair.is_clear for pair in table.pairs)
        tests = wording.join_names(list(dict.fromkeys(pair.test for pair in table.pairs)))
        first = (
            "The best possible rank of a model is 1 plus the number of clearly better models; its worst possible "
            "rank is the number of models minus the number of clearly worse ones. "
            f"{describe_pairs(clear, len(table.pairs), table.n, tests)}"
        )
        second = describe_smallest(table.smallest, self._unit(table))
        return (first, second) if second else (first,)


def rank_models(
    given: Sequence[Predictions | Path],
    *,
    metrics: Iterable[str] | None = None,
    slices: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Ranking:
    """Ranks models by paired tests of all pairs, corrected by Holm over the pairs of a table.

    Args:
        given: Three or more predictions of the same examples, or paths of files.
        metrics: Names of metrics, a table each; None takes the benchmark's primary metric.
        slices: Names of slices, a table each; None takes the rows out of context, or all rows where there are none.
        resamples: Bootstrap replicates of the differences that are bootstrapped.
        seed: Seed of the bootstrap and of random signs.

    Raises:
        OochubError: Other examples, truths or sides; more than `MOST` models; an unknown metric or slice; a metric of
            which neither direction is better.
    """
    Sampling(resamples=resamples, seed=seed)  # checked before anything is read
    if len(given) > MOST:
        raise OochubError(f"At most {MOST} models can be ranked together, got {len(given)}. Remove some.")
    opened = [part if isinstance(part, Predictions) else Predictions.load(part) for part in given]
    models = _align(opened, resamples=resamples, seed=seed)
    first = models[0]
    names = [first.benchmark.primary_metric] if metrics is None else list(dict.fromkeys(metrics))
    chosen = {name: catalog.get("metric", name) for name in names}
    described = describe_metrics(chosen)
    for name, metric in chosen.items():
        check_metric(name, metric, first)
        if not any(
            description.direction in _RANKED for key, description in described.items() if key.partition(".")[0] == name
        ):
            raise OochubError(
                f"Neither a high nor a low {name} is better, so it ranks no model. Choose another metric."
            )
    tables = [
        table
        for rows in _choose_sets(make_row_sets(first), slices)
        for name, metric in chosen.items()
        for table in _rank(rows, name, metric, models)
    ]
    if not tables:
        raise OochubError(
            f"{', '.join(names)} cannot be measured on these rows. Choose another metric, or another slice."
        )
    metadata = first.predictions.metadata
    return Ranking(
        benchmark=describe_benchmark(metadata, first.benchmark),
        models=tuple(map(describe_model, opened)),
        names=_name_models(opened, given),
        metrics=described,
        tables=tuple(tables),
        notes=tuple(dict.fromkeys(note for part in opened for note in part.metadata.notes)),
    )


def _align(opened: Sequence[Predictions], *, resamples: int, seed: int) -> list[EvaluationRows]:
    """The rows of all models in the order of the first; a row that one of them leaves out is left out of all."""
    pairs = [pair_rows(opened[0], other, resamples=resamples, seed=seed) for other in opened[1:]]
    rows = [pairs[0][0], *(pair[1] for pair in pairs)]
    is_known = np.logical_and.reduce([member.known for pair in pairs for member in pair])
    return [replace(row, known=is_known) for row in rows]


def _choose_sets(sets: Sequence[RowSet], slices: Sequence[str] | None) -> list[RowSet]:
    if slices is None:
        return [next((rows for rows in sets if rows.role == "out"), sets[0])]
    named = {rows.title: rows for rows in sets if rows.role in ("in", "out")} | {rows.name: rows for rows in sets}
    for name in slices:
        if name not in named:
            raise unknown_name("slice of these predictions", name, named)
    return [named[name] for name in dict.fromkeys(slices)]


def _rank(rows: RowSet, name: str, metric: Callable[..., Any], models: Sequence[EvaluationRows]) -> list[RankingTable]:
    """A table for each number that the metric gives on these rows; none where it is not computed there."""
    side = find_side(rows, models[0])
    if not is_computed(name, rows.role) or (
        isinstance(side, GroupsOfRows) and name != models[0].benchmark.primary_metric
    ):
        return []
    members = np.flatnonzero(rows.mask)
    is_groups = isinstance(side, GroupsOfRows)
    values = [estimate_side(rows, metric, model) if is_groups else model.of(metric, members) for model in models]
    numbers: dict[str, dict[Pair, ComparedNumber]] = {}
    pairs = list(combinations(range(len(models)), 2))
    for i, j in follow(pairs, desc=f"Testing {name}", unit="pair", delay=2, disable=None):
        pair, own = (models[i], models[j]), (values[i], values[j])
        if isinstance(side, GroupsOfRows):
            numbers_of = {name: compute_side_number(rows, pair, own)}
        else:
            numbers_of = compute_numbers(name, metric, members, pair, own)
        for key, number in numbers_of.items():
            numbers.setdefault(key, {})[i, j] = number
    described = describe_metrics({name: metric})
    directions = {key: (described.get(key) or described[name]).direction for key in numbers}
    return [
        _make_table(rows, key, of, len(models), directions[key])
        for key, of in numbers.items()
        if directions[key] in _RANKED
    ]


def _make_table(
    rows: RowSet, metric: str, numbers: dict[Pair, ComparedNumber], models: int, direction: str
) -> RankingTable:
    sign = -1 if direction == "lower" else 1
    gains = {pair: PairedGain(sign * float(number.difference), number.p_value) for pair, number in numbers.items()}
    places = find_rank_ranges(gains, models)
    clear = clear_pairs(list(gains.values()))
    own: dict[int, Estimate] = {}
    for (i, j), number in numbers.items():
        own[i], own[j] = number.first, number.second
    ranked = [RankedModel(model=k, number=own[k], best=places[k].best, worst=places[k].worst) for k in range(models)]
    ordered = sorted(ranked, key=lambda each: (each.best + each.worst, _sort_key(each.number, sign)))
    tested = [
        RankedPair(
            first=i, second=j, difference=number.difference, p_value=number.p_value, test=number.test,
            is_clear=is_clear,
        )
        for ((i, j), number), is_clear in zip(numbers.items(), clear, strict=True)
    ]  # fmt: skip
    width = 2 * float(special.ndtri(0.975))  # of a 95% interval, in standard errors
    errors = [(pair.difference.high - pair.difference.low) / width for pair in tested]
    return RankingTable(
        metric=metric,
        slice=rows.name,
        role=rows.role,
        title=rows.title,
        split=rows.split,
        n=int(rows.mask.sum()),
        models=tuple(ordered),
        pairs=tuple(tested),
        smallest=smallest_found(errors, tests=len(tested)),
    )


def _sort_key(number: Estimate, sign: int) -> float:
    return float("inf") if np.isnan(number.value) else -sign * number.value


def _name_models(opened: Sequence[Predictions], given: Sequence[Predictions | Path]) -> tuple[str, ...]:
    """Each model's name; where some share one, the name of the file or of its folder, or a number."""
    names = [wording.name(wording.name_model(describe_model(part)), 60) for part in opened]
    shared = {name for name, count in Counter(names).items() if count > 1}
    files = [wording.name(part.stem, 60) if isinstance(part, Path) else "" for part in given]
    if len(set(files)) < len(files):
        files = [wording.name(part.parent.name, 60) if isinstance(part, Path) else "" for part in given]
    are_told = len(set(files)) == len(files)
    return tuple(
        name if name not in shared else files[k] if are_told else f"{name} ({k + 1})" for k, name in enumerate(names)
    )


def _format_place(ranked: RankedModel) -> str:
    return format_place(ranked.best, ranked.worst)
