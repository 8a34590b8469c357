"""How a set of pictures is drawn: a color by its shift, a dash of its own, so that gray paper tells them apart too."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from oochub.evaluation.set_parts import SetPart
from oochub.figures._style import INK, OUT
from oochub.report import numbers, theme, wording

COLORS: Mapping[str, str] = {"none": theme.LIGHT["inn"], "covariate": OUT, "semantic": INK}
MARKERS: Mapping[str, str] = {"none": theme.MARKERS["in"], "covariate": theme.MARKERS["out"], "semantic": "s"}
SHIFTS: Mapping[str, str] = {"none": "in distribution", "covariate": "covariate shift", "semantic": "semantic shift"}
_DASHES: Mapping[str, Sequence[Any]] = {
    "none": ("-", (0, (9, 1.5))),
    "covariate": ((0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (5, 1.5, 1, 1.5, 1, 1.5))),
    "semantic": ((0, (1, 1)), (0, (1, 2.5)), (0, (2, 2))),
}


def line_styles(parts: Sequence[SetPart]) -> list[dict[str, Any]]:
    """A color, dash and width for each part; parts of one shift differ by their dash, wrong answers are thin."""
    seen: Counter[str] = Counter()
    of_set: dict[tuple[str, str], Any] = {}
    styles = []
    for part in parts:
        key = (part.scored.name, part.shift)
        if key not in of_set:
            of_set[key] = _DASHES[part.shift][seen[part.shift] % len(_DASHES[part.shift])]
            seen[part.shift] += 1
        width = 1.0 if part.correct is False else 2.0
        styles.append({"color": COLORS[part.shift], "linestyle": of_set[key], "linewidth": width})
    return styles


def part_label(part: SetPart) -> str:
    """The set in the legend, with its shift and its rows: "imagenet_ood: semantic shift, n = 960"."""
    shift = "" if part.name != part.scored.name and part.correct is None else f"{SHIFTS[part.shift]}, "
    return f"{wording.name(part.name)}: {shift}n = {numbers.count(int(part.rows.sum()))}"


def detector_words(key: str) -> str:
    """A detector's key in print: "max logit", "odin (epsilon=0.0014)"."""
    name, _, options = key.partition(":")
    return wording.words(name) + (f" ({wording.name(options)})" if options else "")
