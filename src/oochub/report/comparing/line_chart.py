"""Accuracy on the line as SVG for the page: a point a model, y = x, and the fitted line with its band."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.report import numbers, svg, wording
from oochub.report.comparing.model_line import ModelLine
from oochub.stats.estimate import Estimate

_LEFT, _TOP, _SIZE = 52.0, 12.0, 360.0  # of the square of the axes, in the units of the view
_STEPS = 40
_TICKS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
_MOST = 8


class Axis:
    """One of the two axes, from values of the metric to places in [0, 1].

    Args:
        line: Whose scale it has.
        estimates: What must have room on it, with their intervals.
    """

    def __init__(self, line: ModelLine, estimates: Sequence[Estimate]) -> None:
        ends = [
            line.shown(e, end) for e in estimates for end in (e.value, e.low, e.high) if not numbers.is_undefined(end)
        ]
        places = [float(line.place(end)) for end in ends]
        room = 0.08 * (max(places) - min(places)) or 0.1
        self._line, self._low, self._high = line, min(places) - room, max(places) + room

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends, as `ModelLine.place` gives them."""
        return self._low, self._high

    def at(self, value: float) -> float:
        """The place of a value, 0 at the low end and 1 at the high end."""
        return (float(self._line.place(value)) - self._low) / (self._high - self._low)

    @property
    def ticks(self) -> list[float]:
        """Round values between the ends, few enough to be told apart."""
        if not self._line.is_probit:
            return svg.ticks(self._low, self._high)
        every = [tick for tick in _TICKS if 0 <= self.at(tick) <= 1]
        while len(every) > _MOST:
            every = every[::2]
        if len(every) >= 2:
            return every
        low, high = (float(np.clip(self._line_back(end), 1e-4, 1 - 1e-4)) for end in (self._low, self._high))
        return svg.ticks(low, high, most=5)

    def across(self) -> list[float]:
        """Values from one end to the other, at equal steps of the axis."""
        return [self._line_back(place) for place in np.linspace(self._low, self._high, _STEPS)]

    def _line_back(self, place: float) -> float:
        return float(special.ndtr(place)) if self._line.is_probit else float(place)


def line_axes(line: ModelLine) -> tuple[Axis, Axis]:
    """The axes of a chart: in context to the right, out of context upward."""
    return Axis(line, [p.inside for p in line.points]), Axis(line, [p.outside for p in line.points])


def line_chart(line: ModelLine, *, number: int) -> Markup:
    """The chart of one config; the model farthest above the line is named.

    Args:
        line: With at least one point.
        number: Tells its ids from those of other charts of the page.
    """
    x, y = line_axes(line)
    parts = [_frame(line, x, y), _diagonal(x, y), _fitted(line, x, y)]
    for point in line.points:
        across, up = _across(x.at(line.shown(point.inside))), _up(y.at(line.shown(point.outside)))
        for estimate, axis, is_x in ((point.inside, x, True), (point.outside, y, False)):
            if numbers.has_interval(estimate):
                ends = [axis.at(line.shown(estimate, end)) for end in (estimate.low, estimate.high)]
                places = (_across(ends[0]), _across(ends[1]), up, up) if is_x else (across, across, *map(_up, ends))
                parts.append(
                    Markup('<line x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}" class="l-out thin"/>').format(*places)
                )
        parts.append(svg.mark("out", f"{across:.1f}", f"{up:.1f}", size=4))
    known = [point for point in line.points if not numbers.is_undefined(point.robustness)]
    if known:
        best = max(known, key=lambda point: point.robustness)
        at = x.at(line.shown(best.inside))
        parts.append(
            Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="k halo">{}</text>').format(
                _across(at) + (-9 if at > 0.5 else 9),
                _up(y.at(line.shown(best.outside))) - 9,
                "end" if at > 0.5 else "start",
                wording.name(best.model, 30),
            )
        )
    name = f"line-{number}"
    return Markup(
        '<svg viewBox="0 0 424 420" class="plot" role="img" aria-labelledby="{0}"><title id="{0}">{1}</title>{2}</svg>'
    ).format(name, line.sentence, Markup("").join(parts))


def _across(place: float) -> float:
    return _LEFT + _SIZE * place


def _up(place: float) -> float:
    return _TOP + _SIZE * (1 - place)


def _frame(line: ModelLine, x: Axis, y: Axis) -> Markup:
    scale, bottom = numbers.SCALES.get(line.described.unit, 1), _up(0)
    parts = []
    for tick in x.ticks:
        at, text = _across(x.at(tick)), f"{scale * tick:.4g}"
        parts.append(Markup('<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}" class="gl"/>').format(at, _TOP, bottom))
        parts.append(Markup('<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(at, bottom + 16, text))
    for tick in y.ticks:
        at, text = _up(y.at(tick)), f"{scale * tick:.4g}"
        right = _LEFT + _SIZE
        parts.append(Markup('<line x1="{1}" x2="{2}" y1="{0:.1f}" y2="{0:.1f}" class="gl"/>').format(at, _LEFT, right))
        parts.append(Markup('<text x="{}" y="{:.1f}" text-anchor="end">{}</text>').format(_LEFT - 6, at + 4, text))
    unit = numbers.unit_of(line.metric, line.described.unit)
    title = f"{wording.name(line.described.title, 30)} {unit}"
    middle = _LEFT + _SIZE / 2
    parts.append(
        Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(
            middle, bottom + 36, f"{title}, {line.titles[0]}"
        )
    )
    parts.append(
        Markup('<text transform="translate(12 {}) rotate(-90)" text-anchor="middle">{}</text>').format(
            _TOP + _SIZE / 2, line.titles[1]
        )
    )
    return Markup("").join(parts)


def _diagonal(x: Axis, y: Axis) -> Markup:
    """The dotted line of equal numbers, where both axes have them."""
    shared = [value for value in x.across() if 0 <= y.at(value) <= 1]
    if len(shared) < 2:
        return Markup("")
    ends = [(_across(x.at(value)), _up(y.at(value))) for value in (shared[0], shared[-1])]
    line = Markup('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="chance"/>').format(*ends[0], *ends[1])
    words = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="end" class="halo">no gap</text>').format(
        ends[1][0] - 4, ends[1][1] + 14
    )
    return line + words


def _fitted(line: ModelLine, x: Axis, y: Axis) -> Markup:
    if line.fit is None:
        return Markup("")
    values = x.across()
    middle, low, high = line.at(values)
    clip = np.clip
    rows = [
        (_across(x.at(v)), *(_up(float(clip(y.at(end), 0, 1))) for end in (lower, upper)))
        for v, lower, upper in zip(values, low, high, strict=True)
    ]
    band = " ".join(
        [f"{at:.1f},{lower:.1f}" for at, lower, _ in rows] + [f"{at:.1f},{up:.1f}" for at, _, up in rows[::-1]]
    )
    points = [(_across(x.at(v)), _up(y.at(m))) for v, m in zip(values, middle, strict=True) if 0 <= y.at(m) <= 1]
    drawn = " ".join(f"{at:.1f},{up:.1f}" for at, up in points)
    return Markup('<polygon points="{}" class="band-out"/><polyline points="{}" class="curve l-plain"/>').format(
        band, drawn
    )
