"""Fragments of SVG for the page: positions in percent, colors by class, text escaped; no style attribute anywhere.

A chart that must stretch is an `<svg width="100%">` without `viewBox` whose marks are nested `<svg x="72.4%">`: the
scale stretches with the page, while text, strokes and marks keep their size. Curves need a `viewBox`.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from oochub.records.report_records import ConfidenceBin, Side
from oochub.report import format_numbers
from oochub.report.charts import Curve, GapChart, Look, PlaneChart
from oochub.stats.estimate import Estimate

_LABEL = 29.0  # percent of the head chart that a label may take
_TICK = 12.0  # percent of it that the number at chance takes, of which no tick stands nearer
_BOLD = 7.4  # pixels of a bold letter, on average, in a chart of 384
_CIRCLE, _DIAMOND = Markup('<circle r="{0:.1f}"/>'), Markup('<path d="M0-{1:.1f} {1:.1f} 0 0 {1:.1f}-{1:.1f} 0z"/>')
_LOOKS: Mapping[Look, tuple[str, Markup]] = {
    "in": ("inn", _CIRCLE),
    "out": ("out", _DIAMOND),
    "plain": ("plain", _CIRCLE),
    "shown": ("out", _CIRCLE),
    "bare": ("plain", Markup("")),
    "chance": ("chance", Markup("")),
    "square": ("plain", Markup('<path d="M-4-4h8v8h-8z"/>')),
    "auroc_new_class": ("ood", Markup('<path d="M-4.5-4.5h9v9h-9z"/>')),
    "auroc_failure": ("wrong", Markup('<path d="M0-5.5 5.2 4.5-5.2 4.5z"/>')),
}
"""The CSS class of the color, and the shape around its middle."""


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


def list_ends(estimates: Iterable[Estimate]) -> list[float]:
    """The values of estimates and the ends of their intervals, those that are numbers: what a scale must hold."""
    return [end for e in estimates for end in (e.value, e.low, e.high) if not format_numbers.is_undefined(end)]


def ticks(low: float, high: float, *, most: int = 6) -> list[float]:
    """Round values inside [low, high], steps of 1, 2 or 5 times a power of ten, at most `most` of them.

    >>> ticks(0.5, 1.0), ticks(0.25, 1.0)
    ([0.5, 0.6, 0.7, 0.8, 0.9, 1.0], [0.4, 0.6, 0.8, 1.0])
    """
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(s * power for s in (1, 2, 5, 10, 20) if (high - low) / (s * power) <= most - 1 + 1e-9)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def mark(look: Look, x: str, y: str | float, *, size: float = 5.5, hollow: bool = False) -> Markup:
    """The mark of a look around a point, filled or hollow: a circle is in context, a diamond out of context."""
    name, shape = _LOOKS[look]
    drawn = shape.format(size, 1.28 * size)
    return Markup('<svg x="{}" y="{}" class="{}">{}</svg>').format(x, y, name + (" hollow" if hollow else ""), drawn)


def icon(look: Look) -> Markup:
    """The mark of a look as a small inline image for heads and keys; the words stand beside it."""
    inner = mark(look, "7", 7, size=4.5)
    return Markup('<svg class="ic" width="14" height="14" aria-hidden="true">{}</svg>').format(inner)


def head(chart: GapChart, gap: str) -> Markup:
    """The head chart: one axis from chance to 1, both marks with their intervals, the gap above the bar.

    The left end is chance, unless a number lies below it. A side without a value has no mark.

    Args:
        chart: What to draw; both marks are hollow where the question is not settled.
        gap: The gap in print.
    """
    sides = chart.sides
    ends = [end for e in sides.values() for end in (e, e.low) if not format_numbers.is_undefined(end)]
    lowest = min([*ends, *([] if format_numbers.is_undefined(chart.chance) else [chart.chance])], default=0.0)
    low = lowest if lowest == chart.chance else max(0.0, math.floor(lowest * 10) / 10)
    scale = LinearScale(low=low if low < 1 else 0.0, high=1.0, width=86.0)  # of one class even a guess is right
    parts = [_draw_axis(scale, chart), *_head_labels(scale, chart)]
    half = 1.7 * len(gap)  # percent of the narrowest chart that the gap takes to either side
    middle = [min(max(sum(map(scale.percent, sides.values())) / 2, half), 100 - half)] if len(sides) == 2 else []
    parts += [_draw_line(scale.at(min(sides.values())), scale.at(max(sides.values())), 64, "gapbar") for _ in middle]
    parts += [whisker(scale, e, side, 64, 3) for side, e in sides.items()]
    parts += [mark(side, scale.at(e), 64, size=9, hollow=not chart.is_settled) for side, e in sides.items()]
    parts += [draw_text(f"{at:.2f}%", 49, gap, anchor="middle", classes="k gap") for at in middle]
    return strip(106, parts)


def _head_labels(scale: LinearScale, chart: GapChart) -> list[Markup]:
    # Outward: the left label ends at its mark, the right one begins there. In the narrowest chart, 288 px, a label
    # takes 29% of the width, so near an edge it turns inward where the other side leaves room, else it is pushed in.
    sides = chart.sides
    order = sorted(sides, key=lambda side: (sides[side].value, side == "in"))
    at = [scale.percent(sides[side]) for side in order]
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
            draw_text(spot, 15, format_numbers.quantity(sides[side], chart.unit), anchor=anchor, classes="k big")
        )
        labels.append(draw_text(spot, 30, chart.titles[side], anchor=anchor, dx=sign * 12))
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
        parts.append(draw_text(x, 84, f"{format_numbers.SCALES.get(chart.unit, 1) * value:.3g}", anchor=anchor))
    for value, word in (named | {1.0: "perfect"}).items():
        parts.append(draw_text(scale.at(value), 100, word, anchor="start" if scale.percent(value) < 8 else "middle"))
    return Markup("").join(parts)


def row(
    scale: LinearScale,
    marks: Mapping[Look, Estimate],
    *,
    line: float = math.nan,
    line_class: str = "chance",
    most: int = 6,
    is_bar: bool = False,
) -> Markup:
    """One row of a column of charts: grid lines, and each number with its interval and mark, below each other.

    Args:
        scale: LinearScale of the column.
        marks: The numbers by their looks; an undefined one is left out.
        line: Value at which a line stands, such as chance; nan draws none.
        line_class: CSS class of that line.
        most: Grid lines at most.
        is_bar: Whether a bar from zero is drawn to each; on a scale that begins below 0 there is none.
    """
    parts = [grid(scale, most)]
    if not format_numbers.is_undefined(line):
        at = scale.at(line)
        parts.append(Markup('<line x1="{0}" x2="{0}" y1="0" y2="100%" class="{1}"/>').format(at, line_class))
    for number, (look, estimate) in enumerate(marks.items()):
        if not format_numbers.is_undefined(estimate):
            x, y, name = scale.at(estimate), 14 if len(marks) == 1 else 11 + 14 * number, _LOOKS[look][0]
            if is_bar and scale.low == 0:
                parts.append(Markup('<rect x="0" y="9" width="{}" height="10" class="bar b-{}"/>').format(x, name))
            parts.append(whisker(scale, estimate, look, y, 2))
            parts.append(mark(look, x, y, size=4.5) if look != "bare" else Markup(""))
    return strip(28 if len(marks) == 1 else 8 + 14 * len(marks), parts)


def range_bar(scale: LinearScale, low: float, high: float) -> Markup:
    """One row of a column of charts: a bar from one value to another; what stands beside it says the same."""
    start, width = scale.at(low), scale.percent(high) - scale.percent(low)
    bar = Markup('<rect x="{}" y="9" width="{:.2f}%" height="10" class="bar b-out"/>').format(start, width)
    return strip(28, [grid(scale), bar])


def strip(height: int, parts: Sequence[Markup]) -> Markup:
    """A chart as wide as its place, so many pixels high; what stands beside it says the same in words."""
    frame = Markup('<svg width="100%" height="{}" aria-hidden="true" focusable="false">{}</svg>')
    return frame.format(height, Markup("").join(parts))


def grid(scale: LinearScale, most: int = 6) -> Markup:
    """Vertical lines at the ticks of a scale, at most `most` of them."""
    line = Markup('<line x1="{0}" x2="{0}" y1="0" y2="100%" class="gl"/>')
    return Markup("").join(line.format(scale.at(tick)) for tick in ticks(scale.low, scale.high, most=most))


def whisker(scale: LinearScale, estimate: Estimate, look: Look, y: float, width: float) -> Markup:
    """The interval of an estimate as a line; nothing where it has none.

    Args:
        scale: LinearScale of the chart.
        estimate: Estimate whose bounds are drawn.
        look: Look whose color it has.
        y: Pixels from above.
        width: Width of the line, in pixels.
    """
    if format_numbers.is_undefined(estimate) or not format_numbers.has_interval(estimate):
        return Markup("")
    return Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="l-{}" stroke-width="{}"/>').format(
        scale.at(estimate.low), scale.at(estimate.high), y, y, _LOOKS[look][0], width
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
        parts.append(draw_text(scale.at(tick), 12, words(tick), anchor=anchor, classes=far))
    return strip(16, parts)


class Frame(NamedTuple):
    """The place of a chart's axes in its view.

    Attributes:
        left: Left end of the horizontal axis.
        top: Upper end of the vertical axis.
        right: Right end of the horizontal axis.
        bottom: Lower end of the vertical axis.
        width: Width of the view.
        height: Height of the view.
        beside: Place of the title of the vertical axis, from the left.
        below: Place of the title of the horizontal axis, from the bottom of the axes down.
        has_columns: Whether grid lines stand at the ticks of the horizontal axis.
    """

    left: float
    top: float
    right: float
    bottom: float
    width: int = 384
    height: int = 384
    beside: int = 13
    below: int = 34
    has_columns: bool = True

    def place(self, chart: PlaneChart, x: float, y: float) -> tuple[float, float]:
        """The place of a point; one above or below the axes stands at their end."""
        across = (x - chart.x.low) / (chart.x.high - chart.x.low)
        up = min(max((y - chart.y.low) / (chart.y.high - chart.y.low), 0.0), 1.0)
        return self.left + (self.right - self.left) * across, self.bottom - (self.bottom - self.top) * up


def plane(chart: PlaneChart, frame: Frame, *, name: str, more: Iterable[Markup] = ()) -> Markup:
    """A chart of two axes: grid, lines with their bands, points with their intervals.

    Args:
        chart: What to draw.
        frame: Where its axes stand.
        name: Tells its ids from those of other charts of the page.
        more: What is drawn over it.
    """
    parts = [_draw_axes(chart, frame)]
    for trace in chart.traces:
        look, points = _LOOKS[trace.look][0], [frame.place(chart, *point) for point in trace.points]
        if trace.look == "chance":
            parts.append(Markup('<polyline points="{}" class="chance"/>').format(_join(points)))
            continue
        ends = [(x, low) for x, low, _ in trace.band] + [(x, high) for x, _, high in reversed(trace.band)]
        if ends:
            band = _join([frame.place(chart, *end) for end in ends])
            parts.append(Markup('<polygon points="{}" class="band-{}"/>').format(band, trace.band_look or look))
        line = "chance" if trace.is_dashed else f"l-{look}"
        parts.append(Markup('<polyline points="{}" class="curve {}"/>').format(_join(points), line))
        if trace.has_marks:
            parts += [mark(trace.look, f"{x:.1f}", f"{y:.1f}", size=3.6) for x, y in points]
    for dot in chart.dots:
        across, up = ([(end, dot.y) for end in dot.x_ends or ()], [(dot.x, end) for end in dot.y_ends or ()])
        for ends in filter(None, (across, up)):
            (x1, y1), (x2, y2) = (frame.place(chart, *end) for end in ends)
            width = Markup(' stroke-width="2"') if dot.is_hollow else ""
            classes = _LOOKS[dot.look][0] + ("" if dot.is_hollow else " thin")
            span = Markup('<line x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}" class="l-{}"{}/>')
            parts.append(span.format(x1, x2, y1, y2, classes, width))
        x, y = frame.place(chart, dot.x, dot.y)
        parts.append(mark(dot.look, f"{x:.1f}", f"{y:.1f}", size=dot.size, hollow=dot.is_hollow))
    return Markup(
        '<svg viewBox="0 0 {0} {1}" class="plot" role="img" aria-labelledby="{2}"><title id="{2}">{3}</title>{4}</svg>'
    ).format(frame.width, frame.height, name, chart.sentence, Markup("").join([*parts, *more]))


def _draw_axes(chart: PlaneChart, frame: Frame) -> Markup:
    left, right, top, bottom = frame.left, frame.right, frame.top, frame.bottom
    parts = []
    for value, text in chart.x.ticks:
        x, _ = frame.place(chart, value, chart.y.low)
        if frame.has_columns:
            parts.append(
                Markup('<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}" class="gl"/>').format(x, top, bottom)
            )
        parts.append(draw_text(f"{x:.1f}", bottom + 16, text, anchor="middle"))
    for value, text in chart.y.ticks:
        _, y = frame.place(chart, chart.x.low, value)
        parts.append(Markup('<line x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}" class="gl"/>').format(left, right, y))
        parts.append(draw_text(f"{left - 6}", y + 4, text, anchor="end"))
    parts.append(draw_text(f"{(left + right) / 2:.1f}", bottom + frame.below, chart.x.title, anchor="middle"))
    turned = Markup('<text transform="translate({} {}) rotate(-90)" text-anchor="middle">{}</text>')
    parts.append(turned.format(frame.beside, (top + bottom) / 2, chart.y.title) if chart.y.title else Markup(""))
    return Markup("").join(parts)


def _join(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def reliability(chart: PlaneChart, curves: Sequence[Curve]) -> Markup:
    """The reliability diagram of both sides on one square, above the histogram of confidence of each.

    Args:
        chart: The lines of the section `confidence`.
        curves: The curves that they are of.
    """
    frame = Frame(44, 10, 370, 336, height=384 + 46 * len(curves))
    low = chart.x.low + 0.1 * (chart.x.high - chart.x.low)  # both axes are alike
    x, y = frame.place(chart, low, low)
    more = [draw_text(f"{x + 8:.1f}", y + 6, "ideal"), *_label_curves(chart, frame)]
    every = [curve.calibration.bins for curve in curves]
    tallest = max((b.n / sum(b.n for b in bins) for bins in every for b in bins if b.n), default=1.0)

    def across(confidence: float) -> float:
        return frame.place(chart, 100 * confidence, chart.y.low)[0]

    for number, curve in enumerate(curves):
        more.append(_draw_histogram(curve, across, base=426 + 46 * number, tallest=tallest))
    return plane(chart, frame, name="reliability-title", more=more)


def _label_curves(chart: PlaneChart, frame: Frame) -> list[Markup]:
    # Where the curves are farthest apart: the upper one is named above to the left, the lower one below to the right.
    sides = {trace.look: trace for trace in chart.traces if trace.has_marks}
    points = {look: [frame.place(chart, *point) for point in trace.points] for look, trace in sides.items()}
    titles = {look: trace.title for look, trace in sides.items()}
    if len(points) < 2:
        return [draw_text("364", 326, title, anchor="end", classes="k halo") for title in titles.values()]
    pairs = [(p, min(points["out"], key=lambda q: abs(q[0] - p[0]))) for p in points["in"]]
    p, q = max(pairs, key=lambda pair: abs(pair[0][1] - pair[1][1]))
    above: Side = "in" if p[1] <= q[1] else "out"
    upper, (lower,) = titles.pop(above), titles.values()
    (ux, uy), (lx, ly) = (p, q) if above == "in" else (q, p)
    at_top = uy < 36  # no room above: below the curve to the right instead
    wide, low_x = _BOLD * len(upper), min(lx + 9, 374 - _BOLD * len(lower))
    up_x, up_y = (min(ux + 5, 374 - wide), uy + 20) if at_top else (max(ux - 9, 48 + wide), uy - 9)
    first = draw_text(f"{up_x:.1f}", up_y, upper, anchor="start" if at_top else "end", classes="k halo")
    return [first, draw_text(f"{low_x:.1f}", min(max(ly + 17, up_y + 15), 328), lower, classes="k halo")]


def _draw_histogram(curve: Curve, x: Callable[[float], float], *, base: float, tallest: float) -> Markup:
    bins: Sequence[ConfidenceBin] = curve.calibration.bins
    total = sum(b.n for b in bins)
    parts = [Markup('<line x1="44" x2="370" y1="{0}" y2="{0}" class="gl"/>').format(base)]
    for b in (b for b in bins if b.n and x(b.high) > 44):
        left, height = max(x(b.low), 44.0), 26 * b.n / total / tallest
        place = (left + 1, base - height, x(b.high) - left - 2, height, _LOOKS[curve.side][0])
        parts.append(Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" class="{}"/>').format(*place))
    return Markup("").join([*parts, draw_text("46", base - 30, f"share of answers, {curve.title}", classes="halo")])


_ABOVE, _BELOW, _HEIGHT = 10, 20, 30
_MARKS: Mapping[Side, Markup] = {  # one element each: a table may have a thousand rows
    "in": Markup('<circle cx="{}" cy="{}" r="5" class="inn"/>'),
    "out": Markup('<rect x="{}" y="{}" width="9" height="9" class="out dia"/>'),
}


def dumbbell(
    inside: Estimate | None, outside: Estimate | None, scale: LinearScale, *, chance: float = math.nan
) -> Markup:
    """One row of a column of charts: each side with its interval, and a line between them.

    Args:
        inside: Estimate in context; None, or nan, draws no mark.
        outside: Estimate out of context, likewise.
        scale: LinearScale of the column.
        chance: Number of guessing, drawn as a line; nan, or one beyond the scale, draws none.

    >>> dumbbell(None, Estimate(0.5, n=9, method=""), LinearScale(low=0, high=1)).count('class="out dia"')
    1
    """
    ends = [e for e in (inside, outside) if e is not None and not format_numbers.is_undefined(e)]
    parts = []
    if scale.low <= chance <= scale.high:
        parts.append(
            Markup('<line x1="{0}" x2="{0}" y1="0" y2="{1}" class="guess"/>').format(scale.at(chance), _HEIGHT)
        )
    if len(ends) == 2:
        line = Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="conn"/>')
        parts.append(line.format(scale.at(ends[1]), scale.at(ends[0]), _BELOW, _ABOVE))
    sides: tuple[tuple[Estimate | None, Side, float], ...] = ((inside, "in", _ABOVE), (outside, "out", _BELOW))
    for estimate, side, y in sides:
        if estimate is not None and not format_numbers.is_undefined(estimate):
            parts.append(whisker(scale, estimate, side, y, 2.5))
            parts.append(_MARKS[side].format(scale.at(estimate), y if side == "in" else y - 4.5))
    return strip(_HEIGHT, parts)


def _draw_line(x1: str, x2: str, y: float, classes: str) -> Markup:
    return Markup('<line x1="{0}" x2="{1}" y1="{2}" y2="{2}" class="{3}"/>').format(x1, x2, y, classes)


def draw_text(x: str, y: float, words: str, *, anchor: str = "start", classes: str = "", dx: int = 0) -> Markup:
    """Words at a place, from there on, up to there, or around it."""
    name = Markup(' class="{}"').format(classes) if classes else ""
    shift = Markup(' dx="{}"').format(dx) if dx else ""
    return Markup('<text x="{}" y="{:.4g}" text-anchor="{}"{}{}>{}</text>').format(x, y, anchor, name, shift, words)
