"""The learning curves of a collection as charts: what was measured, the fitted curve, and where it leads."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from oochub.report import format_numbers, svg, wording
from oochub.report.collection import CellGain, Collection

_CHARTS = 6
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 366.0, 14.0, 190.0
_STEPS = 40
_ROOM = 0.03  # of accuracy above and below
_CLASS = {"in": "inn", "out": "out"}


def draw_learning_curves(collection: Collection) -> list[Markup]:
    """A chart for each of the first six cells that have a curve, all on one scale of accuracy.

    Args:
        collection: Which rows to collect.
    """
    cells = [cell for cell in collection.cells if _has_curve(cell)][:_CHARTS]
    if not cells:
        return []
    ends = [end for cell in cells for end in _list_ends(cell)]
    low, high = max(min(ends) - _ROOM, 0.0), min(max(ends) + _ROOM, 1.0)
    return [_draw(cell, low, high, number) for number, cell in enumerate(cells)]


def _has_curve(cell: CellGain) -> bool:
    has_fit = cell.level is not None and format_numbers.has_interval(cell.gain)
    is_known = not any(format_numbers.is_undefined(point.accuracy) for point in cell.curve)
    return bool(cell.curve) and is_known and has_fit and 0 < cell.curve[0].rows < cell.rows


def _list_ends(cell: CellGain) -> list[float]:
    now = cell.predict(cell.rows)
    ends = [now + float(each) for each in (cell.gain, cell.gain.low, cell.gain.high)]
    return [point.accuracy for point in cell.curve] + [now, *(min(max(end, 0.0), 1.0) for end in ends)]


def _draw(cell: CellGain, low: float, high: float, number: int) -> Markup:
    first, last = cell.curve[0].rows, float(cell.rows + cell.more)

    def x(rows: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * math.log(rows / first) / math.log(last / first)

    def y(accuracy: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * (min(max(accuracy, low), high) - low) / (high - low)

    name = _CLASS[cell.side]
    parts = [Markup("")]
    for tick in svg.ticks(low, high, most=5):
        parts.append(
            Markup('<line x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}" class="gl"/>').format(_LEFT, _RIGHT, y(tick))
        )
        parts.append(_write(_LEFT - 6, y(tick) + 4, f"{100 * tick:.4g}", "end"))
    for rows in _choose_ticks(first, float(cell.rows), last):
        parts.append(_write(x(rows), _BOTTOM + 16, format_numbers.count(round(rows)), "middle"))
    parts.append(_trace([(x(n), y(cell.predict(n))) for n in _spread(first, cell.rows)], f"curve l-{name}"))
    parts.append(_trace([(x(n), y(cell.predict(n))) for n in _spread(cell.rows, last)], "curve chance"))
    now, gain = cell.predict(cell.rows), cell.gain
    parts.append(
        Markup('<line x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}" class="l-{3}" stroke-width="2"/>').format(
            _RIGHT, y(now + gain.low), y(now + gain.high), name
        )
    )
    parts += [svg.mark(cell.side, f"{x(point.rows):.1f}", f"{y(point.accuracy):.1f}", size=3.6) for point in cell.curve]
    parts.append(svg.mark(cell.side, f"{_RIGHT}", f"{y(now + gain):.1f}", size=4, hollow=True))
    parts.append(_write((_LEFT + _RIGHT) / 2, _BOTTOM + 34, "rows of the cell", "middle"))
    title = f"{wording.name(cell.name, 60)}: {format_numbers.points(gain)} points with {cell.more} more rows"
    chart = Markup(
        '<svg viewBox="0 0 384 230" class="plot" role="img" aria-labelledby="{0}"><title id="{0}">{1}</title>{2}</svg>'
    ).format(f"curve-{number}", title, Markup("").join(parts))
    return Markup("<figure><figcaption>{}</figcaption>{}</figure>").format(wording.name(cell.name, 60), chart)


def _spread(first: float, last: float) -> list[float]:
    return [first * (last / first) ** (step / _STEPS) for step in range(_STEPS + 1)]


def _choose_ticks(first: float, now: float, last: float) -> list[float]:
    """Numbers of rows on the axis: the fewest, those now, and those with the additional ones, if they do not touch."""
    width = math.log(last / first)
    return [n for n in (first, now, last) if n == now or abs(math.log(n / now)) > 0.15 * width]


def _trace(points: Sequence[tuple[float, float]], classes: str) -> Markup:
    line = " ".join(f"{across:.1f},{up:.1f}" for across, up in points)
    return Markup('<polyline points="{}" class="{}"/>').format(line, classes)


def _write(x: float, y: float, words: str, anchor: str) -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(x, y, anchor, words)
