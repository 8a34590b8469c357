"""Many models in context against out of it: their points, the line through them, and how far each lies above it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.errors import OochubError, unknown_name
from oochub.records.report_records import MetricDescription
from oochub.report import numbers, wording
from oochub.report.comparing.model_names import model_names
from oochub.report.report import Report
from oochub.stats.array_checks import Array
from oochub.stats.estimate import Estimate
from oochub.stats.estimation import difference
from oochub.stats.linear_fit import LinearFit, linear_fit

FEWEST = 5
"""Models from which on a line is fitted."""


@dataclass(frozen=True, kw_only=True)
class LinePoint:
    """One model.

    Attributes:
        model: What it goes by.
        inside: Its metric in context.
        outside: Its metric out of context.
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
        benchmark: Its name.
        config: Its config.
        metric: The metric of both sides.
        described: What its numbers mean.
        titles: What the benchmark calls the sides, in context first.
        points: A point a model, those with the highest number out of context first (of a metric of which lower is
            better, the lowest).
        fit: The line, of probits where the metric is a share; None below five models or where all x are equal.
        left_out: What has no point, and why.
    """

    benchmark: str
    config: str
    metric: str
    described: MetricDescription
    titles: tuple[str, str]
    points: tuple[LinePoint, ...]
    fit: LinearFit | None
    left_out: tuple[str, ...]

    @property
    def is_probit(self) -> bool:
        """Whether both axes are probits: shares near 1 are then as far apart as they are hard to come by."""
        return self.described.unit == "fraction"

    def place(self, value: Any) -> Any:
        """Numbers of the metric on the axis: the probit of a share, else themselves."""
        return special.ndtri(value) if self.is_probit else np.asarray(value, np.float64)

    def shown(self, estimate: Estimate, value: float | None = None) -> float:
        """A number as it is drawn and fitted: a share of 0 or 1 is half an example away from there.

        Args:
            estimate: Of which rows it is.
            value: An end of its interval; None is the estimate itself.
        """
        value = estimate.value if value is None else value
        edge = 1 / (2 * max(estimate.n, 1))
        return min(max(value, edge), 1 - edge) if self.is_probit else value

    def at(self, value: Any) -> tuple[Array, Array, Array]:
        """The line at numbers in context (m,), and both ends (m,) of its 95% band, all in the metric's own scale.

        Raises:
            OochubError: There is no line.
        """
        if self.fit is None:
            raise OochubError(f"There are {len(self.points)} models; a line is fitted from {FEWEST} on.")
        ends = self.fit.at(self.place(value))
        back: Callable[[Any], Array] = special.ndtr if self.is_probit else np.asarray
        middle, low, high = (back(end) for end in ends)
        return middle, low, high

    @property
    def sentence(self) -> str:
        """What the points say, in one sentence."""
        n = len(self.points)
        if self.fit is None:
            return f"{n} model{'s' if n != 1 else ''}; a line is fitted from {FEWEST} on."
        clear = [
            point.model for point in self.points if numbers.has_interval(point.robustness) and point.robustness.low > 0
        ]
        above = wording.listed(clear[:5]) + (f" and {len(clear) - 5} more" if len(clear) > 5 else "")
        verb = "lies" if len(clear) == 1 else "lie"
        found = f"{above} {verb} clearly above it." if clear else "None lies clearly above it."
        return f"A line through {n} models. {found}"


def model_lines(reports: Sequence[Report], *, metric: str | None = None) -> list[ModelLine]:
    """The points and the line of each config of each benchmark.

    A share of 0 or 1 has no probit: it is drawn, and enters the fit, as half an example away from there, 1 / (2 n). The
    line is least squares through all models. The interval of a robustness is made of that of the number out of context,
    of the band of the line, and of the number in context carried along the line, taken as independent.

    Args:
        reports: A report a model and config.
        metric: Its name; None takes the benchmark's primary metric.

    Raises:
        OochubError: No reports, or a metric that none of them has on both sides.

    Source:
        Taori et al. 2020, "Measuring Robustness to Natural Distribution Shifts in Image Classification"; Miller et al.
        2021, "Accuracy on the Line".
    """
    if not reports:
        raise OochubError("There are no reports. Give at least one of `oochub evaluate`.")
    names = model_names(reports)
    places = dict.fromkeys((report.benchmark.name, report.benchmark.config) for report in reports)
    lines = []
    for place in places:
        of = [(n, r) for n, r in zip(names, reports, strict=True) if (r.benchmark.name, r.benchmark.config) == place]
        lines.append(_line(of, metric))
    if not any(line.points for line in lines):
        known = {name for report in reports for name in report.metrics}
        if metric is not None and metric not in known:
            raise unknown_name("metric in these reports", metric, known)
        raise OochubError("No report has a number both in and out of context, so there is nothing to set side by side.")
    return lines


def _line(named: Sequence[tuple[str, Report]], metric: str | None) -> ModelLine:
    benchmark = named[0][1].benchmark
    key = metric or benchmark.primary_metric
    described = named[0][1].description(key)
    pairs: list[tuple[str, Estimate, Estimate]] = []
    left_out = []
    for name, report in named:
        inside, outside = (report.slice_of(side) for side in ("in", "out"))
        values = [None if part is None else part.metrics.get(key) for part in (inside, outside)]
        first, second = values
        if first is None or second is None or numbers.is_undefined(first) or numbers.is_undefined(second):
            left_out.append(f"{name}: no {key} on both sides")
        else:
            pairs.append((name, first, second))
    bare = ModelLine(
        benchmark=benchmark.name,
        config=benchmark.config,
        metric=key,
        described=described,
        titles=(wording.side_title(benchmark, "in"), wording.side_title(benchmark, "out")),
        points=(),
        fit=None,
        left_out=tuple(left_out),
    )
    places = [[float(bare.place(bare.shown(estimate))) for estimate in (x, y)] for _, x, y in pairs]
    fit = linear_fit(*zip(*places, strict=True)) if len(pairs) >= FEWEST else None
    if fit is not None and math.isnan(fit.slope):
        fit = None
    line = ModelLine(**{**vars(bare), "fit": fit})
    points = [
        LinePoint(model=name, inside=x, outside=y, robustness=_robustness(line, x, y, len(pairs)))
        for name, x, y in pairs
    ]
    points.sort(key=lambda point: point.outside.value, reverse=described.direction != "lower")
    return ModelLine(**{**vars(line), "points": tuple(points)})


def _robustness(line: ModelLine, inside: Estimate, outside: Estimate, count: int) -> Estimate:
    if line.fit is None:
        why = (
            f"{count} models: a line is fitted from {FEWEST} on" if count < FEWEST else "all have one number in context"
        )
        return Estimate(math.nan, n=outside.n, method="none", reason=why)
    ends = [inside.value, inside.low, inside.high] if numbers.has_interval(inside) else [inside.value] * 3
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
