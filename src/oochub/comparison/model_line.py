"""Many models in context against out of it: their names, their points, the line through them, and the chart of it.

Models on a shifted test set against the same models on a standard one: their effective robustness.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from markupsafe import Markup
from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.errors import OochubError, unknown_name
from oochub.records.report_records import MetricDescription
from oochub.report import format_numbers, svg, wording
from oochub.report.charts import Axis, Dot, PlaneChart, Trace
from oochub.report.report import Report
from oochub.stats.array_checks import Array
from oochub.stats.estimate import Estimate
from oochub.stats.estimation import difference
from oochub.stats.linear_fit import LinearFit, linear_fit

Scale = Literal["probit", "logit"]
FEWEST = 5
"""Models from which on a line is fitted."""


@dataclass(frozen=True, kw_only=True)
class LinePoint:
    """One model.

    Attributes:
        model: Name that it goes by.
        inside: The model's metric in context.
        outside: The model's metric out of context.
        robustness: How much better it is out of context than the line says of its number in context (effective
            robustness); positive is better, whatever the metric's direction. nan, with the reason, without a line.
    """

    model: str
    inside: Estimate
    outside: Estimate
    robustness: Estimate


@dataclass(frozen=True, kw_only=True)
class ModelLine:
    """The models of one config of a benchmark.

    Attributes:
        benchmark: Name of the benchmark.
        config: Config of the benchmark.
        metric: The metric of both sides.
        described: What its numbers mean.
        titles: What the benchmark calls the sides, in context first.
        points: A point a model, those with the highest number out of context first (of a metric of which lower is
            better, the lowest).
        fit: The line, of probits or logits where the metric is a share; None below five models or where all x are
            equal.
        left_out: What has no point, and why.
        scale: What shares are fitted as.
        baseline: The models that the line is fitted to; None for all.
    """

    benchmark: str
    config: str
    metric: str
    described: MetricDescription
    titles: tuple[str, str]
    points: tuple[LinePoint, ...]
    fit: LinearFit | None
    left_out: tuple[str, ...]
    scale: Scale = "probit"
    baseline: tuple[str, ...] | None = None

    @property
    def is_share(self) -> bool:
        """Whether both axes are probits or logits: shares near 1 are then as far apart as they are hard to come by."""
        return self.described.unit == "fraction"

    def place(self, value: Any) -> Any:
        """Numbers of the metric on the axis: the probit or logit of a share, else themselves."""
        if not self.is_share:
            return np.asarray(value, np.float64)
        return special.ndtri(value) if self.scale == "probit" else special.logit(value)

    def value_at(self, place: Any) -> Array:
        """Numbers of the metric at places on the axis, the inverse of `place`."""
        if not self.is_share:
            return np.asarray(place, np.float64)
        return np.asarray(special.ndtr(place) if self.scale == "probit" else special.expit(place))

    @property
    def fitted(self) -> int:
        """How many models the line is fitted to."""
        return sum(self.baseline is None or point.model in self.baseline for point in self.points)

    def shown(self, estimate: Estimate, value: float | None = None) -> float:
        """A number as it is drawn and fitted: a share of 0 or 1 is half an example away from there.

        Args:
            estimate: Estimate, which says how many rows there are.
            value: An end of its interval; None is the estimate itself.
        """
        value = estimate.value if value is None else value
        edge = 1 / (2 * max(estimate.n, 1))
        return min(max(value, edge), 1 - edge) if self.is_share else value

    def at(self, value: Any) -> tuple[Array, Array, Array]:
        """The line at numbers in context (m,), and both ends (m,) of its 95% band, all in the metric's own scale.

        Raises:
            OochubError: There is no line.
        """
        if self.fit is None:
            raise OochubError(f"There are {self.fitted} models; a line needs at least {FEWEST}.")
        middle, low, high = (self.value_at(end) for end in self.fit.at(self.place(value)))
        return middle, low, high

    @property
    def sentence(self) -> str:
        """What the points say, in one sentence."""
        n, of = self.fitted, "" if self.baseline is None else " of the baseline"
        if self.fit is None:
            return f"{n} model{'s' if n != 1 else ''}{of}; a line needs at least {FEWEST}."
        clear = [
            point.model
            for point in self.points
            if format_numbers.has_interval(point.robustness) and point.robustness.low > 0
        ]
        above = wording.join_names(clear[:5]) + (f" and {len(clear) - 5} more" if len(clear) > 5 else "")
        verb = "lies" if len(clear) == 1 else "lie"
        judged = f"{above} {verb} clearly above it." if clear else "No model lies clearly above it."
        return f"The line is fitted to {n} models{of}. {judged}"


def model_lines(reports: Sequence[Report], *, metric: str | None = None) -> list[ModelLine]:
    """The points and the line of each config of each benchmark.

    A share of 0 or 1 has no probit: it is drawn, and enters the fit, as half an example away from there, 1 / (2 n). The
    line is least squares through all models. The interval of a robustness is made of that of the number out of context,
    of the band of the line, and of the number in context carried along the line, taken as independent.

    Args:
        reports: Reports, one per model and config.
        metric: Name of the metric; None takes the benchmark's primary metric.

    Raises:
        OochubError: No reports, or a metric that none of them has on both sides.

    Source:
        Taori et al. 2020, "Measuring Robustness to Natural Distribution Shifts in Image Classification"; Miller et al.
        2021, "Accuracy on the Line".
    """
    if not reports:
        raise OochubError("There are no reports. Pass at least one that `oochub evaluate` made.")
    names = name_models(reports)
    places = dict.fromkeys((report.benchmark.name, report.benchmark.config) for report in reports)
    lines = []
    for place in places:
        of = [(n, r) for n, r in zip(names, reports, strict=True) if (r.benchmark.name, r.benchmark.config) == place]
        lines.append(_fit_line(of, metric))
    if not any(line.points for line in lines):
        measured = {name for report in reports for name in report.metrics}
        if metric is not None and metric not in measured:
            raise unknown_name("metric in these reports", metric, measured)
        raise OochubError("No report has a number both in and out of context, so there is nothing to compare.")
    return lines


def _fit_line(named: Sequence[tuple[str, Report]], metric: str | None) -> ModelLine:
    benchmark = named[0][1].benchmark
    key = metric or benchmark.primary_metric
    described = named[0][1].description(key)
    pairs: list[tuple[str, Estimate, Estimate]] = []
    left_out = []
    for name, report in named:
        inside, outside = (report.slice_of(side) for side in ("in", "out"))
        values = [None if part is None else part.metrics.get(key) for part in (inside, outside)]
        first, second = values
        if first is None or second is None or format_numbers.is_undefined(first) or format_numbers.is_undefined(second):
            left_out.append(f"{name}: {key} is not available on both sides")
        else:
            pairs.append((name, first, second))
    bare = ModelLine(
        benchmark=benchmark.name,
        config=benchmark.config,
        metric=key,
        described=described,
        titles=(wording.title_side(benchmark, "in"), wording.title_side(benchmark, "out")),
        points=(),
        fit=None,
        left_out=tuple(left_out),
    )
    return add_points(bare, pairs)


def add_points(bare: ModelLine, pairs: Sequence[tuple[str, Estimate, Estimate]]) -> ModelLine:
    """The line through the models that it is fitted to, with a point for each model.

    Args:
        bare: The line without fit and points.
        pairs: Name of each model, its number in context, and that out of context.
    """
    baseline = [pair for pair in pairs if bare.baseline is None or pair[0] in bare.baseline]
    places = [[float(bare.place(bare.shown(estimate))) for estimate in (x, y)] for _, x, y in baseline]
    fit = linear_fit(*zip(*places, strict=True)) if len(baseline) >= FEWEST else None
    if fit is not None and math.isnan(fit.slope):
        fit = None
    line = replace(bare, fit=fit)
    points = [
        LinePoint(model=name, inside=x, outside=y, robustness=_estimate_robustness(line, x, y, len(baseline)))
        for name, x, y in pairs
    ]
    points.sort(key=lambda point: point.outside.value, reverse=bare.described.direction != "lower")
    return replace(line, points=tuple(points))


def _estimate_robustness(line: ModelLine, inside: Estimate, outside: Estimate, count: int) -> Estimate:
    if line.fit is None:
        why = (
            f"{count} models: a line needs at least {FEWEST}"
            if count < FEWEST
            else "all models have the same number in context"
        )
        return Estimate(math.nan, n=outside.n, method="none", reason=why)
    ends = [inside.value, inside.low, inside.high] if format_numbers.has_interval(inside) else [inside.value] * 3
    middle, low, high = line.at([line.shown(inside, end) for end in ends])
    value, below, above = float(middle[0]), float(min(middle)), float(max(middle))
    expected = Estimate(
        value,
        low=value - math.hypot(value - low[0], value - below),
        high=value + math.hypot(high[0] - value, above - value),
        n=inside.n,
        method=f"line through {count} models",
    )
    return difference(expected, outside) if line.described.direction == "lower" else difference(outside, expected)


def name_models(reports: Sequence[Report]) -> list[str]:
    """A name for each report: that of `name_methods`, with its seed where others share it.

    Args:
        reports: Any reports.

    >>> name_models([])
    []
    """
    bare = [wording.name(method, 60) for method in name_methods(reports)]
    places = [
        (name, report.benchmark.name, report.benchmark.config) for name, report in zip(bare, reports, strict=True)
    ]
    shared = {place[0] for place, count in Counter(places).items() if count > 1}
    told = [
        f"{name}, seed {', '.join(map(str, report.model.seeds))}" if name in shared and report.model.seeds else name
        for name, report in zip(bare, reports, strict=True)
    ]
    if len({*zip(told, places, strict=True)}) == len(told):
        return told
    folders = [_find_folder(report) for report in reports]
    return [
        f"{name} ({folder})" if folder and told.count(name) > 1 else name
        for name, folder in zip(told, folders, strict=True)
    ]


def _find_folder(report: Report) -> str:
    """The folder of a report, as it was typed; "" if it is not known."""
    request = report.provenance.asked
    place = None if request is None else request.report or request.predictions
    return "" if place is None else wording.name(Path(place).parent.name, 40)


def name_methods(reports: Sequence[Report]) -> list[str]:
    """The method of each report: the title that a recipe gives it, else its training objective, else the model's id.

    The setting follows if a title has several for one task and seed: "StdRisk (ours), k=4"; trials, each of which
    selected its own, are one method. What was trained follows if reports of a benchmark differ in it: "resnet-50", by
    what its first weights came from, or the family "from scratch".

    Args:
        reports: Any reports.

    >>> name_methods([])
    []
    """
    titles = [report.model.method or report.model.objective or wording.name_model(report.model) for report in reports]
    settings: dict[tuple[object, ...], set[str]] = {}
    for title, report in zip(titles, reports, strict=True):
        place = title, report.benchmark.name, report.benchmark.config, report.model.seeds
        settings.setdefault(place, set()).add(report.model.setting or "")
    several = {title for (title, *_), own in settings.items() if len(own) > 1}
    return [
        f"{title}{f', {report.model.setting}' if title in several and report.model.setting else ''}{trained}"
        for title, report, trained in zip(titles, reports, _find_trained_models(reports), strict=True)
    ]


def _find_trained_models(reports: Sequence[Report]) -> list[str]:
    """What follows the method of each report: "" where all reports of its benchmark trained the same."""
    models = [_name_family(report) for report in reports]
    of_benchmark: dict[str, set[str]] = {}
    for report, model in zip(reports, models, strict=True):
        of_benchmark.setdefault(report.benchmark.name, set()).update([model] if model else [])
    return [
        f", {model}" if model and len(of_benchmark[report.benchmark.name]) > 1 else ""
        for report, model in zip(reports, models, strict=True)
    ]


def _name_family(report: Report) -> str:
    training = report.provenance.training
    if training is None or training.architecture is None or report.model.objective is None:
        return ""
    family = training.architecture.partition("For")[0]
    return str(training.base).rpartition("/")[2] if training.pretrained else f"{family} from scratch"


_FRAME = svg.Frame(52, 12, 412, 372, width=424, height=420, beside=12, below=36)
_STEPS = 40
_TICKS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
_MOST = 8


def make_line_chart(line: ModelLine) -> PlaneChart:
    """The chart of one config: in context to the right, out of context upward, as `ModelLine.place` places them.

    Args:
        line: Line with at least one point.
    """
    unit = format_numbers.unit_of(line.metric, line.described.unit)
    title = f"{wording.name(line.described.title, 30)} {unit}, {line.titles[0]}"
    x = _make_axis(line, [point.inside for point in line.points], title)
    y = _make_axis(line, [point.outside for point in line.points], line.titles[1])
    across = np.linspace(x.low, x.high, _STEPS)
    shared = [float(place) for place in across if y.low <= place <= y.high]
    ends = [(place, place) for place in (shared[0], shared[-1])] if len(shared) > 1 else []
    traces = [Trace("chance", ends, title="no gap")] if ends else []
    if line.fit is not None:
        middle, low, high = (line.place(end) for end in line.at(line.value_at(across)))
        points = [(float(a), float(m)) for a, m in zip(across, middle, strict=True) if y.low <= m <= y.high]
        traces.append(Trace("plain", points, list(zip(across, low, high, strict=True)), band_look="out"))
    return PlaneChart(x, y, line.sentence, traces, [_make_dot(line, point) for point in line.points])


def _make_dot(line: ModelLine, point: LinePoint) -> Dot:
    def place(estimate: Estimate, end: float | None = None) -> float:
        return float(line.place(line.shown(estimate, end)))

    across, up = (
        (place(number, number.low), place(number, number.high)) if format_numbers.has_interval(number) else None
        for number in (point.inside, point.outside)
    )
    return Dot("out", place(point.inside), place(point.outside), across, up)


def _make_axis(line: ModelLine, estimates: Sequence[Estimate], title: str) -> Axis:
    """An axis on which these have room, with their intervals."""
    places = [
        float(line.place(line.shown(estimate, end))) for estimate in estimates for end in svg.list_ends([estimate])
    ]
    room = 0.08 * (max(places) - min(places)) or 0.1
    low, high = min(places) - room, max(places) + room
    scale = format_numbers.SCALES.get(line.described.unit, 1)
    ticks = [(float(line.place(tick)), f"{scale * tick:.4g}") for tick in _choose_ticks(line, low, high)]
    return Axis(low, high, ticks, title)


def _choose_ticks(line: ModelLine, low: float, high: float) -> list[float]:
    """Round values between the ends of an axis, few enough to be told apart."""
    if not line.is_share:
        return svg.ticks(low, high)
    every = [tick for tick in _TICKS if low <= line.place(tick) <= high]
    while len(every) > _MOST:
        every = every[::2]
    if len(every) >= 2:
        return every
    return svg.ticks(*(float(np.clip(line.value_at(end), 1e-4, 1 - 1e-4)) for end in (low, high)), most=5)


def draw_line_chart(line: ModelLine, *, number: int) -> Markup:
    """The chart of one config; the model farthest above the line is named.

    Args:
        line: Line with at least one point.
        number: Tells its ids from those of other charts of the page.
    """
    chart = make_line_chart(line)
    labels = []
    for trace in chart.traces:
        if trace.title:
            x, y = _FRAME.place(chart, *trace.points[-1])
            labels.append(svg.draw_text(f"{x - 4:.1f}", y + 14, trace.title, anchor="end", classes="halo"))
    measured = [point for point in line.points if not format_numbers.is_undefined(point.robustness)]
    if measured:
        best = max(measured, key=lambda point: point.robustness)
        dot = _make_dot(line, best)
        x, y = _FRAME.place(chart, dot.x, dot.y)
        at, anchor = (x - 9, "end") if 2 * dot.x > chart.x.low + chart.x.high else (x + 9, "start")
        name = wording.name(best.model, 30)
        labels.append(svg.draw_text(f"{at:.1f}", y - 9, name, anchor=anchor, classes="k halo"))
    return svg.plane(chart, _FRAME, name=f"line-{number}", more=labels)


def line_across(
    reports: Sequence[Report],
    *,
    config: str,
    against: str,
    metric: str | None = None,
    baseline: Sequence[str] | None = None,
    scale: Scale = "logit",
) -> ModelLine:
    """Models on a shifted set against the same models on a standard set, with the line of the baseline models.

    A model's point is the metric over all rows of either set. Its effective robustness is how much better it does on
    the shifted set than the line says of its number on the standard set. Models are matched by the name that
    `name_models` gives them.

    Args:
        reports: Reports on both sets, one per model and set; those on other sets are not read.
        config: The shifted set: "imagenet_a", or with its benchmark, "imagenet_ood/imagenet_a".
        against: The standard set, in the same way.
        metric: Name of the metric; None takes the primary metric of the shifted set.
        baseline: Names of the models that the line is fitted to; None takes all.
        scale: What shares are fitted as; logits are those of the source.

    Raises:
        OochubError: A set that no report is on, or the same set twice; a model of the baseline that is not there or
            lacks a number; two reports of a model on one set; no model on both.

    Source:
        Taori et al. 2020, "Measuring Robustness to Natural Distribution Shifts in Image Classification";
        `plotting/paper_appendix_eff_robust.py` of imagenet-testbed 0170eec (transform="logit").
    """
    shifted, standard = (_reports_on(reports, config_named) for config_named in (config, against))
    some, other = (next(iter(by_model.values())) for by_model in (shifted, standard))
    benchmark, place, base = some.benchmark, _name_place(some), _name_place(other)
    if place == base:
        raise OochubError(f"config and against are the same set, {place}. Choose another standard set with against.")
    key = metric or benchmark.primary_metric
    pairs: list[tuple[str, Estimate, Estimate]] = []
    left_out = []
    for name in {**shifted, **standard}:
        first, second = (_read_over_all(of.get(name), key) for of in (standard, shifted))
        if first is not None and second is not None:
            pairs.append((name, first, second))
        else:
            lacking = [where for where, value in ((base, first), (place, second)) if value is None]
            left_out.append(f"{name}: no {key} on {' and '.join(lacking)}")
    names = [name for name, *_ in pairs]
    for name in baseline or ():
        if name not in names:
            raise unknown_name("model with numbers on both sets", name, names)
    if not pairs:
        raise OochubError(f"No model has {key} both on {base} and on {place}. Pass reports of the same models.")
    bare = ModelLine(
        benchmark=benchmark.name,
        config=benchmark.config,
        metric=key,
        described=some.description(key),
        titles=(f"on {base}", f"on {place}"),
        points=(),
        fit=None,
        left_out=tuple(left_out),
        scale=scale,
        baseline=None if baseline is None else tuple(baseline),
    )
    return add_points(bare, pairs)


def _reports_on(reports: Sequence[Report], config: str) -> dict[str, Report]:
    """The reports on one set by the names of their models."""
    places = {_name_place(report): report.benchmark.config for report in reports}
    fitting = [place for place, short in places.items() if config in (place, short)]
    if len(fitting) != 1:
        configs = [*places] if "/" in config else [*places.values()]
        if fitting:
            raise OochubError(f"{config} is a config of {' and '.join(fitting)}. Choose one of them.")
        raise unknown_name("config in these reports", config, configs)
    chosen: dict[str, Report] = {}
    for name, report in zip(name_models(reports), reports, strict=True):
        if _name_place(report) == fitting[0]:
            if name in chosen:
                raise OochubError(f"Two reports are of {name} on {fitting[0]}. Pass one per model and set.")
            chosen[name] = report
    return chosen


def _name_place(report: Report) -> str:
    return f"{report.benchmark.name}/{report.benchmark.config}"


def _read_over_all(report: Report | None, metric: str) -> Estimate | None:
    """A metric over all rows of the evaluation split; None if it is not known."""
    part = None if report is None else report.slice_of("all")
    estimate = None if part is None else part.metrics.get(metric)
    return None if estimate is None or format_numbers.is_undefined(estimate) else estimate
