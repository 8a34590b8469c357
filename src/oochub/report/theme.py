"""Colors, marks and order that every chart shares: one color has one meaning, each with a second carrier."""

from collections.abc import Iterable
from types import MappingProxyType
from typing import Literal

_OVER_PICTURES = {"truebox": "#ffffff", "saidbox": "#ffe14d", "halo": "#000000", "boxkey": "#59636e"}

LIGHT = MappingProxyType(
    {
        "bg": "#ffffff",
        "surface": "#f5f6f8",
        "ink": "#14181d",
        "ink2": "#4a5460",
        "rule": "#d3d8de",
        "grid": "#e6e9ed",
        "link": "#0b57a4",
        "inn": "#0f5296",
        "out": "#d95f0e",
        "ood": "#7a3ea8",
        "wrong": "#8a6100",
        "h0": "#fbf1f2",
        "h1": "#f3d9dd",
        "h2": "#e6b6bf",
        "h3": "#d28c9b",
        "h4": "#a84d65",
        "h5": "#8a3150",
        "h6": "#661434",
        "hstrong": "#ffffff",
        **_OVER_PICTURES,
    }
)
"""Colors on paper and light screens, by the name of their CSS custom property."""

DARK = MappingProxyType(
    {
        "bg": "#11151a",
        "surface": "#1a2027",
        "ink": "#e9ecf0",
        "ink2": "#aab4bf",
        "rule": "#3a434d",
        "grid": "#272f37",
        "link": "#8cc2ff",
        "inn": "#8cc8ff",
        "out": "#f0842c",
        "ood": "#c79bf0",
        "wrong": "#e3b341",
        "h0": "#241a1f",
        "h1": "#3a2029",
        "h2": "#572a38",
        "h3": "#7b3a4c",
        "h4": "#c06f81",
        "h5": "#dc90a0",
        "h6": "#f6c3cb",
        "hstrong": "#14181d",
        **_OVER_PICTURES,
    }
)
"""The same names on dark screens."""

_LIGHT_VALUES = ("#0b62a4", "#c2410c", "#0f766e", "#9333ea", "#a16207", "#be185d", "#4d7c0f", "#475569")
_DARK_VALUES = ("#6cb6ff", "#ff9b66", "#4fd1c5", "#c79bff", "#e3b341", "#ff8ac0", "#a3d977", "#a8b3c4")
VALUES = MappingProxyType(
    {
        "light": {f"v{k}": color for k, color in enumerate(_LIGHT_VALUES)} | {"vrest": "#6b7280", "vother": "#d5d9df"},
        "dark": {f"v{k}": color for k, color in enumerate(_DARK_VALUES)} | {"vrest": "#8b949e", "vother": "#3a4149"},
    }
)
"""Colors of the values of a field on the map of rows, of its other values, and of the rows that are not selected."""

STATES = MappingProxyType({"pass": "#1a7f37", "fail": "#c2202c", "undecided": "#57606a", "label": "#24292f"})
"""Colors of a badge."""

SHADES = ("#14181d", "#39424c", "#5f6a76", "#8a949e", "#b3bac1")
"""Grays of lines that are ordered, from dark to light."""

OUTLINES = MappingProxyType({"context": "#ee9cc7", "object": "#f0e442"})
"""What is outlined in images: two colors that the color-blind tell apart (yellow and a lighter purple of Okabe and
Ito), rare in skies, seas, roads and grass. Not those of the charts, which mean in and out of context."""

MARKERS = MappingProxyType({"in": "o", "out": "D"})
"""matplotlib markers: a circle is in context, a diamond is out of context, as in the page's SVG."""

GOALS = MappingProxyType({"auroc_new_class": "ood", "auroc_failure": "wrong"})
"""Color of each goal of detection; they never meet the two sides of a comparison in one chart."""

GOAL_MARKERS = MappingProxyType({"auroc_new_class": "s", "auroc_failure": "^"})
"""matplotlib markers: a square is new classes, a triangle failures, as in the page's SVG."""

GOAL_WORDS = MappingProxyType({"auroc_new_class": "new classes", "auroc_failure": "failures"})
"""The words beside these marks."""

ROLES = ("all", "in", "out", "hard_positive", "hard_negative", "split")
"""Order of the slices in every table and chart."""

SIDES: tuple[Literal["in", "out"], ...] = ("in", "out")
"""Order of the sides in every table and chart."""

BIN_FROM = 20
"""Bins of confidence with fewer answers are not drawn: their Wilson interval is wider than a quarter of the axis."""

HEAT_FROM = 10
"""Examples of a cell from which it gets heat; the number of fewer is printed alone."""
_HEAT_WIDTHS = (0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15)
_HEAT_STEPS = 7


def css_variables(*, has_values: bool = False) -> str:
    """The palette as CSS custom properties: light, dark screens, and light again for print from a dark browser.

    Args:
        has_values: Whether `VALUES` are among them.
    """
    tables = (LIGHT | VALUES["light"], DARK | VALUES["dark"]) if has_values else (LIGHT, DARK)
    light, dark = (";".join(f"--{name}:{color}" for name, color in table.items()) for table in tables)
    return (
        f":root{{color-scheme:light dark;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
        "@media print{:root{color-scheme:light}}\n"
    )


def heat_width(errors: Iterable[float]) -> float:
    """The width of a heat step for a table: seven from 0 hold its largest error rate, nan apart.

    No step is narrower than one percent, so that small differences of small errors look small.

    >>> heat_width([0.3, 0.55]), heat_width([0.004, float("nan")]), heat_width([1.0])
    (0.08, 0.01, 0.15)
    """
    largest = max((error for error in errors if error == error), default=0.0)
    return next(width for width in _HEAT_WIDTHS if _HEAT_STEPS * width >= min(largest, 1.0))


def heat_step(error: float, width: float) -> int:
    """The heat step, 0 to 6, of an error rate in [0, 1] where each step is that wide, see `heat_width`.

    >>> heat_step(0.079, 0.08), heat_step(0.08, 0.08), heat_step(0.7, 0.1)
    (0, 1, 6)
    """
    return min(int(error / width + 1e-9), _HEAT_STEPS - 1)


def heat_ends(width: float) -> list[str]:
    """The percent at which each heat step begins, and at which the last one ends.

    >>> heat_ends(0.15)
    ['0', '15', '30', '45', '60', '75', '90', '100']
    """
    return [f"{100 * min(width * step, 1.0):.0f}" for step in range(_HEAT_STEPS + 1)]
