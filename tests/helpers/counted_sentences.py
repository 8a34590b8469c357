"""Every sentence of a report against plain counts of its rows: one pattern for each, and none without one.

The counts are numpy's and scipy's, of the arrays that were drawn; nothing of the package is asked but the text.
"""

import html
import math
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from drawn_reports import Drawn
from rich.text import Text
from scipy import stats

from oochub.report.report import Report
from oochub.stats.stratified_gap import unpaired_shares

_BLOCK = re.compile(r"<(h1|h2|h3|p|dd|figcaption)\b[^>]*>(.*?)</\1>", re.DOTALL)
_NUMBER = r"[+\u2212]?\d+(?:\.\d+)?"
_NEAR = 0.2
_RULES: list[tuple[re.Pattern[str], Callable[..., Any]]] = []
_SHORT = {
    "N": _NUMBER,
    "K": r"\d+",
    "W": r"\d{1,3}(?:[\u202f ]\d{3})*",
    "SIDE": r"(?:in (?:usual contexts|unusual (?:contexts|ones)|the worst group)|on (?:easy|hard) rows|over all rows)",
    "METRIC": r"(?:accuracy|AUC|Accuracy|Macro F1|ECE|NLL)",
    "GROUP": r"[a-z]+(?:, | in |/)[a-z]+",
    "BRACKET": r"\((?:[^()]|\([^()]*\))*\)",
}  # fmt: skip


def rule(pattern: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Ties a check to a pattern: `<name:KIND>` is a group of that name; the check gives what is wrong, or nothing."""
    pattern = re.sub(r"<(\w+):(\w+)>", lambda m: f"(?P<{m[1]}>{_SHORT[m[2]]})", pattern)

    def tied(check: Callable[..., Any]) -> Callable[..., Any]:
        _RULES.append((re.compile(rf"(?:{pattern})(?=\s|$)"), check))
        return check

    return tied


def texts_of(report: Report) -> list[str]:
    """What the terminal and the page say, without tables and charts, a paragraph each."""
    said = [part.plain for part in report.to_terminal().renderables if isinstance(part, Text)]
    page = report.to_html()
    page = re.sub(r"<svg.*?</svg>", "", page[: page.index('<section id="reproduce"')], flags=re.DOTALL)
    for block in _BLOCK.finditer(page):
        text = " ".join(html.unescape(re.sub("<[^>]*>", " ", block[2])).split())
        said.append(re.sub(r" ([,:;])(?= )", r"\1", text))
    return [text for text in dict.fromkeys(said) if text]


def faults(rows: Drawn, report: Report) -> list[str]:
    """The sentences that are false of the rows, and those that no pattern knows."""
    counts = Counts(rows)
    return [fault for text in texts_of(report) for fault in _faults_of(text, counts)]


def _faults_of(text: str, counts: "Counts") -> Iterator[str]:
    rest = text
    while rest:
        found = [(match, check) for pattern, check in _RULES if (match := pattern.match(rest))]
        if not found:
            yield f"no pattern knows {rest!r} in {text!r}"
            return
        match, check = max(found, key=lambda pair: pair[0].end())
        given = {name: value for name, value in match.groupdict().items() if value is not None}
        try:
            wrong = check(counts, **given)
        except (IndexError, KeyError) as error:  # a row, a side or a group that is not there
            wrong = f"there is no {error}"
        if wrong:
            yield f"{match[0]!r}: {wrong}"
        rest = rest[match.end() :].lstrip()


class Counts:
    """What is true of the rows."""

    def __init__(self, rows: Drawn) -> None:
        self.rows = rows
        self.said = rows.logits.argmax(1)
        self.right = self.said == rows.label
        self.known = rows.label >= 0
        splits = rows.split.tolist()
        self.main = "test" if "test" in splits else splits[-1]
        self.all = self.known & (rows.split == self.main)
        self.binary = len(rows.names) == 2
        marks = [] if rows.challenge is None else rows.challenge[rows.split == self.main]
        is_marked = rows.usual is None or any(mark is not None for mark in marks)
        self.challenge = rows.challenge if is_marked else None  # contexts that are usual for no class mark no row
        self.has_usual = rows.usual is not None and self.challenge is not None
        self.metric = (
            "AUC" if self.binary and not self.has_usual and (self.challenged or not self.grouped) else "accuracy"
        )

    @property
    def challenged(self) -> bool:
        return self.challenge is not None

    @property
    def grouped(self) -> bool:
        return self.rows.group is not None

    @property
    def chance(self) -> float:
        return 0.5 if self.binary else 1 / len(self.rows.names)

    @cached_property
    def sides(self) -> dict[str, np.ndarray]:
        """The rows of each side, by the words of both."""
        if self.challenge is not None:
            words = np.array([str(word) for word in self.challenge])
            easy, hard = self.all & (words == "easy"), self.all & np.char.startswith(words, "hard")
            if self.has_usual:
                return {"in usual contexts": easy, "in unusual contexts": hard, "in unusual ones": hard}
            return {"on easy rows": easy, "on hard rows": hard}
        sides = {"over all rows": self.all}
        if self.rows.group is not None:
            worst = min((self.value(mask) for mask in self.groups(self.all).values()), default=math.nan)
            tied = [mask for mask in self.groups(self.all).values() if self.value(mask) == worst]
            sides["in the worst group"] = tied[0] if tied else np.zeros_like(self.all)
        return sides

    @property
    def pair(self) -> tuple[np.ndarray, np.ndarray]:
        inside, outside = [*self.sides.values(), np.zeros_like(self.all)][:2]
        return inside, outside

    def groups(self, mask: np.ndarray) -> dict[str, np.ndarray]:
        names = self.rows.group if self.rows.group is not None else []
        known = sorted({name for name in names if name is not None})
        every = {name: mask & np.array([each == name for each in names]) for name in known}
        return {name: of for name, of in every.items() if of.any()}

    def accuracy(self, mask: np.ndarray) -> float:
        return float(self.right[mask].mean()) if mask.any() else math.nan

    def value(self, mask: np.ndarray) -> float:
        """The primary metric."""
        if self.metric == "accuracy" or not mask.any():
            return self.accuracy(mask)
        logits, positive = self.rows.logits[mask].astype(np.float64), self.rows.label[mask] == 1
        if positive.all() or not positive.any():
            return math.nan
        score = logits[:, 1] - logits[:, 0]
        ranks = stats.rankdata(score)
        n = positive.sum()
        return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (~positive).sum()))

    def named(self, words: str) -> np.ndarray:
        return self.sides[words]

    def group_named(self, words: str) -> tuple[str, str]:
        """The name of a group that is said as "ant, bay" or "ant in bay"."""
        label, place = re.split(", | in |/", words)
        return f"{label}/{place}", label

    @cached_property
    def gap(self) -> float:
        inside, outside = self.pair
        return self.value(outside) - self.value(inside)

    @cached_property
    def matched(self) -> tuple[float, float]:
        """The gap at equal shares of the classes, as often as out of context, and the share that has a counterpart."""
        inside, outside = self.pair
        if not inside.any() or not outside.any() or self.challenge is None:
            return math.nan, math.nan
        both = [k for k in range(len(self.rows.names)) if (self.rows.label[inside] == k).any() and (self.rows.label[outside] == k).any()]  # fmt: skip  # noqa: E501
        of = [outside & (self.rows.label == k) for k in both]
        n = sum(int(mask.sum()) for mask in of)
        if not n:
            return math.nan, 0.0
        if self.metric == "AUC":
            return self.gap if len(both) == 2 else math.nan, n / int(outside.sum())
        gap = sum(mask.sum() / n * (self.accuracy(mask) - self.accuracy(inside & (self.rows.label == k))) for k, mask in zip(both, of, strict=True))  # fmt: skip  # noqa: E501
        return float(gap), n / int(outside.sum())

    @property
    def judged(self) -> float:
        return self.matched[0] if self.rows.match and not math.isnan(self.matched[0]) else self.gap

    @cached_property
    def drops(self) -> dict[str, tuple[float, bool]]:
        """Each group out of context less its class in context, and whether Holm's test finds it."""
        inside, outside = self.pair
        if self.challenge is None:
            return {}
        found: dict[str, tuple[float, float]] = {}
        of_inside = self.groups(inside)
        for name, mask in self.groups(outside).items():
            label = name.partition("/")[0]
            same = [of for other, of in of_inside.items() if other.partition("/")[0] == label]
            if same:
                base = np.any(same, axis=0)
                table = [[int(self.right[of].sum()), int((~self.right[of]).sum())] for of in (mask, base)]
                p = 1.0
                if self.rows.user is not None:  # its own tests hold it to a loop
                    of = np.concatenate([np.flatnonzero(mask), np.flatnonzero(base)])
                    first = np.arange(len(of)) < mask.sum()
                    p = unpaired_shares(self.right[of], first, cluster=self.rows.user[of])
                    p = 1.0 if math.isnan(p) else p
                elif all(map(sum, zip(*table, strict=True))):
                    p = stats.chi2_contingency(table, correction=True).pvalue
                found[name] = self.accuracy(mask) - self.accuracy(base), p
        order = sorted(found, key=lambda name: found[name][1])
        clear, goes_on = {}, True
        for k, name in enumerate(order):
            goes_on = goes_on and found[name][1] <= 0.05 / (len(order) - k)
            clear[name] = goes_on
        return {name: (found[name][0], clear[name]) for name in found}

    @cached_property
    def clusters(self) -> int | None:
        return None if self.rows.user is None else len(set(self.rows.user[self.known].tolist()))

    def hits(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
        """Of the errors that can tell: which go to a class of the context, and both shares by chance; all errors."""
        rows = self.rows
        if rows.place is None or (rows.counts is None and rows.usual is None):
            return None
        own: dict[str, set[str]] = {}
        if rows.counts is not None:
            for name in rows.names:
                of = {g.partition("/")[2]: k for g, k in rows.counts.items() if g.partition("/")[0] == name}
                own[name] = {place for place, k in of.items() if k and k == max(of.values())}
        else:
            own = {name: set(places) for name, places in (rows.usual or {}).items()}
        mask = self.all & np.array([place is not None for place in rows.place])
        tells, hit, even, answered = [], [], [], []
        for k in np.flatnonzero(mask & ~self.right):
            others = [j for j, name in enumerate(rows.names) if j != rows.label[k] and rows.place[k] in own[name]]
            if 0 < len(others) < len(rows.names) - 1:
                tells.append(k)
                hit.append(self.said[k] in others)
                even.append(len(others) / (len(rows.names) - 1))
                said = self.said[mask]
                answered.append(np.isin(said, others).sum() / (said != rows.label[k]).sum())
        return np.array(hit, bool), np.array(even), np.array(answered), mask & ~self.right


def read(number: str) -> float:
    """A number as it is printed."""
    return float(re.sub(r"\s", "", number.replace("\u2212", "-")))


def rounds(printed: str, value: float) -> bool:
    """Whether a printed number is the value to its last digit."""
    digits = len(printed.partition(".")[2])
    return not math.isnan(value) and abs(read(printed) - value) <= 0.5001 * 10.0**-digits + 1e-6


def differs(printed: str, value: float, by: float = 100.0) -> str:
    """What is wrong where a printed share is not the value; "" where it is."""
    return "" if rounds(printed, by * value) else f"{printed} is {by * value:.6g}"


def first(*wrong: str) -> str:
    """The first thing that is wrong."""
    return next((each for each in wrong if each), "")


def bracket(counts: Counts, text: str, value: float | None = None, by: float = 100.0) -> str:
    """What is wrong with "(95% interval 1.0 to 2.0; reason)": its ends hold the value, its reasons are true."""
    inner = text[1:-1]
    if inner.startswith("no interval"):
        return reasons(counts, inner.partition(": ")[2])
    ends, _, why = inner.partition("; ")
    match = re.match(rf"(?:95% interval )?({_NUMBER}) to ({_NUMBER})", ends)
    if not match:
        return f"no interval in {text!r}"
    low, high = read(match[1]), read(match[2])
    outside = value is not None and not low - 0.06 <= by * value <= high + 0.06
    return f"{by * value:.4g} is outside of {text}" if outside and value is not None else reasons(counts, why)


_REASONS = (
    r"only (?P<fewest>\d+)(?: to (?P<most>\d+))? clusters: the interval may be too narrow",
    r"(?P<unequal>\d+)(?: to \d+)? clusters count as (?P<equal>\d+)(?: to \d+)? of equal size: the interval may be too"
    r" narrow",
    r"one cluster only: nothing is known about differences between clusters",
    r"all rows are on one line: no interval can be estimated",
    r"without one row or cluster all labels or all predictions are equal",
    r"a few values make most of the spread: the interval may be too narrow",
    r"only (?P<few>\d+)(?: to (?P<many>\d+))? rows: the interval may be too narrow",
    r"\S+ in every resample: the bootstrap has no width and says nothing about further rows",
    r"only (?P<ordered>\d+)(?: to \d+)? groups: the (?:lower end is the smallest|upper end is the largest) possible"
    r" value",
    r"one row only: nothing is known about the spread",
    r"too few rows or clusters in group (?P<groups>[\w/, ]+?)(?: and \d+ more)?",
    r"(?:\d+ to )?(?P<ones>\d+) rows of class 1 and (?:\d+ to )?(?P<zeros>\d+) of class 0: .*",
    r"all (?P<n>\d+)(?: to \d+)? rows are of class (?P<label>[01])",
    r"a class lies in one cluster only, or no cluster differs from another: no variance",
    r"a side has (?P<errors>\d+)(?: to \d+)? errors or right answers: the interval may be too narrow",
    r"the weighted rows are equivalent to [\d.]+ unweighted ones, too few for an interval",
    r"too few resamples have a value or differ: no interval",
    r"there are no rows (?P<none>.*?)(?: and none (?P<other>.*))?",
    r"the two sides have no rows with similar values to compare",
    r"no context is named",
    r"no row has a group in group",
    r"all rows of a class win the same share of pairs \(such as equal scores\): no variance",
    r"one side is a statistic over groups of the same rows",
    r"\S+ in every row or cluster: this says nothing about further rows",
    r"\S+ in every pair: this says nothing about further pairs",
    r"(?:\d+ to )?\d+ of \d+ resamples .*",
    r"no errors|no error in a context of some of the other classes|no interval|no such rows",
    r"(?P<left>\d+) of (?P<among>\d+) groups have no (?:value|interval)",
    r"none of (?P<groups_in_all>\d+) groups has a value: .*",
    r"the gap could not be computed",
    r"no values differ within a class|no class has rows both with and against",
    r"too few rows: even the largest gap that they could show has p = [\d.]+(?: to [\d.]+)?",
    r"too few (?:rows|clusters): they are equivalent to [\d.]+ of equal weight, and 10 are needed",
    r"every cluster adds the same to the gap, so its spread cannot be estimated",
)


def reasons(counts: Counts, text: str) -> str:
    """What is wrong with reasons, joined by semicolons."""
    for reason in filter(None, text.rstrip(".").split("; ")):
        match = next((match for pattern in _REASONS if (match := re.fullmatch(pattern, reason))), None)
        if match is None:
            return f"no pattern knows the reason {reason!r}"
        of = match.groupdict()
        n, c = int(counts.known.sum()), counts.clusters
        if of.get("fewest") and not (c and 2 <= int(of["fewest"]) <= int(of["most"] or of["fewest"]) <= min(c, 39)):
            return f"{reason!r}, and there are {c} clusters"
        if of.get("unequal") and not (c and 1 <= int(of["equal"]) < int(of["unequal"]) <= c and int(of["equal"]) < 40):
            return f"{reason!r}, and there are {c} clusters"
        if of.get("few") and not 1 <= int(of["few"]) <= int(of["many"] or of["few"]) <= min(n, 99):
            return f"{reason!r}, and there are {n} rows"
        if reason.startswith("one cluster") and c is None:
            return f"{reason!r}, and there are no clusters"
        if of.get("ones") and int(of["ones"]) > (counts.rows.label == 1).sum():
            return f"{reason!r}, and there are {(counts.rows.label == 1).sum()}"
        if of.get("groups"):
            strangers = set(of["groups"].split(", ")) - set(counts.groups(counts.known))
            if strangers:
                return f"{reason!r} names no groups: {strangers}"
        for side in (of.get("none"), of.get("other")):
            if side and counts.named(side).any():
                return f"{reason!r}, and there are {counts.named(side).sum()}"
    return ""


# The verdict: what the model does.


@rule(
    r"This model has not learned the task\. Its gap therefore tells us nothing\.|This model has not learned the task\."
)
def _(c: Counts) -> str:
    value = c.value(c.pair[0])
    return "" if value <= c.chance + _NEAR * (1 - c.chance) else f"in context it is {value:.3f}, chance {c.chance:.3f}"


def is_beyond_chance(c: Counts, level: float = 0.001) -> bool:
    """Whether independent rows in context tell the model from a guess; their number is all that is asked."""
    inside = c.pair[0]
    if c.clusters is not None or not inside.any():
        return False
    if c.metric == "accuracy":
        return bool(stats.binomtest(int(c.right[inside].sum()), int(inside.sum()), c.chance, alternative="greater").pvalue < level)  # fmt: skip  # noqa: E501
    score, positive = c.rows.logits[inside, 1] - c.rows.logits[inside, 0], c.rows.label[inside] == 1
    if positive.all() or not positive.any() or min(positive.sum(), (~positive).sum()) < 10:
        return False
    return bool(stats.mannwhitneyu(score[positive], score[~positive], alternative="greater").pvalue < level)


@rule(r"There are too few examples <side:SIDE> to tell whether this model has learned the task\.")
def _(c: Counts, side: str) -> str:
    return f"{c.value(c.pair[0]):.3f} of {c.pair[0].sum()} is above chance" if is_beyond_chance(c) else ""


def smallest_out(c: Counts) -> int:
    outside = c.pair[1]
    if c.challenge is None:
        return int(outside.sum())
    words = [c.challenge[k] for k in np.flatnonzero(outside)]
    parts = [words.count(word) for word in ("hard_positive", "hard_negative") if word in words]
    return min(parts, default=len(words))


@rule(
    r"Paired by user: (?P<both>[\d\u202f]+) ha(?:s|ve) rows on both sides"
    r"(?:; (?P<alone>[\d\u202f]+) without a partner counts? unpaired)?\."
    r"|No user has rows on both sides, so nothing is paired\."
)
def _(c: Counts, both: str = "0", alone: str = "0") -> str:
    inside, outside = (set(c.rows.user[mask].tolist()) for mask in c.pair)
    shared = len(inside & outside)
    said = tuple(int(text.replace("\u202f", "")) for text in (both, alone))
    true = (shared, len(inside | outside) - shared if shared else 0)
    return "" if said == true else f"{true[0]} users are on both sides, {true[1]} on one"


@rule(r"There are too few examples <side:SIDE> to tell\.")
def _(c: Counts, side: str) -> str:
    tied = c.challenge is None  # the worst group may be one of several equal ones
    n = min((int(m.sum()) for m in c.groups(c.all).values()), default=0) if tied else smallest_out(c)
    return "" if n < 50 else f"there are {n}"


@rule(r"The gap (?:could not be measured|has no interval), so there is no verdict\.")
def _(c: Counts) -> str:
    return ""


@rule(
    r"This dataset does not define a context, so there is nothing to compare\. "
    r"Add a column named “group” or “challenge” to define one\."
)
def _(c: Counts) -> str:
    if names_contexts(c):
        return "their contexts are named"
    return "" if c.challenge is None and c.rows.group is None else "they do"


def names_contexts(c: Counts) -> bool:
    """Whether a row that is evaluated has a context, and it is known which are usual or frequent."""
    named = (c.rows.usual or c.rows.counts) is not None and c.rows.place is not None
    return named and any(place is not None for place in c.rows.place[c.all])


@rule(
    r"No example is marked as in or out of context, so "
    r"(?:there is nothing to compare\. Contexts that are usual for one class and unusual for another would mark them\."
    r"|<n:W> (?:examples are|example is) not compared by context\. Contexts that are usual for a class mark them\.)"
)
def _(c: Counts, n: str | None = None) -> str:
    if c.challenge is not None or not names_contexts(c):
        return "no context is named" if c.challenge is None else "some are"
    return "" if n is None else differs(n, c.all.sum(), by=1)


def gap_said(c: Counts, gap: str, at: str | None, spread: str | None) -> str:
    clear = [name for name, (drop, is_clear) in c.drops.items() if is_clear and drop < 0]
    if bool(spread) != (bool(c.drops) and not clear):
        return f"clear in {clear} of {list(c.drops)}"
    return differs(gap, c.judged if at else c.gap)


_LEVEL_OF_CHANCE = "(?:At|No better than|Below) chance"


def wrong_level(c: Counts, said: str) -> str:
    """What is wrong with "At chance" and its like: near it on either side, far below, or anywhere below."""
    there, is_below = c.value(c.pair[1]), c.value(c.pair[1]) < c.chance
    is_near = c.chance * (1 - _NEAR) - 1e-9 <= there <= c.chance + _NEAR * (1 - c.chance) + 1e-9
    is_true = is_near if said.startswith("At") else is_below if said.startswith(("No better", "Below")) else True
    return "" if is_true and not (said.startswith("No better") and is_near) else f"it is {there}, chance {c.chance}"


_SIZE = r"The gap is <gap:N> points(?P<at> at equal shares of the classes)?(?P<spread>, and no single group is clearly lower)?\."  # fmt: skip  # noqa: E501


@rule(rf"(?P<level>{_LEVEL_OF_CHANCE} <where:SIDE>, t|T)his model (?:relies on context|does worse <side:SIDE>|does worse there than <than:SIDE>)\. {_SIZE}")  # fmt: skip  # noqa: E501
def _(c: Counts, level: str, gap: str, at: str = "", spread: str = "", where: str = "", **_: str) -> str:
    if read(gap) > -2 + 0.05:
        return f"a gap of {gap} is small"
    return wrong_level(c, level) or gap_said(c, gap, at, spread)


@rule(rf"(?P<level>{_LEVEL_OF_CHANCE} <where:SIDE>, t|T)his model is slightly worse (?:<side:SIDE>|there than <than:SIDE>)\. {_SIZE}")  # fmt: skip  # noqa: E501
def _(c: Counts, level: str, gap: str, at: str = "", spread: str = "", **_: str) -> str:
    is_large = not -2.05 <= read(gap) <= 0
    return f"a gap of {gap} is large" if is_large else wrong_level(c, level) or gap_said(c, gap, at, spread)


@rule(r"Any (?:effect of context|difference) is smaller than 2 points\.")
def _(c: Counts) -> str:
    return "" if abs(c.judged) < 0.02 else f"it is {c.judged}"


@rule(r"This model does better <side:SIDE>\. Check the labels and slices before trusting this\.")
def _(c: Counts, side: str) -> str:
    return "" if c.judged > 0 else f"the gap is {c.judged}"


@rule(r"There is no clear sign that this model (?:relies on context|does worse <side:SIDE>)\. The data are consistent with a gap between <low:N> and <high:N> points\.")  # fmt: skip  # noqa: E501
def _(c: Counts, low: str, high: str, **_: str) -> str:
    return "" if read(low) - 0.06 <= 100 * c.judged <= read(high) + 0.06 else f"the gap is {c.judged}"


# Both sides in words.


@rule(r"It is right <one:N> times in 100 <here:SIDE> and <other:N> times <there:SIDE>\.")
def _(c: Counts, one: str, here: str, other: str, there: str) -> str:
    if min(c.named(here).sum(), c.named(there).sum()) < 20 or (c.clusters or 20) < 20:
        return "they are too few for times in 100"
    exact = [n in ("0", "100") and not v in (0, 1) for n, v in ((one, c.accuracy(c.named(here))), (other, c.accuracy(c.named(there))))]  # fmt: skip  # noqa: E501, E713
    return first("all, or none, of them is not true" if any(exact) else "", differs(one, c.accuracy(c.named(here))), differs(other, c.accuracy(c.named(there))))  # fmt: skip  # noqa: E501


@rule(
    r"It is right (?:about )?<one:K> of <n:K> times <here:SIDE> and (?:about )?<other:K> of <m:K> times <there:SIDE>\."
)
def _(c: Counts, one: str, n: str, here: str, other: str, m: str, there: str) -> str:
    """How many of how many, of few rows or clusters; the worst of groups may be any with as many right ones."""
    groups = {(int(c.right[of].sum()), int(of.sum())) for of in c.groups(c.all).values()}
    known = {side: {(int(c.right[c.named(side)].sum()), int(c.named(side).sum()))} for side in (here, there)}
    said = {here: (int(one), int(n)), there: (int(other), int(m))}
    wrong = [side for side in said if said[side] not in known[side] | (groups if "worst" in side else set())]
    rows_are_few = min(int(n), int(m)) < 20 or c.rows.user is not None
    return first(f"{wrong} are {known}" if wrong else "", "" if rows_are_few else "they are many")


@rule(r"<metric:METRIC> is <one:N> of 100 <here:SIDE> and <other:N> <there:SIDE>, from <n:K> and <m:K> examples\.")
def _(c: Counts, metric: str, one: str, here: str, other: str, there: str, n: str, m: str) -> str:
    counts = [int(c.named(side).sum()) for side in (here, there)]
    is_wrong = metric.lower() != c.metric.lower() or counts != [int(n), int(m)]
    return f"it is {c.metric} from {counts}" if is_wrong else first(differs(one, c.value(c.named(here))), differs(other, c.value(c.named(there))))  # fmt: skip  # noqa: E501


@rule(r"Shown one positive example and one negative, it picks the right one <one:N> times in 100 <here:SIDE>, and <other:N> times <there:SIDE>\.")  # fmt: skip  # noqa: E501
def _(c: Counts, one: str, here: str, other: str, there: str) -> str:
    return first(differs(one, c.value(c.named(here))), differs(other, c.value(c.named(there))))


@rule(r"<metric:METRIC> is <value:N> of 100 <here:SIDE>(?:; <there:SIDE> it (?P<why>could not be measured))?\.")  # fmt: skip  # noqa: E501
def _(c: Counts, metric: str, value: str, here: str, there: str = "", why: str = "") -> str:
    is_wrong = metric.lower() != c.metric.lower()
    if why == "could not be measured" and not math.isnan(c.value(c.named(there))):
        return f"{there} it is {c.value(c.named(there))}"
    return f"the metric is {c.metric}" if is_wrong else differs(value, c.value(c.named(here)))


@rule(r"<metric:METRIC> could not be measured on either side\.")
def _(c: Counts, metric: str) -> str:
    known = [v for v in map(c.value, c.pair) if not math.isnan(v)]
    return f"they are {known}" if known or metric.lower() != c.metric.lower() else ""


# The size of the gap, where it is, and how certain it is.


@rule(r"(?:Size of the gap: )?<gap:N> points of <metric:METRIC> <inner:BRACKET>, <n:K> examples <here:SIDE> against <m:K>(?: \+ (?P<more>\d+))? <there:SIDE>\.")  # fmt: skip  # noqa: E501
def _(c: Counts, gap: str, metric: str, inner: str, n: str, here: str, m: str, there: str, more: str = "0") -> str:
    size = int(c.named(there).sum())
    tied = {int(mask.sum()) for mask in c.groups(c.all).values()} if there == "in the worst group" else {size}
    if int(n) != c.named(here).sum() or int(m) + int(more) not in tied:
        return f"they are {c.named(here).sum()} and {size}"
    return first(differs(gap, c.gap), bracket(c, inner, c.gap), "" if metric == c.metric else f"it is {c.metric}")


@rule(r"(?:Size of the gap: )?n/a: (?P<why>[^.]*(?:\.(?=\d)[^.]*)*)\.")
def _(c: Counts, why: str) -> str:
    return reasons(c, why) or ("" if math.isnan(c.gap) else f"it is {c.gap}")


@rule(r"(?:Where: )?Groups were not measured\.")
def _(c: Counts) -> str:
    return "" if not c.groups(c.pair[1]) or c.challenge is None else f"there are {list(c.groups(c.pair[1]))}"


@rule(r"(?:Where: )?No single group stands out\.")
def _(c: Counts) -> str:
    clear = [name for name, (drop, is_clear) in c.drops.items() if is_clear and drop < 0]
    return f"{clear} do" if clear or not c.drops else ""


@rule(r"(?:Where: )?Most for (?P<named>[^.]*(?:\.\d[^.]*)*), in points of accuracy compared with the same class <side:SIDE>(?:; least for <least:GROUP> \(<by:N>\))?\.")  # fmt: skip  # noqa: E501
def _(c: Counts, named: str, side: str, least: str = "", by: str = "") -> str:
    said = re.findall(rf"({_SHORT['GROUP']}) \(({_NUMBER})\)", named)
    clear = sorted(drop for drop, is_clear in c.drops.values() if is_clear and drop < 0)[:3]
    values = [c.drops[c.group_named(name)[0]] for name, _ in said]
    wrong = [differs(number, drop) for (_, number), (drop, _) in zip(said, values, strict=True)]
    if least:
        drop = c.drops[c.group_named(least)[0]][0]
        wrong += [differs(by, drop), "" if drop == max(d for d, _ in c.drops.values()) else "it is not the least"]
    is_most = len(values) == len(clear) and np.allclose([drop for drop, _ in values], clear)
    return first(*wrong, "" if is_most else f"the clear ones are {clear}")


def worst_said(c: Counts, group: str, error: str, inner: str, mask: np.ndarray | None = None) -> str:
    errors = {name: 1 - c.accuracy(of) for name, of in c.groups(c.all if mask is None else mask).items()}
    own = errors.get(c.group_named(group)[0])
    if own is None:
        return f"there is no such group: {errors}"
    over = re.search(r"simultaneous over (\d+) groups", inner)
    n = re.search(r"n = (\d+)", inner)
    return first(
        "" if own == max(errors.values()) and own > 0 else f"the errors are {errors}",
        differs(error, own),
        bracket(c, inner, own),
        f"there are {len(errors)} groups" if over and int(over[1]) != len(errors) else "",
        "n is another" if n and int(n[1]) != c.groups(c.all)[c.group_named(group)[0]].sum() else "",
    )


@rule(r"(?:Where: )?Highest error for <group:GROUP>: error <error:N>% <inner:BRACKET>\.")
def _(c: Counts, group: str, error: str, inner: str) -> str:
    """Of all groups, or of those out of context, if there are any."""
    is_over_all = "simultaneous" in inner or "no interval" in inner or not c.groups(c.pair[1])
    return worst_said(c, group, error, inner, None if is_over_all else c.pair[1])


@rule(r"(?:Where: )?Worst by its interval: <group:GROUP>: error <error:N>% <inner:BRACKET>\.")
def _(c: Counts, group: str, error: str, inner: str) -> str:
    """Another group has a higher error, of rows so few that its interval reaches lower."""
    for mask in (c.pair[1], c.all):
        errors = {name: 1 - c.accuracy(of) for name, of in c.groups(mask).items()}
        own = errors.get(c.group_named(group)[0], math.nan)
        if rounds(error, 100 * own) and own < max(errors.values()):
            return bracket(c, inner, own)
    return "no other group has a higher error"


@rule(r"Worst group: <group:GROUP>\. Error <error:N>% <inner:BRACKET>\.")
def _(c: Counts, group: str, error: str, inner: str) -> str:
    return worst_said(c, group, error, inner)


@rule(r"(?:Where: )?No group has an error <inner:BRACKET>\.")
def _(c: Counts, inner: str) -> str:
    errors = {name: 1 - c.accuracy(of) for name, of in c.groups(c.all).items()}
    return first(f"the errors are {errors}" if any(errors.values()) else "", bracket(c, inner, 0.0))


@rule(r"Worst group by error: (?P<named>.*?\))\.")
def _(c: Counts, named: str) -> str:
    for one in named.split("; "):
        match = re.fullmatch(rf"({_SHORT['GROUP']}), among (\d+) groups \((.*)\)", one)
        if not match:
            return f"{one!r} is not understood"
        side = next((mask for words, mask in c.sides.items() if words in match[3]), c.all)
        errors = {name: 1 - c.accuracy(of) for name, of in c.groups(side).items()}
        if len(errors) != int(match[2]) or errors[c.group_named(match[1])[0]] != max(errors.values()):
            return f"the errors are {errors}"
    return ""


@rule(r"(?:Certainty: )?<n:K> examples <side:SIDE>(?P<part> in the smaller set)?; at least 50 are needed\.")
def _(c: Counts, n: str, side: str, part: str = "") -> str:
    sizes = {int(m.sum()) for m in c.groups(c.all).values()} if side == "in the worst group" else {smallest_out(c)}
    return "" if int(n) in sizes | ({0} if not sizes else set()) and int(n) < 50 else f"there are {sizes}"


@rule(r"(?:Certainty: )?<side:SIDE> the interval is <low:N> to <high:N>(?P<why> \([^()]*\))?; chance is <chance:N>\.".replace("<side:SIDE>", f"(?P<side>{_SHORT['SIDE']}|{'|'.join(w[0].upper() + w[1:] for w in ('in usual contexts', 'in unusual contexts', 'on easy rows', 'on hard rows', 'over all rows', 'in the worst group'))})"))  # fmt: skip  # noqa: E501
def _(c: Counts, side: str, low: str, high: str, chance: str, why: str = "") -> str:
    value = c.value(c.named(side[0].lower() + side[1:]))
    inside = read(low) - 0.06 <= 100 * value <= read(high) + 0.06
    return first("" if inside else f"it is {value}", differs(chance, c.chance), reasons(c, why.strip(" ()")))


@rule(r"(?:Certainty: )?There is nothing to compare\.")
def _(c: Counts) -> str:
    return "" if c.challenge is None and c.rows.group is None else "there are sides"


@rule(r"(?:Certainty: )?Cannot be computed: (?P<why>(?:[^.]|\.(?=\d))*)\.")
def _(c: Counts, why: str) -> str:
    return reasons(c, why)


@rule(r"(?:Certainty: )?The interval (?P<what>includes|excludes) zero\.")
def _(c: Counts, what: str) -> str:
    return "the gap is 0" if what == "excludes" and c.judged == 0 else ""


@rule(r"(?:Certainty: )?The interval lies between \u22122 and \+2 points\.")
def _(c: Counts) -> str:
    return "" if abs(c.judged) < 0.02 else f"the gap is {c.judged}"


@rule(r"Accuracy is clearly lower in <k:K> of <m:K> groups \(Holm, 5%\)\.")
def _(c: Counts, k: str, m: str) -> str:
    clear = sum(is_clear and drop < 0 for drop, is_clear in c.drops.values())
    return "" if (int(k), int(m)) == (clear, len(c.drops)) else f"it is {clear} of {len(c.drops)}"


@rule(r"(?:Certainty: )?One model: the interval covers variation over test examples, not over training runs\.")
def _(c: Counts) -> str:
    return ""


# The gap at equal shares of the classes.


@rule(r"The gap is the same at equal shares of the classes\.")
def _(c: Counts) -> str:
    return "" if math.isclose(c.gap, c.matched[0], abs_tol=1e-6) else f"{c.gap} and {c.matched[0]}"


@rule(r"At equal shares of the classes, the gap could not be measured: (?P<why>.*?)\.")
def _(c: Counts, why: str) -> str:
    return first(reasons(c, why), "" if math.isnan(c.matched[0]) else f"it is {c.matched[0]}")


@rule(r"The gap (?P<how>is|of) <raw:N> points(?:, of which| becomes) <after:N> (?:remain )?at equal shares of the classes <inner:BRACKET>\.")  # fmt: skip  # noqa: E501
def _(c: Counts, how: str, raw: str, after: str, inner: str) -> str:
    remains = c.gap * c.matched[0] >= 0 and abs(c.matched[0]) <= abs(c.gap) + 1e-9
    is_either = abs(c.matched[0]) < 1e-9 or math.isclose(abs(c.gap), abs(c.matched[0]), abs_tol=1e-6)
    if (how == "is") != remains and not is_either:  # nothing is left, of no sign
        return f"{c.gap} and {c.matched[0]}"
    return first(differs(raw, c.gap), differs(after, c.matched[0]), bracket(c, inner, c.matched[0]))


@rule(r"It covers the <share:N>% of the examples <there:SIDE> that have a counterpart <here:SIDE>\.")
def _(c: Counts, share: str, **_: str) -> str:
    return differs(share, c.matched[1])


# Errors by context, confidence, mistakes.


@rule(r"(?P<what>It is not clear whether errors follow the context|Errors go to a class (?:that has the same context in training|whose usual context it is) (?:more|less) often than by chance)\. <hits:K> of <n:K> (?:errors do|go to a class (?:that has the same context in training|whose usual context it is)): <share:N>% <inner:BRACKET>\. By chance it would be <even:N>% \(spread evenly over the other classes\) or <of:N>% \(as often as each is answered\)\.(?: <left:K> more errors are left out: their context belongs to no other class, or to every other class\.)?")  # fmt: skip  # noqa: E501
def _(c: Counts, what: str, hits: str, n: str, share: str, inner: str, even: str, of: str, left: str = "0") -> str:
    found = c.hits()
    if found is None:
        return "nothing is known of contexts"
    hit, by_even, by_answers, wrong = found
    if (int(hits), int(n), int(left)) != (hit.sum(), len(hit), wrong.sum() - len(hit)):
        return f"{hit.sum()} of {len(hit)}, {wrong.sum()} errors"
    above = hit.mean() > max(by_even.mean(), by_answers.mean())
    below = hit.mean() < min(by_even.mean(), by_answers.mean())
    is_wrong = ("more often" in what and not above) or ("less often" in what and not below)
    return first(
        "the share lies elsewhere" if is_wrong else "",
        differs(share, hit.mean()),
        bracket(c, inner, hit.mean()),
        differs(even, by_even.mean()),
        differs(of, by_answers.mean()),
    )


@rule(r"It cannot be determined where the errors go: (?P<why>.*?)\.")
def _(c: Counts, why: str) -> str:
    found = c.hits()
    return reasons(c, why) or (f"{len(found[0])} errors can tell" if found is not None and len(found[0]) else "")


@rule(r"If it were chosen on the rows that measure it, the worst group of any model would seem overconfident\.")
def _(c: Counts) -> str:
    return "" if c.challenge is None and c.grouped else "there is no worst group"


def confidence(c: Counts, mask: np.ndarray) -> np.ndarray:
    """Of the answers of some rows, in [0, 1]."""
    z = c.rows.logits[mask].astype(np.float64)
    p = np.exp(z - z.max(1, keepdims=True))
    return (p / p.sum(1, keepdims=True)).max(1)


@rule(r"(?P<side>In usual contexts|In unusual contexts|On easy rows|On hard rows|Over all rows) <right:N>% of predictions are correct, at a mean confidence of <mean:N>%\.")  # fmt: skip  # noqa: E501
def _(c: Counts, side: str, right: str, mean: str) -> str:
    mask = c.named(side[0].lower() + side[1:])
    return first(differs(right, c.accuracy(mask)), differs(mean, confidence(c, mask).mean()))


@rule(r"In (?P<named>(?:[a-z]+(?:, | in )[a-z]+ \(\d+ rows?\)(?: and )?)+), (?P<each>each )?chosen as the worst group on the other half of the rows, <right:N>% of predictions are correct, at a mean confidence of <mean:N>%\.")  # fmt: skip  # noqa: E501
def _(c: Counts, named: str, right: str, mean: str, each: str = "") -> str:
    """So many rows of one group or of two, together: some that can be so right and so sure on average."""
    said = re.findall(r"(\w+(?:, | in )\w+) \((\d+) rows?\)", named)
    if len(said) > 2 or bool(each) != (len(said) == 2):
        return f"{len(said)} groups"
    n, least, most, low, high = sum(int(count) for _, count in said), 0, 0, 0.0, 0.0
    for name, text in said:
        mask, count = c.groups(c.all)[c.group_named(name)[0]], int(text)
        if not 1 <= count <= mask.sum():
            return f"{name} has {mask.sum()} rows"
        hits, sure = int(c.right[mask].sum()), np.sort(confidence(c, mask))
        least, most = least + max(0, count - int(mask.sum()) + hits), most + min(count, hits)
        low, high = low + sure[:count].sum() / n, high + sure[-count:].sum() / n
    fits = any(not differs(right, k / n) for k in range(least, most + 1))
    is_sure = low - 0.00051 <= read(mean) / 100 <= high + 0.00051
    return "" if fits and is_sure else f"{least} to {most} of {n} are right, at {low} to {high}"


@rule(r"(?P<kind>confused|missed|detected, but not there): (?P<name>\w+)(?P<place>(?:,? (?:in )?[a-z]+)?)(?: (?P<side>in usual contexts|on easy rows|over all rows))? said (?P<said>\w+) at <sure:N>% (?P<id>\d+)")  # fmt: skip  # noqa: E501
def _(c: Counts, kind: str, name: str, said: str, sure: str, id: str, place: str = "", side: str = "") -> str:
    k, names = int(id), c.rows.names
    z = c.rows.logits[k].astype(np.float64)
    p = np.exp(z - z.max())
    shown = names[c.said[k]] if kind.startswith("detected") else names[c.rows.label[k]]
    where = place.removeprefix(",").strip().removeprefix("in ")
    places = {str(of[k]).rpartition("/")[2] for of in (c.rows.place, c.rows.group) if of is not None}
    return first(
        "" if shown == name and names[c.said[k]] == said and not c.right[k] and c.known[k] else f"it is {shown}",
        differs(sure, (p / p.sum())[c.said[k]]),
        f"it is in {places}" if where and where not in places else "",
        "" if not side or c.named(side)[k] else f"it is not {side}",
    )


@rule(r"Wrong answers(?: <only:SIDE>)? with the highest loss(?:, worst first|; those <first_side:SIDE> come first)\. <n:K> shown, at most six of a kind\.")  # fmt: skip  # noqa: E501
def _(c: Counts, n: str, only: str = "", first_side: str = "") -> str:
    wrong = int((~c.right & c.all).sum())
    return "" if 1 <= int(n) <= max(wrong, int((~c.right & c.known).sum())) else f"there are {wrong}"


@rule(r"oochub report report\.json --browse rows/ makes a page of all <n:K> rows, with filters\.")
def _(c: Counts, n: str) -> str:
    return "" if int(n) == len(c.known) else f"there are {len(c.known)}"


@rule(r"Not shown here: (?P<titles>.*) \(report\.to_html\(\) and --html show all\)\.")
def _(c: Counts, titles: str) -> str:
    wrong = int((~c.right & (c.all | c.known)).sum())
    said = re.split(", | and ", titles)
    return first(
        f"{said} are no sections" if set(said) - {"slices", "worst mistakes"} else "",
        f"there are {wrong}" if ("worst mistakes" in said) > (wrong > 0) else "",
    )


# Notes.


@rule(r"(?:Note: |About these data: )?<n:K> rows have no value in (?P<column>\w+)(?P<sides>: they are neither easy nor hard)?[;.]?")  # fmt: skip  # noqa: E501
def _(c: Counts, n: str, column: str, sides: str = "") -> str:
    values = getattr(c.rows, {"context": "place"}.get(column, column))
    missing = 0 if values is None else sum(value is None for value in values)
    return "" if int(n) == missing else f"there are {missing}"


@rule(r"(?:Note: |About these data: )?<n:K> rows outside the label set are skipped[;.]?")
def _(c: Counts, n: str) -> str:
    return "" if int(n) == (~c.known).sum() else f"there are {(~c.known).sum()}"


@rule(r"[ᵃᵇᶜᵈᵉᶠᵍʰ] (?P<why>.+?)\.(?= [ᵃᵇᶜᵈᵉᶠᵍʰ] |$)")
def _(c: Counts, why: str) -> str:
    return reasons(c, why)


@rule(r"The line below each value is its 95% interval\.")
def _(c: Counts) -> str:
    return ""


@rule(r"(?P<metric>Error rate %|NLL nats|ECE %|AUC × 100|Macro F1 × 100|Accuracy %|Worst-group accuracy %|Worst-group error %|Worst-group NLL nats) [↑↓], (?P<where>[^:]*): (?P<value>n/a|[+\u2212]?[\d.]+) <inner:BRACKET>\.")  # fmt: skip  # noqa: E501
def _(c: Counts, metric: str, where: str, value: str, inner: str) -> str:
    side = next((mask for words, mask in c.sides.items() if words in where), c.all)
    groups = {name: c.accuracy(of) for name, of in c.groups(side).items()}
    known = {
        "Accuracy %": lambda: c.accuracy(side),
        "Error rate %": lambda: 1 - c.accuracy(side),
        "Worst-group accuracy %": lambda: min(groups.values()),
        "Worst-group error %": lambda: 1 - min(groups.values()),
    }.get(metric)
    if known is None or value == "n/a":
        return bracket(c, inner)
    return first(differs(value, known()), bracket(c, inner, known()))


# Reliance, or contexts that are harder for every class. The model's gap itself is compared with independent fits in
# tests/stats/test_effect_of_side.py.


def _difference_by_class(c: Counts, context: str) -> float:
    """Right answers in a context less those elsewhere, class by class, at the weights of Mantel and Haenszel."""
    has, gaps, weights = c.rows.place == context, [], []
    for k in range(len(c.rows.names)):
        own = c.all & (c.rows.label == k)
        n, m = (own & has).sum(), (own & ~has).sum()
        if n and m:
            gaps.append(c.right[own & has].mean() - c.right[own & ~has].mean())
            weights.append(n * m / (n + m))
    return float(np.average(gaps, weights=weights)) if gaps else math.nan


@rule(r"Examples with the context (?P<names>[a-z]+(?:(?:, | and )[a-z]+)*) are (?P<kind>harder|easier) regardless of class; no reliance on context is shown\. The gap is <gap:N> points\.")  # fmt: skip  # noqa: E501
def _(c: Counts, names: str, kind: str, gap: str) -> str:
    wrong = [each for each in re.split(", | and ", names) if (_difference_by_class(c, each) < 0) != (kind == "harder")]
    return f"{wrong} are not" if wrong else differs(gap, c.gap)


@rule(r"This model does (?P<how>worse|better) in unusual contexts, but whether (?:it relies on context or these are harder|that is the context or these are easier) for every class cannot be told\. The gap is <gap:N> points\.")  # fmt: skip  # noqa: E501
def _(c: Counts, how: str, gap: str) -> str:
    return f"it is {c.judged}" if (c.judged < 0) != (how == "worse") else differs(gap, c.gap)


@rule(r"There is no clear gap, but for the same class and context this model does worse if it is unusual\.")
def _(c: Counts) -> str:
    return ""


@rule(r"For the same class and context, the gap is <gap:N> points of accuracy \(95% interval <low:N> to <high:N>\)\.")
def _(c: Counts, gap: str, low: str, high: str) -> str:
    return "" if read(low) - 0.06 <= read(gap) <= read(high) + 0.06 else "it lies outside of its interval"


@rule(r"A gap for the same class and context cannot be computed: (?P<why>no two classes share two contexts that are usual for one of them and unusual for the other|the classes and contexts that would tell have no errors, or only errors)\.")  # fmt: skip  # noqa: E501
def _(c: Counts, why: str) -> str:
    return ""


@rule(r"No context is clearly usual or unusual for a class of these rows, so no reliance on context can be told\.")
def _(c: Counts) -> str:
    return "there are" if any(mask.any() for mask in c.sides.values() if c.has_usual) else ""


@rule(r"(?:More rows|Rows) of (?P<names>[a-z]+ \([a-z]+\)(?:(?:, | and )[a-z]+ \([a-z]+\))*) would tell\.")
def _(c: Counts, names: str) -> str:
    pairs = [each.strip(")").split(" (") for each in re.split(", | and ", names)]
    places = {str(place) for place in c.rows.place if place is not None}
    return "" if all(y in c.rows.names and place in places for y, place in pairs) else f"no {pairs}"


@rule(
    r"<n:W> rows? (?:is|are) in a context that is neither usual nor unusual for (?:its|their) class, and on no side\."
)
def _(c: Counts, n: str) -> str:
    words = np.array([str(word) for word in c.rows.challenge])
    has_place = np.array([place is not None for place in c.rows.place])
    none = int((c.all & has_place & ~np.char.startswith(words, "hard") & (words != "easy")).sum())
    whole = sum(a is None and b is not None for a, b in zip(c.rows.challenge, c.rows.place, strict=True))  # a caveat
    return "" if int(n.replace("\u202f", "")) in (none, whole) else f"there are {none}"


@rule(r"(?:Note: |About these data: )?<n:K> rows? (?:is|are) in (?:a context that is|contexts that are) neither usual nor unusual for (?:its|their) class, and on no side(?:, so groups are compared; [^.;]+ names the usual contexts of a class)?[;.]?")  # fmt: skip  # noqa: E501
def _(c: Counts, n: str) -> str:
    missing = sum(a is None and b is not None for a, b in zip(c.rows.challenge, c.rows.place, strict=True))
    return "" if int(n) == missing else f"there are {missing}"


@rule(r"(?:Note: |About these data: )?<n:K> rows? (?:has|have) no context, and (?:is|are) on no side[;.]?")
def _(c: Counts, n: str) -> str:
    missing = sum(a is None and b is None for a, b in zip(c.rows.challenge, c.rows.place, strict=True))
    return "" if int(n) == missing else f"there are {missing}"


@rule(r"(?:Certainty: )?The interval excludes zero, and so does that of the gap for the same class and context\.")
def _(c: Counts) -> str:
    return "the gap is 0" if c.judged == 0 else ""


_STATIC = (
    r"Slices|Groups|Confidence|Where the errors go|The worst mistakes|Reliance or difficulty",
    r"Against other contexts: accuracy in the context minus that of the same classes elsewhere, class by class\. "
    r"Harder for all: that is below zero both for the classes for which the context is usual and for the others "
    r"\(Holm, 5%\)\.",
    r"Every pair unseen in training has a higher error than every pair seen in training",
    r"(?:In unusual contexts|On hard rows|In the worst group), the model is overconfident",
    r"The interval of a worst group is simultaneous: it accounts for the choice among the groups\. In the list of "
    r"groups, each interval is for that group alone\.",
    r"No confidence bin holds 20 answers, so no curve is drawn\.",
    r"Share of right answers at each level of confidence\. The band is the Wilson 95% interval; bins with fewer than "
    r"20 answers are not drawn\. Below the dotted line the model is overconfident, above it underconfident\.",
    r"Error % for each class and \w+(?:; “tested” pairs were never seen in training)?; “–” means not in the data\.",
    r"Error % of each group, with a 95% interval for that group alone(?:; the \d+ with the highest error by its "
    r"interval are shown, \d+ more are in report\.json)?\. [a-z ]+",
    r"error %(?: [\d.]+)+ to [\d.]+",
    r"Answers in %, \w+: a row for each class and context\. Shading marks wrong answers; • marks the classes that .*",
    r"Share of errors that go to a class that .*, in %, with its 95% interval\. Dotted line: chance, if errors were "
    r"spread evenly over the other classes\.(?: \d+ more are in report\.json\.)?",
)


@rule("|".join(_STATIC))
def _(c: Counts) -> str:
    return ""


@rule(r"Highest error: <group:GROUP>")
def _(c: Counts, group: str) -> str:
    every = {}
    for side in c.pair if c.challenge is not None else (c.all,):
        for name, mask in c.groups(side).items():
            every.setdefault(name, []).append(1 - c.accuracy(mask))
    best = max(max(errors) for errors in every.values())
    return "" if best in every[c.group_named(group)[0]] else f"the errors are {every}"


# Next steps. That a step is worth its place is the ranking's own test; here each number is that of the rows.

_LEVEL = r"<metric:METRIC> is <value:N> of 100 <here:SIDE> <inner:BRACKET>, n = <n:K>"
_WHY_ONCE = (
    ": an audit repeated until it decides errs more often than its intervals say\\. `oochub check --anytime` holds at "
    "every look\\."
)
_ONCE = rf"Collect them in one go and audit once{_WHY_ONCE}"
_Z, _POWER = stats.norm.ppf(0.975), stats.norm.ppf(0.8)


def level(c: Counts, metric: str, value: str, here: str, inner: str, n: str) -> str:
    """What is wrong with a number on a side, its interval and its n."""
    if metric.lower() != c.metric.lower():
        return f"the metric is {c.metric}"
    sizes = {int(c.named(here).sum())}
    if here == "in the worst group":
        sizes |= {int(mask.sum()) for mask in c.groups(c.all).values()}
    true = c.value(c.named(here))
    return first("" if int(n) in sizes else f"n is {sizes}", differs(value, true), bracket(c, inner, true))


def found_by(inner: str) -> float:
    """The difference that a test at 5% finds in four of five samples, by its interval, in points."""
    low, high = re.match(rf"\((?:95% interval )?({_NUMBER}) to ({_NUMBER})", inner).groups()
    return (read(high) - read(low)) / 2 * (1 + _POWER / _Z)


def is_near(said: str, true: float) -> bool:
    """Whether a number of rows, rounded up to two figures, is about the true one; printed ends are rounded too."""
    return 0.93 * true - 1 <= read(said) <= 1.2 * true + 2


@rule(r"Next steps|[123]\.")
def _(c: Counts) -> str:
    return ""


@rule(rf"{_LEVEL}, and chance is <chance:N>\. A gap is only meaningful once the task is learned\.")
def _(c: Counts, chance: str, **said: str) -> str:
    near = c.value(c.pair[0]) <= c.chance + _NEAR * (1 - c.chance)
    return first(level(c, **said), "" if near else "it is not near chance", "" if abs(read(chance) - 100 * c.chance) < 0.06 else f"chance is {c.chance}")  # fmt: skip  # noqa: E501


@rule(rf"{_LEVEL}, which leaves open whether it is above chance, <chance:N>\.(?: If the estimate is right, about <rows:W> examples would be enough to tell\. {_ONCE})?")  # fmt: skip  # noqa: E501
def _(c: Counts, chance: str, rows: str = "", **said: str) -> str:
    away = 100 * (c.value(c.pair[0]) - c.chance)
    is_known = away > 0 and not re.search("no interval|cluster", said["inner"])
    needed = int(said["n"]) * (found_by(said["inner"]) / away) ** 2 if is_known else 0
    if bool(rows) != (needed > int(said["n"])) and not math.isclose(needed, int(said["n"]), rel_tol=0.05):
        return f"it is {away} points above chance, and {needed} are needed"
    is_right = abs(read(chance) - 100 * c.chance) < 0.06 and (not rows or is_near(rows, needed))
    return first(level(c, **said), "" if is_right else f"chance is {c.chance}, {needed} are needed")


@rule(rf"{_LEVEL}\. Rules derived from this report check later models against its numbers\.")
def _(c: Counts, **said: str) -> str:
    return level(c, **said)


@rule(
    r"This dataset does not define a context, so its <n:W> (?:examples are|example is) not compared by context\. "
    r"You can add a context column\."
)
def _(c: Counts, n: str) -> str:
    is_named = c.challenge is not None or c.rows.group is not None or names_contexts(c)
    return "it does" if is_named else differs(n, c.all.sum(), by=1)


@rule(r"The gap is <gap:N> points <inner:BRACKET>, n = <n:K>\. With this many examples, a gap of <found:N> points is detected four times out of five; detecting one of <wanted:N> points, (?P<why>the smallest that matters|the current estimate), takes about <one:W> examples <here:SIDE> and <other:W> examples <there:SIDE> in total\. " + _ONCE)  # fmt: skip  # noqa: E501
def _(c: Counts, gap: str, inner: str, n: str, found: str, wanted: str, why: str, one: str, here: str, other: str, there: str) -> str:  # fmt: skip  # noqa: E501
    inside, outside = (int(mask.sum()) for mask in c.pair)
    true = found_by(inner)
    want = max(2.0, abs(100 * c.judged))
    if (why == "the smallest that matters") != (abs(100 * c.judged) < 2) or abs(read(wanted) - want) > 0.06:
        return f"{want} is wanted"
    if abs(read(found) - true) > 0.2:
        return f"{true} is found"
    more = read(one), read(other)
    share = (1 / more[0] + 1 / more[1]) / (1 / inside + 1 / outside)  # of the squared error that is left
    if not 0.8 <= share * (true / want) ** 2 <= 1.07 or more[0] < inside or more[1] < outside:
        return f"{more} leave {share}, and {(want / true) ** 2} is wanted"
    return first("" if int(n) <= inside + outside else f"n is {inside + outside}", differs(gap, c.judged))


@rule(
    r"A verdict needs 50 examples (?:of [^.]*?|<side:SIDE>), and n = <n:K>\. Collect <more:K> or more in one go and "
    rf"audit once{_WHY_ONCE}"
)
def _(c: Counts, n: str, more: str, side: str = "") -> str:
    tied = c.challenge is None
    true = {int(mask.sum()) for mask in c.groups(c.all).values()} if tied else {smallest_out(c)}
    return "" if int(n) in true | ({0} if not true else set()) and int(n) + int(more) == 50 else f"n is {true}"


@rule(r"The gap is <gap:N> points <inner:BRACKET>, n = <n:K>\. Retraining the last layer may narrow it\. The repair tests this on held-out rows and suggests which rows to collect\.")  # fmt: skip  # noqa: E501
def _(c: Counts, gap: str, inner: str, n: str) -> str:
    most = sum(int(mask.sum()) for mask in c.pair)
    wrong = "" if c.judged < 0 and 0 < int(n) <= most else f"the gap is {c.judged}, on {most}"
    return first(wrong, differs(gap, c.judged), bracket(c, inner, c.judged))


@rule(r"The error of <group:GROUP> is <error:N>% <inner:BRACKET>, n = <n:K>\. No group (?:<side:SIDE> )?has a wider interval\. With about <rows:W> examples in total, the interval would narrow to 5 points to either side\. " + _ONCE)  # fmt: skip  # noqa: E501
def _(c: Counts, group: str, error: str, inner: str, n: str, rows: str, side: str = "") -> str:
    mask = c.groups(c.named(side) if side else c.all)[c.group_named(group)[0]]
    half = found_by(inner) / (1 + _POWER / _Z)
    if int(n) != mask.sum() or not is_near(rows, mask.sum() * (half / 5) ** 2):
        return f"n is {mask.sum()}, {mask.sum() * (half / 5) ** 2} are needed"
    return first(differs(error, 1 - c.accuracy(mask)), bracket(c, inner, 1 - c.accuracy(mask)))


@rule(
    r"This report contains <shown:W> of <wrong:W> wrong answers\. "
    r"A page of all rows shows the others by class, context and confidence\."
)
def _(c: Counts, shown: str, wrong: str) -> str:
    true = int((c.all & ~c.right).sum())
    return "" if read(wrong) == true > read(shown) else f"there are {true}"


@rule(r"A single report cannot show whether another model is better\. With its predictions on the same <n:W> rows, paired tests can detect smaller differences than the intervals here\.")  # fmt: skip  # noqa: E501
def _(c: Counts, n: str) -> str:
    return differs(n, len(c.rows.label), by=1)


@rule(r"Replace (?P<names>.*) with your own\.")
def _(c: Counts, names: str) -> str:
    return "" if re.findall(r"[A-Z]+(?= \()", names) else "nothing is named"
