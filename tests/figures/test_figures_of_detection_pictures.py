"""Which images the figures of detection show, against loops over the scores; what stands above each."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from scored import CLASSES, color_of, datasets_of, parts, predictions, scored_sets
from sklearn.metrics.pairwise import cosine_distances

import oochub
from oochub import OochubError
from oochub.detection.image_sets import find_nearest_inside

mpl.use("Agg")
PICTURES = ("percentile_pictures", "disagreement_pictures")


def drawn(name, sets, **options):
    given = {"datasets": datasets_of([scored.predictions for scored in sets])} | options
    return oochub.get("figure", name)(sets, **given)


def colors(inset):
    """The colors in the middle of the left and right half of an image."""
    pixels = np.asarray(inset.images[0].get_array())
    row, width = pixels.shape[0] // 2, pixels.shape[1]
    return [tuple(pixels[row, column].tolist()) for column in (width // 4, 3 * width // 4)]


def test_pairs_are_at_their_percentiles_with_the_nearest():
    """Planted faults seen: the interpolated rank for ceil(q n / 100); the nearest of the wrong row."""
    sets = scored_sets()
    known, _, new = sets
    ax = drawn("percentile_pictures", sets, detectors=["energy", "msp"], percentiles=(10, 50, 99, 100))
    distance = cosine_distances(new.predictions.features.astype(float), known.predictions.features.astype(float))
    orders = {"distance": distance.min(axis=1), "energy": new.scores["energy"], "msp": new.scores["msp"]}
    expected = []
    for name, values in orders.items():
        ranked = sorted(range(60), key=lambda row: (values[row], row))
        for percentile, k in ((10, 6), (50, 30), (99, 60), (100, 60)):  # the k-th, ceil(q n / 100), of 60
            row = ranked[k - 1]
            other = int(distance[row].argmin())
            expected.append((f"{name}/{percentile}/new{row}/known{other}", row, other, percentile, values[row]))
    assert [inset.get_label() for inset in ax.child_axes] == [label for label, *_ in expected]
    for inset, (_, row, other, percentile, value) in zip(ax.child_axes, expected, strict=True):
        assert colors(inset) == [color_of(2, row), color_of(0, other)]
        ordinal, number = f"{percentile}th: ", f"{value:.3g}".replace("-", "−")
        name = CLASSES[known.predictions.label[other]].partition(",")[0]
        assert inset.get_title(loc="left") == f"{ordinal}{number}\nnew | {name}"
    words = "\n".join(text.get_text() for text in ax.texts)
    assert "Distance to the nearest of known" in words and "Score of energy" in words and "Score of msp" in words
    assert "new (n = 60)" in words and "known (n = 90)" in words


def test_pairs_by_another_embedding_and_class_names():
    given = parts()
    named = predictions("new", shift="semantic", n=60, seed=2, class_name=[f"thing_{k}" for k in range(60)])
    sets = scored_sets(["msp"], [*given[:2], named])
    other = [predictions(scored.name, shift="none", n=len(scored.is_ood), seed=70 + k) for k, scored in enumerate(sets)]
    near = find_nearest_inside(sets, embedding=other)
    ax = drawn("percentile_pictures", sets, nearest=near, percentiles=[50])
    row = int(np.argsort(near["new"].distance, kind="stable")[29])
    assert ax.child_axes[0].get_label() == f"distance/50/new{row}/known{near['new'].row[row]}"
    assert f"\nthing {row} | " in ax.child_axes[0].get_title(loc="left")
    assert near["new"].row[row] == int(cosine_distances(other[2].features[[row]], other[0].features).argmin())


@pytest.mark.parametrize("swapped", [False, True])
def test_disagreements_are_the_largest_differences_of_rank(swapped):
    """Planted faults seen: ranks over all sets together; the smallest difference first."""
    sets = scored_sets()
    low, high = ("msp", "energy") if swapped else ("energy", "msp")
    ax = drawn("disagreement_pictures", sets, detector=low, against=high, columns=5)
    expected = []
    for number, scored in enumerate(sets):
        n = len(scored.is_ood)
        rank = {
            name: [
                100 * ((scored.scores[name] < score).sum() + (scored.scores[name] == score).sum() / 2) / n
                for score in scored.scores[name]
            ]
            for name in (low, high)
        }
        order = sorted(range(n), key=lambda row: (round(rank[low][row] - rank[high][row], 9), row))[:5]
        expected += [(scored, number, row, rank[low][row], rank[high][row]) for row in order]
    assert len(ax.child_axes) == 15
    for inset, (scored, number, row, lower, higher) in zip(ax.child_axes, expected, strict=True):
        assert inset.get_label() == f"{scored.name}/{scored.predictions.split[row]}/{scored.name}{row}"
        assert colors(inset) == [color_of(number, row)] * 2 and lower < higher
        assert inset.get_title(loc="left").startswith(f"{low} {lower:.0f}, {high} {higher:.0f}")
    heads = [text.get_text() for text in ax.texts]
    assert heads[:3] == [
        "known: in distribution (n = 90)",
        "redrawn: covariate shift (n = 70)",
        "new: semantic shift (n = 60)",
    ]
    assert f"{low} ranks these images lower" in heads[3]


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_fill_given_axes_and_cover_nothing(name):
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(30, 8))
    before = dict(mpl.rcParams)
    sets = scored_sets()
    assert drawn(name, sets, ax=right) is right and right.child_axes and not left.child_axes
    assert pyplot.get_fignums() == [figure.number] and dict(mpl.rcParams) == before
    ax = drawn(name, sets)
    ax.figure.draw_without_rendering()
    boxes = [inset.get_window_extent() for inset in ax.child_axes]
    boxes += [inset.title.get_window_extent() for inset in ax.child_axes if inset.get_title()]
    boxes += [inset._left_title.get_window_extent() for inset in ax.child_axes]
    boxes += [text.get_window_extent() for text in ax.texts]
    page = ax.figure.bbox
    for k, box in enumerate(boxes):
        assert page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1, k
        assert not any(box.shrunk(0.98, 0.9).overlaps(other.shrunk(0.98, 0.9)) for other in boxes[:k]), k


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("percentile_pictures", {"percentiles": [0]}, "A percentile must be above 0 and at most 100, got 0"),
        ("percentile_pictures", {"percentiles": [50, 101]}, "got 101"),
        ("percentile_pictures", {"detectors": ["ms"]}, "Did you mean 'msp'"),
        ("percentile_pictures", {"outside": "known"}, "no out-of-distribution rows"),
        (
            "percentile_pictures",
            {"datasets": {}},
            "There is no dataset for new, whose images are to be shown; given: none",
        ),
        ("disagreement_pictures", {"detector": "msp"}, "got msp twice"),
        ("disagreement_pictures", {"columns": 0}, "columns must be a whole number, 1 or more"),
        ("disagreement_pictures", {"against": "vim"}, "No detector in these scores named 'vim'"),
        ("disagreement_pictures", {"datasets": {}}, "There is no dataset for known"),
    ],
)
def test_what_cannot_be_shown_is_said(name, options, message):
    with pytest.raises(OochubError, match=message):
        drawn(name, scored_sets(), **options)
    assert pyplot.get_fignums() == []


def test_a_missing_picture_is_named():
    sets = scored_sets()
    whole = datasets_of([scored.predictions for scored in sets])
    short = whole["known"].filter(lambda row: int(row["example_id"].removeprefix("known")) > 80)
    with pytest.raises(OochubError, match=r"of the .* examples to show are not in the dataset, first known"):
        drawn("disagreement_pictures", sets, datasets=whole | {"known": short})


def test_without_a_disagreement():
    sets = scored_sets()
    for scored in sets:
        scored.scores["energy"][:] = scored.scores["msp"] * 2
    with pytest.raises(OochubError, match="rank all images in the same order"):
        drawn("disagreement_pictures", sets, detector="energy")
