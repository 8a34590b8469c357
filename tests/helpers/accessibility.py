"""What keeps people from reading the page that a browser shows: faults that axe-core finds, and faint text.

axe-core is one script of Deque Systems, under the MPL 2.0. `make test` fetches it; it is no part of this repository.
"""

import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

AXE = Path(os.environ.get("OOCHUB_AXE") or Path(sys.prefix) / "axe" / "axe_playwright_python" / "axe.min.js")
"""axe-core, of which `OOCHUB_AXE` may name another version."""

LEAST = 4.5
"""The contrast that each text needs, of whatever size: WCAG 2.2, 1.4.3."""

_SHARE = 0.1  # of a line of text: what takes less behind it, as a grid line does, is not what it is read against

# Every piece of text that can be seen: its color, how opaque it is, and the rectangles of its lines on the page, as far
# as what scrolls does not hide them. What is read out alone has one pixel (`.vh`).
_TEXTS = """(() => {
    const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const text = walker.currentNode.textContent.trim(), of = walker.currentNode.parentElement;
        if (!text || ["SCRIPT", "STYLE", "NOSCRIPT", "title"].includes(of.tagName) || of.closest("option, .vh, .skip"))
            continue;
        if (!of.checkVisibility({visibilityProperty: true})) continue;
        const style = getComputedStyle(of), range = document.createRange();
        range.selectNodeContents(walker.currentNode);
        let opacity = of.ownerSVGElement ? Number(style.fillOpacity) : 1, left = 0, right = innerWidth, top = -1e6,
            bottom = 1e6;
        for (let above = of; above; above = above.parentElement) {
            const its = getComputedStyle(above), box = above.getBoundingClientRect();
            opacity *= Number(its.opacity);
            if (its.overflowX != "visible" && !(above instanceof SVGElement) && above != document.documentElement) {
                left = Math.max(left, box.left), right = Math.min(right, box.right);
                top = Math.max(top, box.top), bottom = Math.min(bottom, box.bottom);
            }
        }
        const lines = [...range.getClientRects()].map(box => [Math.max(box.left, left), Math.min(box.right, right),
            Math.max(box.top, top) + scrollY, Math.min(box.bottom, bottom) + scrollY]);
        found.push({text: text.slice(0, 60), color: of.ownerSVGElement ? style.fill : style.color, opacity, lines});
    }
    return found;
})()"""

# What stands in no text of the page but in its style: marks before and after, and what a field says while it is empty.
_PSEUDO = """(() => {
    const found = [];
    for (const of of document.body.querySelectorAll("*")) for (const part of ["::before", "::after", "::placeholder"]) {
        const style = getComputedStyle(of, part), is = part == "::placeholder" ? of.placeholder : style.content;
        if (!is || ["none", "normal", '""'].includes(is) || !of.checkVisibility() || style.display == "none") continue;
        let opacity = Number(style.opacity), ground = null;
        for (let above = of; above; above = above.parentElement) {
            const its = getComputedStyle(above);
            opacity *= Number(its.opacity);
            if (!ground && !its.backgroundColor.endsWith(", 0)")) ground = its.backgroundColor;
        }
        found.push({text: is, color: style.color, opacity, ground});
    }
    return found;
})()"""

_HIDE = """(() => {
    const rules = ["*,*::before,*::after,*::marker{color:transparent!important}", "text{fill-opacity:0!important}"];
    for (const rule of rules) document.styleSheets[0].insertRule(rule, document.styleSheets[0].cssRules.length);
})()"""


# The texts of charts as the outermost SVG they are in, their words and rectangle, without the space above letters.
_LABELS = """[...document.querySelectorAll("svg text")].filter(text => text.checkVisibility()).map(text => {
    let svg = text; while (svg.parentElement.closest("svg")) svg = svg.parentElement.closest("svg");
    const box = text.getBoundingClientRect();
    return [[...document.querySelectorAll("svg")].indexOf(svg), text.textContent, box.left, box.right, box.top + 3,
        box.bottom - 3]
}).filter(label => label[3] > label[2])"""


class FaintText(NamedTuple):
    """A text whose contrast is too low.

    Attributes:
        text: Its first words.
        contrast: With the worst color behind it.
        color: Of the text.
        behind: That color.
    """

    text: str
    contrast: float
    color: tuple[int, ...]
    behind: tuple[int, ...]


def axe_faults(browser, *, impacts=("serious", "critical")):
    """What axe-core says of the page: the rule, how bad it is, and the HTML of what breaks it."""
    browser.evaluate(AXE.read_text(encoding="utf-8") + "; undefined")
    found = json.loads(browser.evaluate("axe.run(document).then(found => JSON.stringify(found.violations))", wait=True))
    return [
        (fault["id"], fault["impact"], [node["html"][:200] for node in fault["nodes"]])
        for fault in found
        if fault["impact"] in impacts
    ]


def faint_texts(browser):
    """The texts of the page, HTML and SVG, with a contrast below 4.5 to what is behind them, and how many there are.

    Of each line of text the color is that of its style; what is behind it are the pixels of the page without any text:
    each color that takes a tenth of the line. Behind what the style says, as the word in an empty field, is the nearest
    ground. All that unfolds is open then, and the text stays hidden.
    """
    browser.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    texts, styled = browser.evaluate(_TEXTS), browser.evaluate(_PSEUDO)
    browser.evaluate(_HIDE)
    red, green, blue = np.moveaxis(browser.screenshot().astype(np.uint32), -1, 0)
    ground = red << 16 | green << 8 | blue  # numbers sort ten times as fast as rows of three
    faint, seen = [], len(styled)
    for each in styled:
        (color, opacity), (behind, _) = _rgba(each["color"]), _rgba(each["ground"] or "rgb(255, 255, 255)")
        faint += _faint(each["text"], color, opacity * each["opacity"], behind[None])
    for each in texts:
        color, opacity = _rgba(each["color"])
        for left, right, top, bottom in each["lines"]:
            x, y = (slice(round(low), round(high)) for low, high in ((left, right), (top, bottom)))
            pixels = ground[y, x].ravel()
            if not len(pixels) or right - left < 2:
                continue
            seen += 1
            colors, counts = np.unique(pixels, return_counts=True)
            colors = colors[counts >= min(_SHARE * len(pixels), counts.max())]
            behind = np.stack([colors >> 16, colors >> 8 & 255, colors & 255], axis=1)
            faint += _faint(each["text"], color, opacity * each["opacity"], behind)
    return sorted(set(faint), key=lambda text: text.contrast), seen


def _faint(text, color, opacity, behind):
    """One fault where the worst of the colors behind (k, 3) is too near."""
    contrasts = _contrast(behind + opacity * (color - behind), behind)
    worst = int(contrasts.argmin())
    if contrasts[worst] >= LEAST:
        return []
    return [FaintText(text, round(float(contrasts[worst]), 2), tuple(map(int, color)), tuple(map(int, behind[worst])))]


def crowded_labels(browser):
    """Labels of charts that meet each other, or leave the window; the words of each."""
    labels = browser.evaluate(_LABELS)
    width = browser.evaluate("innerWidth")
    faults = [(words,) for _, words, left, right, *_ in labels if left < -1 or right > width + 1]
    for i, (chart, words, *box) in enumerate(labels):
        for other, more, *its in labels[i + 1 :]:
            apart = box[1] <= its[0] + 1 or its[1] <= box[0] + 1 or box[3] <= its[2] or its[3] <= box[2]
            if chart == other and not apart:
                faults.append((words, more))
    return faults


def broken_pictures(browser):
    """How many images of the page are none."""
    return browser.evaluate("[...document.images].filter(each => each.complete && !each.naturalWidth).length")


def _rgba(color):
    """Of what a style says when it is computed: "rgb(1, 2, 3)", "rgba(1, 2, 3, 0.5)"."""
    numbers = [float(each) for each in color[color.index("(") + 1 : -1].split(",")]
    return np.array(numbers[:3]), numbers[3] if len(numbers) == 4 else 1.0


def _contrast(first, second):
    """By the definition of relative luminance of WCAG 2.2, row by row."""
    lows, highs = np.sort([_luminance(first), _luminance(second)], axis=0)
    return (highs + 0.05) / (lows + 0.05)


def _luminance(color):
    part = color / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]
