"""Both sides of a comparison in one row of a table: a circle in context above a diamond out of it."""

from markupsafe import Markup

from oochub.report import numbers, svg
from oochub.stats.estimate import Estimate

_ABOVE, _BELOW, _HEIGHT = 10, 20, 30
_MARKS = {  # one element each: a table may have a thousand rows
    "inn": Markup('<circle cx="{}" cy="{}" r="5" class="inn"/>'),
    "out": Markup('<rect x="{}" y="{}" width="9" height="9" class="out dia"/>'),
}


def dumbbell(inside: Estimate | None, outside: Estimate | None, scale: svg.Scale) -> Markup:
    """One row of a column of charts: each side with its interval, and a line between them.

    Args:
        inside: In context; None, or nan, draws no mark.
        outside: Out of context, likewise.
        scale: Of the column.

    >>> dumbbell(None, Estimate(0.5, n=9, method=""), svg.Scale(low=0, high=1)).count('class="out dia"')
    1
    """
    ends = [e for e in (inside, outside) if e is not None and not numbers.is_undefined(e)]
    parts = []
    if len(ends) == 2:
        line = Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="conn"/>')
        parts.append(line.format(scale.at(ends[1]), scale.at(ends[0]), _BELOW, _ABOVE))
    for estimate, name, y in ((inside, "inn", _ABOVE), (outside, "out", _BELOW)):
        if estimate is not None and not numbers.is_undefined(estimate):
            parts.append(svg.whisker(scale, estimate, name, y, 2.5))
            parts.append(_MARKS[name].format(scale.at(estimate), y if name == "inn" else y - 4.5))
    return svg.strip(_HEIGHT, parts)
