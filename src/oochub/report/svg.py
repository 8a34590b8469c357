"""Fragments of SVG for the page: positions in percent, colors by class, text escaped; no style attribute anywhere.

A chart that must stretch is an `<svg width="100%">` without `viewBox` whose marks are nested `<svg x="72.4%">`: the
scale stretches with the page, while text, strokes and marks keep their size. Curves need a `viewBox`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from oochub.records.report_records import Calibration, ConfidenceBin, Side
from oochub.report import format_numbers
from oochub.stats.estimate import Estimate

_Map = Callable[[float], float]

_LABEL = 29.0  # percent of the head chart that a label may take
_TICK = 12.0  # percent of it that the number at chance takes, of which no tick stands nearer
_BOLD = 7.4  # pixels of a bold letter, on average, in a chart of 384
_CLASS = {"in": "inn", "out": "out"}
_SHAPES = {
    "in": lambda size: Markup('<circle r="{:.1f}"/>').format(size),
    "out": lambda size: Markup('<path d="M0-{0:.1f} {0:.1f} 0 0 {0:.1f}-{0:.1f} 0z"/>').format(1.28 * size),
}


class GapChart(NamedTuple):
    """Both sides on one axis.

    Attributes:
        sides: The primary metric of each side that has it.
        titles: Titles that the benchmark gives the sides.
        gap: Their difference.
        unit: Unit of all these numbers.
        chance: The primary metric of guessing; nan where there is none.
        perfect: The best that there is; nan where the metric has no upper bound.
        is_settled: False where the data do not settle the question: both marks are then hollow.
        sentence: The verdict.
    """

    sides: Mapping[Side, Estimate]
    titles: Mapping[Side, str]
    gap: Estimate
    unit: str
    chance: float
    perfect: float
    is_settled: bool
    sentence: str


class Curve(NamedTuple):
    """Share of right answers against confidence, on one side; `drawn` are the bins with enough answers."""

    side: Side
    title: str
    calibration: Calibration
    drawn: tuple[ConfidenceBin, ...]


@dataclass(frozen=True, kw_only=True)
class LinearScale:
    """A linear scale from values to percent of the chart's width.

    Attributes:
        low: Value at the left end.
        high: Value at the right end.
        width: Percent of the width that `high` stands at.
    """

    low: float
    high: float
    width: float = 100.0

    def percent(self, value: float) -> float:
        """The position of a value, clipped to the scale.

        >>> LinearScale(low=0.5, high=1, width=80).percent(0.75)
        40.0
        """
        return self.width * min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def at(self, value: float) -> str:
        """The same as an SVG coordinate.

        >>> LinearScale(low=0, high=1).at(0.25)
        '25.00%'
        """
        return f"{self.percent(value):.2f}%"


def ticks(low: float, high: float, *, most: int = 6) -> list[float]:
    """Round values inside [low, high], steps of 1, 2 or 5 times a power of ten, at most `most` of them.

    >>> ticks(0.5, 1.0), ticks(0.25, 1.0)
    ([0.5, 0.6, 0.7, 0.8, 0.9, 1.0], [0.4, 0.6, 0.8, 1.0])
    """
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(s * power for s in (1, 2, 5, 10, 20) if (high - low) / (s * power) <= most - 1 + 1e-9)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def mark(side: Side, x: str, y: str | float, *, size: float = 5.5, hollow: bool = False) -> Markup:
    """A circle (in context) or a diamond (out of context) around a point, filled or hollow."""
    classes = _CLASS[side] + (" hollow" if hollow else "")
    return Markup('<svg x="{}" y="{}" class="{}">{}</svg>').format(x, y, classes, _SHAPES[side](size))


def icon(side: Side) -> Markup:
    """The mark of a side as a small inline image for heads and keys; the words stand beside it."""
    inner = mark(side, "7", 7, size=4.5)
    return Markup('<svg class="ic" width="14" height="14" aria-hidden="true">{}</svg>').format(inner)


def head(chart: GapChart, gap: str) -> Markup:
    """The head chart: one axis from chance to 1, both marks with their intervals, the gap above the bar.

    The left end is chance, unless a number lies below it. A side without a value has no mark.

    Args:
        chart: What to draw; both marks are hollow where the question is not settled.
        gap: The gap in print.
    """
    known = chart.sides
    ends = [end for e in known.values() for end in (e, e.low) if not format_numbers.is_undefined(end)]
    lowest = min([*ends, *([] if format_numbers.is_undefined(chart.chance) else [chart.chance])], default=0.0)
    low = lowest if lowest == chart.chance else max(0.0, math.floor(lowest * 10) / 10)
    scale = LinearScale(low=low if low < 1 else 0.0, high=1.0, width=86.0)  # of one class even a guess is right
    parts = [_draw_axis(scale, chart), *_head_labels(scale, chart)]
    half = 1.7 * len(gap)  # percent of the narrowest chart that the gap takes to either side
    middle = [min(max(sum(map(scale.percent, known.values())) / 2, half), 100 - half)] if len(known) == 2 else []
    parts += [_draw_line(scale.at(min(known.values())), scale.at(max(known.values())), 64, "gapbar") for _ in middle]
    parts += [whisker(scale, e, _CLASS[side], 64, 3) for side, e in known.items()]
    parts += [mark(side, scale.at(e), 64, size=9, hollow=not chart.is_settled) for side, e in known.items()]
    parts += [_draw_text(f"{at:.2f}%", 49, gap, anchor="middle", classes="k gap") for at in middle]
    return strip(106, parts)


def _head_labels(scale: LinearScale, chart: GapChart) -> list[Markup]:
    # Outward: the left label ends at its mark, the right one begins there. In the narrowest chart, 288 px, a label
    # takes 29% of the width, so near an edge it turns inward where the other side leaves room, else it is pushed in.
    known = chart.sides
    order = sorted(known, key=lambda side: (known[side].value, side == "in"))
    at = [scale.percent(known[side]) for side in order]
    places: dict[Side, tuple[float, str, int]] = {}
    if order:
        turns = at[0] < _LABEL and (len(at) == 1 or at[1] - at[0] > _LABEL + 2)
        places[order[0]] = (at[0], "start", 1) if turns else (min(max(at[0], _LABEL), 97 - _LABEL), "end", -1)
    if len(order) == 2:
        edge = places[order[0]][0] + (_LABEL if places[order[0]][1] == "start" else 0) + 3
        turns = at[1] > 100 - _LABEL and at[1] - _LABEL > edge
        places[order[1]] = (at[1], "end", -1) if turns else (min(max(at[1], edge), 100 - _LABEL), "start", 1)
    labels = []
    for side, (x, anchor, sign) in places.items():
        spot = f"{x:.2f}%"
        labels.append(
            _draw_text(spot, 15, format_numbers.quantity(known[side], chart.unit), anchor=anchor, classes="k big")
        )
        labels.append(_draw_text(spot, 30, chart.titles[side], anchor=anchor, dx=sign * 12))
        labels.append(
            Markup('<svg x="{}" y="26"><svg x="{}">{}</svg></svg>').format(spot, sign * 5, mark(side, "0", 0, size=4))
        )
    return labels


def _draw_axis(scale: LinearScale, chart: GapChart) -> Markup:
    named = {} if format_numbers.is_undefined(chart.chance) else {chart.chance: "chance"}
    taken = [scale.percent(at) for at in named]
    values = [tick for tick in ticks(scale.low, scale.high) if all(abs(scale.percent(tick) - x) > _TICK for x in taken)]
    parts = [_draw_line("0", f"{scale.width:.0f}%", 64, "ax")]
    for value in sorted({*values, *named, 1.0}):
        x = scale.at(value)
        anchor = "start" if scale.percent(value) < 2 else "middle"
        parts.append(Markup('<line x1="{0}" x2="{0}" y1="60" y2="68" class="ax"/>').format(x))
        parts.append(_draw_text(x, 84, f"{format_numbers.SCALES.get(chart.unit, 1) * value:.3g}", anchor=anchor))
    for value, word in (named | {1.0: "perfect"}).items():
        parts.append(_draw_text(scale.at(value), 100, word, anchor="start" if scale.percent(value) < 8 else "middle"))
    return Markup("").join(parts)


def bar(side: Side | None, estimate: Estimate, scale: LinearScale) -> Markup:
    """One row of a bar chart: a bar from zero, its mark at the end and its interval; grid lines behind.

    Args:
        side: Color and mark; None draws a plain bar.
        estimate: What to draw; undefined draws the grid alone.
        scale: LinearScale from 0 to the highest of all rows; on one that begins below 0 there is no bar.
    """
    parts = [grid(scale)]
    if not format_numbers.is_undefined(estimate):
        x, name = scale.at(estimate), _CLASS.get(side or "", "plain")
        if scale.low == 0:
            parts.append(Markup('<rect x="0" y="9" width="{}" height="10" class="bar b-{}"/>').format(x, name))
        parts.append(whisker(scale, estimate, name, 14, 2))
        parts.append(mark(side, x, 14, size=4.5) if side else Markup(""))
    return strip(28, parts)


def strip(height: int, parts: Sequence[Markup]) -> Markup:
    """A chart as wide as its place, so many pixels high; what stands beside it says the same in words."""
    frame = Markup('<svg width="100%" height="{}" aria-hidden="true" focusable="false">{}</svg>')
    return frame.format(height, Markup("").join(parts))


def grid(scale: LinearScale, most: int = 6) -> Markup:
    """Vertical lines at the ticks of a scale, at most `most` of them."""
    line = Markup('<line x1="{0}" x2="{0}" y1="0" y2="100%" class="gl"/>')
    return Markup("").join(line.format(scale.at(tick)) for tick in ticks(scale.low, scale.high, most=most))


def whisker(scale: LinearScale, estimate: Estimate, name: str, y: float, width: float) -> Markup:
    """The interval of an estimate as a line; nothing where it has none.

    Args:
        scale: LinearScale of the chart.
        estimate: Estimate whose bounds are drawn.
        name: The color, by the name of its CSS class: "inn", "plain".
        y: Pixels from above.
        width: Width of the line, in pixels.
    """
    if format_numbers.is_undefined(estimate) or not format_numbers.has_interval(estimate):
        return Markup("")
    return Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="l-{}" stroke-width="{}"/>').format(
        scale.at(estimate.low), scale.at(estimate.high), y, y, name, width
    )


def tick_labels(scale: LinearScale, words: Callable[[float], str], *, all_fit: bool = True, most: int = 6) -> Markup:
    """The labels above a column of charts.

    Args:
        scale: LinearScale of the charts.
        words: Function that gives the text at a tick.
        all_fit: False marks those between the ends as "far": a phone has no room for them.
        most: Labels that the column has room for.
    """
    parts, places = [], ticks(scale.low, scale.high, most=most)
    for tick in places:
        at = scale.percent(tick)
        anchor = "start" if at < 4 else "end" if at > 96 else "middle"
        far = "" if all_fit or tick in (places[0], places[-1]) else "far"
        parts.append(_draw_text(scale.at(tick), 12, words(tick), anchor=anchor, classes=far))
    return strip(16, parts)


def reliability(curves: Sequence[Curve], *, low: float, title: str) -> Markup:
    """The reliability diagram of both sides on one square, above the histogram of confidence of each.

    Args:
        curves: Curves of the section `confidence`.
        low: Left and lower end of both axes, in [0, 1).
        title: The finding, read out in place of the image.
    """
    x, y = (lambda v: 44 + 326 * (v - low) / (1 - low)), (lambda v: 336 - 326 * (v - low) / (1 - low))
    parts = [
        _draw_square_grid(x, y, low),
        *(_draw_curve(curve, x, y) for curve in curves),
        *_label_curves(curves, x, y),
    ]
    every = [curve.calibration.bins for curve in curves]
    tallest = max((b.n / sum(b.n for b in bins) for bins in every for b in bins if b.n), default=1.0)
    for row, curve in enumerate(curves):
        parts.append(_draw_histogram(curve, x, base=426 + 46 * row, tallest=tallest))
    return Markup(
        '<svg viewBox="0 0 384 {}" class="plot" role="img" aria-labelledby="reliability-title">'
        '<title id="reliability-title">{}</title>{}</svg>'
    ).format(384 + 46 * len(curves), title, Markup("").join(parts))


def _draw_square_grid(x: _Map, y: _Map, low: float) -> Markup:
    parts = []
    for value in ticks(low, 1.0):
        parts.append(Markup('<line x1="{0:.1f}" x2="{0:.1f}" y1="10" y2="336" class="gl"/>').format(x(value)))
        parts.append(Markup('<line x1="44" x2="370" y1="{0:.1f}" y2="{0:.1f}" class="gl"/>').format(y(value)))
        parts.append(_draw_text(f"{x(value):.1f}", 352, f"{100 * value:.4g}", anchor="middle"))
        parts.append(_draw_text("38", y(value) + 4, f"{100 * value:.4g}", anchor="end"))
    parts.append(Markup('<line x1="44" y1="336" x2="370" y2="10" class="chance"/>'))
    at = low + 0.1 * (1 - low)
    parts.append(_draw_text(f"{x(at) + 8:.1f}", y(at) + 6, "ideal"))
    parts.append(_draw_text("207", 370, "confidence, %", anchor="middle"))
    parts.append(Markup('<text transform="translate(13 173) rotate(-90)" text-anchor="middle">right, %</text>'))
    return Markup("").join(parts)


def _draw_curve(curve: Curve, x: _Map, y: _Map) -> Markup:
    if not curve.drawn:
        return Markup("")
    low = [(b.confidence, b.accuracy_low) for b in curve.drawn]
    high = [(b.confidence, b.accuracy_high) for b in curve.drawn]
    middle = [(x(b.confidence), min(y(b.accuracy), 336)) for b in curve.drawn]
    band = " ".join(f"{x(c):.1f},{min(y(a), 336):.1f}" for c, a in [*low, *reversed(high)])
    line = " ".join(f"{px:.1f},{py:.1f}" for px, py in middle)
    name = _CLASS[curve.side]
    parts = [Markup('<polygon points="{}" class="band-{}"/>').format(band, name)]
    parts.append(Markup('<polyline points="{}" class="curve l-{}"/>').format(line, name))
    return Markup("").join(parts + [mark(curve.side, f"{px:.1f}", f"{py:.1f}", size=3.6) for px, py in middle])


def _label_curves(curves: Sequence[Curve], x: _Map, y: _Map) -> list[Markup]:
    # Where the curves are farthest apart: the upper one is named above to the left, the lower one below to the right.
    titles = {curve.side: curve.title for curve in curves if curve.drawn}
    points = {curve.side: [(x(b.confidence), y(b.accuracy)) for b in curve.drawn] for curve in curves if curve.drawn}
    if len(points) < 2:
        return [_draw_text("364", 326, title, anchor="end", classes="k halo") for title in titles.values()]
    pairs = [(p, min(points["out"], key=lambda q: abs(q[0] - p[0]))) for p in points["in"]]
    p, q = max(pairs, key=lambda pair: abs(pair[0][1] - pair[1][1]))
    above: Side = "in" if p[1] <= q[1] else "out"
    upper, (lower,) = titles.pop(above), titles.values()
    (ux, uy), (lx, ly) = (p, q) if above == "in" else (q, p)
    at_top = uy < 36  # no room above: below the curve to the right instead
    wide, low_x = _BOLD * len(upper), min(lx + 9, 374 - _BOLD * len(lower))
    up_x, up_y = (min(ux + 5, 374 - wide), uy + 20) if at_top else (max(ux - 9, 48 + wide), uy - 9)
    first = _draw_text(f"{up_x:.1f}", up_y, upper, anchor="start" if at_top else "end", classes="k halo")
    return [first, _draw_text(f"{low_x:.1f}", min(max(ly + 17, up_y + 15), 328), lower, classes="k halo")]


def _draw_histogram(curve: Curve, x: _Map, *, base: float, tallest: float) -> Markup:
    bins: Sequence[ConfidenceBin] = curve.calibration.bins
    total = sum(b.n for b in bins)
    parts = [Markup('<line x1="44" x2="370" y1="{0}" y2="{0}" class="gl"/>').format(base)]
    for b in (b for b in bins if b.n and x(b.high) > 44):
        left, height = max(x(b.low), 44.0), 26 * b.n / total / tallest
        place = (left + 1, base - height, x(b.high) - left - 2, height, _CLASS[curve.side])
        parts.append(Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" class="{}"/>').format(*place))
    return Markup("").join([*parts, _draw_text("46", base - 30, f"share of answers, {curve.title}", classes="halo")])


_ABOVE, _BELOW, _HEIGHT = 10, 20, 30
_MARKS = {  # one element each: a table may have a thousand rows
    "inn": Markup('<circle cx="{}" cy="{}" r="5" class="inn"/>'),
    "out": Markup('<rect x="{}" y="{}" width="9" height="9" class="out dia"/>'),
}


def dumbbell(inside: Estimate | None, outside: Estimate | None, scale: LinearScale) -> Markup:
    """One row of a column of charts: each side with its interval, and a line between them.

    Args:
        inside: Estimate in context; None, or nan, draws no mark.
        outside: Estimate out of context, likewise.
        scale: LinearScale of the column.

    >>> dumbbell(None, Estimate(0.5, n=9, method=""), LinearScale(low=0, high=1)).count('class="out dia"')
    1
    """
    ends = [e for e in (inside, outside) if e is not None and not format_numbers.is_undefined(e)]
    parts = []
    if len(ends) == 2:
        line = Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="conn"/>')
        parts.append(line.format(scale.at(ends[1]), scale.at(ends[0]), _BELOW, _ABOVE))
    for estimate, name, y in ((inside, "inn", _ABOVE), (outside, "out", _BELOW)):
        if estimate is not None and not format_numbers.is_undefined(estimate):
            parts.append(whisker(scale, estimate, name, y, 2.5))
            parts.append(_MARKS[name].format(scale.at(estimate), y if name == "inn" else y - 4.5))
    return strip(_HEIGHT, parts)


def _draw_line(x1: str, x2: str, y: float, classes: str) -> Markup:
    return Markup('<line x1="{0}" x2="{1}" y1="{2}" y2="{2}" class="{3}"/>').format(x1, x2, y, classes)


def _draw_text(x: str, y: float, words: str, *, anchor: str = "start", classes: str = "", dx: int = 0) -> Markup:
    name = Markup(' class="{}"').format(classes) if classes else ""
    shift = Markup(' dx="{}"').format(dx) if dx else ""
    return Markup('<text x="{}" y="{:.4g}" text-anchor="{}"{}{}>{}</text>').format(x, y, anchor, name, shift, words)
