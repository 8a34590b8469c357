"""The section on contexts that nobody labelled, in each state: what it says, and which rows it shows."""

import base64
import io
from dataclasses import replace

import numpy as np
import pytest
from found_rows import CLASSES, jpeg, predictions_of, rows, with_facts
from parsed_page import ParsedPage
from PIL import Image

import oochub
from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import ContextCheck
from oochub.report import format_numbers
from oochub.report.verdict import verdict

EVEN = {"grass": dict.fromkeys(CLASSES, 50), "sand": dict.fromkeys(CLASSES, 40)}
KNOWN = {
    "way": "hand", "names": ("grass",), "words": ("much green",), "chosen_rows": 9, "class_rows": {"cow": 9},
    "class_counts": {"grass": {"cow": 5}}, "settings": {},
}  # fmt: skip


def report_of(made, **more):
    return oochub.evaluate(predictions_of(made, **more), resamples=100)


def words(report):
    """The section as its reader sees it."""
    html = report.to_html()
    return html[html.index('<section id="contexts">') :].partition("</section>")[0]


def test_not_checked():
    said = words(report_of(rows(3000), model="big/segmenter"))
    assert "Contexts found with hand, using big/segmenter; not reviewed by people." in said
    assert "1 of the 2 contexts tested is shown to matter. The tests use" in said
    assert "the probability of even one false finding is at most 5% (Holm)" in said
    assert "This model does worse when the context is not the usual one: grass (usual for cow)." in said


def test_a_share_of_false_findings_is_said_as_such():
    predictions = predictions_of(rows(3000))
    said = words(oochub.evaluate(predictions, resamples=100, correction="benjamini_hochberg"))
    assert "on average, at most 5% of the findings are false (Benjamini-Hochberg)" in said


def test_checked():
    """The counts by hand, and each number of the record."""
    check = ContextCheck(wrong_with=1, checked_with=20, wrong_without=0, checked_without=20)
    report = report_of(rows(3000), checks={"grass": check})
    said, grass = words(report), report.contexts.contexts[0]
    assert "people checked rows of 1 of 2." in said and said.count("checked labels are wrong") == 1
    for text in (
        "1 of 40 checked labels are wrong",
        f"labels this often wrong show {100 * grass.shrinkage:.1f}% of a gap (",
        f"with correct labels the gap is {format_numbers.interval_points(grass.bounds)}",
        f"at worst {format_numbers.interval_points(grass.worst_case)}",
    ):
        assert text in said and text.split(" (")[0] in report.to_markdown()
    assert 0.95 <= grass.shrinkage < 1 and grass.worst_case.low < grass.bounds.low


def test_checked_with_too_few_labels():
    """Three a side judged: the worst case reaches both ends of what a gap can be, and no number stands for it."""
    check = ContextCheck(wrong_with=0, checked_with=3, wrong_without=0, checked_without=3)
    report = report_of(rows(3000), checks={"grass": check})
    worst = report.contexts.contexts[0].worst_case
    assert worst.low <= -1 and worst.high >= 1
    assert "at worst nothing is known about it" in words(report) and "at worst [" not in words(report)


def test_checked_with_too_many_wrong_labels():
    check = ContextCheck(wrong_with=9, checked_with=20, wrong_without=8, checked_without=20)
    said = words(report_of(rows(3000), checks={"grass": check}))
    assert (
        "17 of 40 checked labels are wrong" in said
        and "too few labels were checked, or too many are wrong, to give bounds" in said
    )
    assert "with correct labels the gap is" not in said


def test_none_found():
    made = rows() | {"contexts": [[] for _ in range(600)]}
    report = report_of(made, names=(), words=(), class_counts={})
    assert "No context was found." in words(report) and "What such rows look like" not in words(report)
    assert verdict(report).case == "too_few"


def test_none_testable():
    made = rows()
    report = report_of(made | {"answer": made["label"]})
    assert "No context could be tested." in words(report) and "tested," not in words(report)
    assert verdict(report).headline == "No context could be tested."


def test_what_is_not_shown_may_be_chance():
    """Planted fault seen: the lead of a gap that is not shown, as if it were."""
    chance = "a difference that chance alone could explain"
    report = report_of(rows(3000, effect=0.0))
    assert [each.status for each in report.contexts.contexts] == ["not shown"] * 2
    assert verdict(report).case == "unclear" and verdict(report).lead.endswith(f", {chance}.")
    assert chance not in verdict(report_of(rows(3000))).lead


def test_harder_pictures_are_said_to_be_harder():
    """In every form, with the size of the effect and its own p-value; the case is never that of a reliance."""
    made = rows(3000, effect=0.0)
    grass = np.array([0 in (own or []) for own in made["contexts"]])
    for is_harder, kind, way in ((grass, "harder", "lower"), (~grass, "easier", "higher")):
        wrong = is_harder & (np.random.default_rng(0).random(3000) < 0.4)
        report = report_of(made | {"answer": np.where(wrong, (made["label"] + 1) % 3, made["label"])})
        found, said = report.contexts.contexts[0], verdict(report)
        headline = f"Images with grass are {kind} regardless of class; no reliance on context is shown."
        assert said.headline == headline and said.case == "unclear" and headline in words(report)
        size = format_numbers.points(abs(found.having)).removeprefix("+")
        assert said.lead == f"With “grass” accuracy is {size} points {way} than without it, class by class."
        assert (
            said.how_much.answer.startswith(format_numbers.points(found.having))
            and "class by class" in said.how_much.detail
        )
        assert said.how_sure.answer.startswith("P < 0.001") and found.p_value > 0.05
        for form in (words(report), report.to_markdown(), str(report)):
            assert "relies" not in form and "does worse" not in form
        assert f"{kind} for all" in words(report) and f"{kind} for all" in report.to_markdown()
        assert "; 1 is harder or easier for every class alike" in words(report)


def test_no_direction_says_why_in_every_form():
    settings = {"region": "picture", "knows_classes": True}
    report = report_of(rows(3000), way="clusters", model="own", settings=settings)
    for form in (words(report), report.to_markdown(), verdict(report).headline):
        assert "No direction is claimed: the clusters come from own, which itself separates these classes" in form
    assert verdict(report).case == "too_few" and "times in 100" not in report.to_html()


def test_too_few():
    report = report_of(rows(14))
    assert "2 have too few rows." in words(report) and words(report).count(">too few<") == 2


def test_unusual_alone():
    report = report_of(rows(), class_counts=EVEN | {"grass": {"cow": 26, "camel": 10, "bird": 26}})
    assert "unusual for camel" in words(report)


def test_one_class():
    made = rows()
    only = {name: made[name] for name in ("contexts", "chosen_on")}
    zeros = np.zeros(600, np.int64)
    report = report_of(only | {"label": zeros, "answer": zeros}, classes=["cow"], class_rows={"cow": 300})
    assert "No context could be tested." in words(report)
    assert "2 are left out: neither usual nor unusual for any class." in words(report)


def test_several_labels_say_why_there_is_none():
    made = Predictions.from_arrays(
        logits=np.eye(3), labels=np.eye(3), class_names=CLASSES, contexts=[["grass"]] * 3, chosen_on=[False] * 3
    )
    report = oochub.evaluate(with_facts(made, KNOWN), resamples=100)
    assert report.contexts is None and 'id="contexts"' not in report.to_html()
    assert any("contexts that were found (hand) are not tested, because that needs one class for each row" in note
               for note in report.notes)  # fmt: skip


def test_data_with_contexts_of_their_own_are_judged_by_those():
    made = rows(3000)
    sides = {"challenge": ["easy", "hard"] * 1500}
    report = report_of(made, columns=sides)
    assert report.gap.n_out == 1500 and not report.is_by_contexts
    assert "grass (usual for cow)" in words(report) and "grass" not in verdict(report).sentence


@pytest.fixture(scope="module")
def pictured():
    """A report of rows with an image each, shades of gray by their number."""
    made = rows(300)
    columns = {"thumbnail": [jpeg(row % 256) for row in range(300)]}
    return made, report_of(made, columns=columns)


def test_rows_are_shown_with_their_answers(pictured):
    made, report = pictured
    cards = [row for each in report.contexts.contexts for side in (each.rows_usual, each.rows_against) for row in side]
    assert len(cards) == 20 and all(row.image for row in cards)
    wrong = [row for row in cards if row.predicted != row.label]
    assert 0 < len(wrong) < 20
    section = ParsedPage(words(report))
    said = [attributes["alt"].partition(", ")[2] for tag, attributes in section.tags if tag == "img"]
    assert said == ["answered correctly" if row.predicted == row.label else f"wrongly called {row.predicted}"
                    for row in cards]  # fmt: skip
    for row in cards:
        number = int(row.example_id)
        assert not made["chosen_on"][number] and CLASSES[made["label"][number]] == row.label


def test_pictures_may_be_left_out(pictured):
    _, report = pictured
    assert "What such rows look like" in report.to_html()
    bare = report.to_html(images=False)
    assert "What such rows look like" not in bare and "Contexts associated with each class" in bare
    assert "What such rows look like" not in report_of(rows(300)).to_html()


def test_what_is_no_picture_is_refused(pictured):
    _, report = pictured
    first = report.contexts.contexts[0]
    broken = replace(first, rows_usual=(replace(first.rows_usual[0], image="bm90IGEgSlBFRw=="),))
    found = replace(report.contexts, contexts=(broken,))
    with pytest.raises(OochubError, match="must be a base64 JPEG"):
        replace(report, contexts=found).to_html()


def test_a_full_page_says_what_it_leaves_out(pictured):
    """Two contexts of ten images of 7 kB each are more than 120 kB. Planted fault seen: they are left out unsaid."""
    _, report = pictured
    assert "The page is full" not in words(report)
    large = base64.b64encode(jpeg(7) + bytes(7_000)).decode()
    full = [
        replace(each, **{side: tuple(replace(row, image=large) for row in getattr(each, side))
                         for side in ("rows_usual", "rows_against")})
        for each in report.contexts.contexts
    ]  # fmt: skip
    said = words(replace(report, contexts=replace(report.contexts, contexts=tuple(full))))
    assert "The page is full: images of 1 more context are left out." in said and said.count("<img") == 10


def test_small_pictures_stay_small(pictured):
    """An image of a row is at most 96 pixels a side, so that fifty are a part of a page."""
    _, report = pictured
    for row in report.contexts.contexts[0].rows_usual:
        with Image.open(io.BytesIO(base64.b64decode(row.image))) as picture:
            assert picture.size == (96, 72)
