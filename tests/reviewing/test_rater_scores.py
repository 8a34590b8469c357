"""The scores of raters: the paper's ten, a hand-worked agreement, and what is not answered."""

import numpy as np
import pytest
from scipy import stats

from oochub.errors import OochubError
from oochub.reviewing.decisions import Decision
from oochub.reviewing.rater_scores import score_raters

PAPER = (48, 46, 46, 46, 47, 47, 46, 46, 47, 48)  # Spawrious, Appendix F, of 48 each


def answers(right, wrong=(), *, minute=0, taken_back=()):
    marks = [*((each, "right") for each in right), *((each, "wrong") for each in wrong)]
    marks += [(each, "open") for each in taken_back]
    return {
        ("image", each): Decision("image", each, word, f"2026-01-31T12:{minute:02}:{second:02}.000Z")
        for second, (each, word) in enumerate(marks)
    }


def test_the_ten_scores_of_the_paper():
    """467 of 480 is 97.29%, which the paper prints as 97.2; scipy gives t's interval, statsmodels' formula Wilson's."""
    pages = [[f"{page}/{k}" for k in range(48)] for page in range(10)]
    files = {
        f"r{k}": answers(page[:n], page[n:], minute=k) for k, (page, n) in enumerate(zip(pages, PAPER, strict=True))
    }
    scores = score_raters(files, pages)
    assert [rater.right for rater in scores.raters] == list(PAPER) and scores.unanswered == 0
    shares = np.array(PAPER) / 48
    low, high = stats.t.interval(0.95, 9, shares.mean(), stats.sem(shares))
    assert scores.mean == pytest.approx(46.7 / 48) and (scores.mean.low, scores.mean.high) == pytest.approx((low, high))
    by_scipy = stats.binomtest(467, 480).proportion_ci(method="wilson")
    assert scores.images == pytest.approx(467 / 480) and f"{100 * scores.images:.2f}" == "97.29"
    assert (scores.images.low, scores.images.high) == pytest.approx((by_scipy.low, by_scipy.high))
    assert len(scores.wrong) == 13 and scores.pairs == 0


def test_shared_images_by_hand():
    """Three raters on `s` and `t`, one image of their own each.

    On `s` right, right, wrong: 1 of 3 pairs agrees, and most say right. On `t` right and wrong: no pair agrees, and a
    tie is not right. Planted fault seen: a tie that counts as right.
    """
    pages = [["s", "t", "a"], ["t", "s", "b"], ["s", "t", "c"]]
    files = {
        "ann": answers(["s", "t", "a"], minute=1),
        "bob": answers(["s"], ["t", "b"], minute=2),
        "cid": answers([], ["s"], minute=3, taken_back=["t", "c"]),
    }
    scores = score_raters(files, pages)
    assert (scores.same, scores.pairs) == (1, 4)
    assert scores.wrong == ("b", "t") and (scores.images, scores.images.n) == (0.5, 4)
    assert (scores.asked, scores.unanswered) == (5, 1)
    assert [(rater.right, rater.answered, rater.asked) for rater in scores.raters] == [(3, 3, 3), (1, 3, 3), (0, 1, 3)]
    assert scores.mean == pytest.approx((1 + 1 / 3 + 0) / 3)


def test_a_rater_who_saved_twice_is_one():
    """The second file has the marks of the first and more. Planted fault seen: a file is always a rater."""
    first, later = answers(["a"]), answers([], ["b"], minute=5)
    scores = score_raters({"rater_1": first, "rater_1 (1)": first | later}, [["a", "b", "c"]])
    assert [(rater.name, rater.right, rater.answered) for rater in scores.raters] == [("rater_1", 1, 2)]
    assert scores.pairs == 0 and scores.unanswered == 1
    assert scores.mean.low != scores.mean.low and "one rater" in scores.mean.reason
    apart = score_raters({"ann": answers(["a"]), "bob": answers(["a"], minute=1)}, [["a"]])
    assert len(apart.raters) == 2 and (apart.same, apart.pairs) == (1, 1)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "There are no answers"),
        ({"x": answers(["z"])}, "x has answers for 1 images that are on no page, first z"),
        ({"x": answers(["a", "c"])}, "x has answers for images of several pages"),
    ],
)
def test_wrong_files_are_named(files, message):
    with pytest.raises(OochubError, match=message):
        score_raters(files, [["a", "b"], ["c", "d"]])


def test_no_answer_is_no_number():
    scores = score_raters({"ann": {}}, [["a"]])
    assert scores.images != scores.images and scores.mean != scores.mean and scores.unanswered == 1
