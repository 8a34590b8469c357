"""What a report says of few rows: how many of how many, groups by their intervals, cells and names that are whole."""

import re

import numpy as np
import pytest
import torch
from PIL import Image

import oochub
from oochub.report import wording
from oochub.report.footnotes import Footnotes, describe_reason
from oochub.report.page import render_page
from oochub.report.verdict import verdict
from oochub.section import sections
from oochub.stats.estimate import Estimate


def own_report(sizes, *, context="herd", cluster=None):
    """A report on rows of (class, context): how many rows, how many of them right, which side."""
    label, right, side, place = [], [], [], []
    for (name, where, own), (n, good) in sizes.items():
        label += [("cow", "camel", "dog").index(name)] * n
        right += [True] * good + [False] * (n - good)
        side, place = side + [own] * n, place + [where] * n
    label = np.array(label)
    logits = np.eye(3)[np.where(right, label, (label + 1) % 3)] * 2.0
    groups = [f"{('cow', 'camel', 'dog')[k]}/{each}" for k, each in zip(label, place, strict=True)]
    columns = {"challenge": side, "group": groups, context: place}
    made = oochub.Predictions.from_arrays(logits=logits, label=label, class_names=["cow", "camel", "dog"], **columns)
    return oochub.evaluate(made, resamples=100)


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (19, "It is right 30 of 40 times on easy rows and 10 of 19 times on hard rows."),
        (20, "It is right 75 times in 100 on easy rows and 50 times on hard rows."),
    ],
)
def test_no_share_of_fewer_than_20_rows_is_so_many_times_in_100(n, said):
    """By hand. Planted fault: from 19 rows on, "times in 100"."""
    report = own_report({("cow", "yes", "easy"): (40, 30), ("camel", "no", "hard"): (n, 10)})
    assert verdict(report).lead == said


def page_of_groups(report):
    (section,) = (each for each in sections() if each.name == "group_errors")
    return section.page(report, room=None).values


def test_groups_are_ranked_by_their_intervals_and_small_ones_are_folded():
    """One wrong row of one is no worse than 30 of 40. Planted faults: sorted by the error; none is folded."""
    sizes = {("cow", "yes", "hard"): (1, 0), ("camel", "no", "hard"): (40, 10), ("dog", "no", "hard"): (40, 30)}
    report = own_report({**sizes, ("cow", "no", "easy"): (60, 50), ("dog", "yes", "easy"): (4, 4)})
    shown = page_of_groups(report)
    titles = [row.title for row, _ in shown["rows"]]
    assert titles == ["camel, no", "dog, no", "cow, no", "cow, yes", "dog, yes"]
    assert (shown["first"], shown["folded"], shown["left_out"]) == (3, 2, 0)
    page = render_page(report)
    bars = page[page.index('<section id="groups">') :]
    assert bars.count('<tr class="more">') == 2 and "2 more groups with fewer than 5 rows each" in bars


def test_the_legend_holds_every_error_of_the_table():
    """Also that of a group of nine rows. Planted fault: groups below ten rows do not count."""
    sizes = {("cow", "yes", "hard"): (9, 0), ("camel", "no", "hard"): (40, 39), ("cow", "no", "easy"): (60, 60)}
    assert int(page_of_groups(own_report(sizes))["steps"][-1]) == 100


def test_reasons_merge_their_numbers_and_not_the_digits_of_a_power():
    """By hand. Planted fault: `e-05` split into digits gives "p = 3 to 9e-05 to 12"."""
    few = [Estimate(0.5, n=9, method="", reason=f"the gap has p = {p}") for p in ("3e-05", "9e-12")]
    notes = Footnotes()
    assert [notes.mark(each) for each in few] == ["ᵃ", "ᵃ"]
    assert notes.lines == ("ᵃ the gap has p = 9e-12 to 3e-05.",)
    assert describe_reason(Estimate(0.5, n=9, method="", reason="p = 0.07; 19 rows")) == "p = 0.07; 19 rows"


@pytest.mark.parametrize("limit", [30, 40, 60])
def test_a_long_text_is_cut_between_words(limit):
    """Planted fault: cut in the middle, "neighbor…xels of the rim"."""
    text = "median change between neighboring pixels of the rim below 0.00994"
    cut = wording.name(text, limit)
    assert len(cut) <= limit and "…" in cut
    assert all(part in text.split() for part in re.split("[ …]+", cut))


def test_a_context_of_a_users_column_follows_its_name(tmp_path):
    """No place stands between banana and people; --words says one. Planted fault: "in" for every column."""
    rows = [(f"{k}.png", ("bowl", "banana")[k % 2], ("no_people", "people")[k % 4 < 2]) for k in range(24)]
    lines = ["file_name,label,people", *map(",".join, rows)]
    (tmp_path / "metadata.csv").write_text("\n".join(lines), "utf-8")
    for name, _, _ in rows:
        Image.new("RGB", (4, 4)).save(tmp_path / name)

    def groups(**more):
        report = oochub.audit(
            lambda batch: torch.zeros(len(batch), 2),
            tmp_path,
            context="people",
            class_names=["banana", "bowl"],
            transform=lambda image: torch.zeros(3, 4, 4),
            resamples=100,
            **more,
        )
        return {wording.group_words(report.benchmark, row) for row in report.group_rows}

    assert "banana, people: no people" in groups(usual={"banana": ["people"], "bowl": ["no_people"]})
    assert "bowl with no people" in groups(context_words={"place": "with"}, usual={"bowl": ["no_people"]})
    with pytest.raises(oochub.OochubError, match="No word named 'plac'"):
        groups(context_words={"plac": "with"})
