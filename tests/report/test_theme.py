"""The palette: enough contrast in both themes, one table for the page's CSS and the plots."""

import re

import pytest
import reports

from oochub.report import theme
from oochub.report.page import render_page


def _luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(a, b):
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_contrast_of_the_palette(palette):
    """WCAG 2.2, 1.4.3 and 1.4.11: text 4.5 to 1, marks 3 to 1; formula of its definition of relative luminance."""
    assert _contrast("#000000", "#ffffff") == pytest.approx(21)
    for text in ("ink", "ink2", "link"):
        assert min(_contrast(palette[text], palette[below]) for below in ("bg", "surface")) >= 5
    assert min(_contrast(palette[side], palette["bg"]) for side in ("inn", "out", "ood", "wrong")) >= 3
    steps = [_contrast(palette["ink" if i < 4 else "hstrong"], palette[f"h{i}"]) for i in range(7)]
    assert min(steps) >= 4.5
    luminance = [_luminance(palette[f"h{i}"]) for i in range(7)]
    assert luminance == sorted(luminance, reverse=palette is theme.LIGHT)


@pytest.mark.parametrize(
    ("largest", "width", "step", "end"),
    [(0.0, 0.01, 0, 7), (0.004, 0.01, 0, 7), (0.07, 0.01, 6, 7), (0.071, 0.02, 3, 14), (0.3, 0.05, 6, 35),
     (0.56, 0.08, 6, 56), (0.561, 0.1, 5, 70), (0.701, 0.15, 4, 100), (1.0, 0.15, 6, 100)],
)  # fmt: skip
def test_heat_spans_the_table(largest, width, step, end):
    """By hand: the narrowest of 1, 2, 3, 5, 8, 10 and 15% of which seven from 0 hold the largest cell, and its step."""
    assert theme.heat_width([0.0, largest, float("nan")]) == width
    assert theme.heat_step(largest, width) == step
    assert theme.heat_ends(width)[-1] == str(end)


def test_style_knows_every_color_it_uses():
    style = re.search(r"<style>(.*?)</style>", render_page(reports.read(reports.nooch_report())), re.S)[1]
    assert set(re.findall(r"var\(--(\w+)\)", style)) <= set(theme.LIGHT)
    assert set(theme.LIGHT) == set(theme.DARK)
    assert not re.findall(r"#[0-9a-f]{3,6}\b", style.partition("*{box-sizing")[2])
