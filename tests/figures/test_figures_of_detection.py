"""The charts of detection: histograms, ranks, lines and untrained models against numpy, scipy and loops."""

import itertools

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from scipy import stats
from scored import scored_sets
from test_plots import texts

import oochub
from oochub import OochubError
from oochub.figures.distance_regression import _fit_distances as fit_distances
from oochub.report import theme

mpl.use("Agg")
IN, OUT, INK = (theme.LIGHT[name] for name in ("inn", "out", "ink"))


def figure(name, *arguments, **options):
    return oochub.get("figure", name)(*arguments, **options)


def steps(ax):
    """Edges and heights of each histogram that is a line, with its color and width."""
    lines = [patch for patch in ax.patches if isinstance(patch, mpl.patches.StepPatch) and not patch.get_fill()]
    return [
        (step.get_data(), to_hex(step.get_edgecolor()), step.get_linewidth(), step.get_linestyle()) for step in lines
    ]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_distributions_are_histograms_of_each_set():
    """Planted fault seen: shares of all rows instead of the set's."""
    sets = scored_sets()
    ax = figure("score_distributions", sets, detector="energy", bins=8)
    every = np.concatenate([scored.scores["energy"] for scored in sets])
    assert len(ax.patches) == 4  # three lines, the one in distribution filled as well
    for scored, (drawn, color, width, _), expected in zip(sets, steps(ax), (IN, OUT, INK), strict=True):
        counts, edges = np.histogram(scored.scores["energy"], bins=8, range=(every.min(), every.max()))
        np.testing.assert_allclose(drawn.edges, edges)
        np.testing.assert_allclose(drawn.values, 100 * counts / len(scored.is_ood))
        assert drawn.values.sum() == pytest.approx(100) and (color, width) == (expected, 2)
    assert len({str(style) for *_, style in steps(ax)}) == 3
    assert legend(ax) == [
        "known: in distribution, n = 90", "redrawn: covariate shift, n = 70", "new: semantic shift, n = 60",
    ]  # fmt: skip
    assert ax.get_title(loc="left") == "energy" and ax.get_xlabel() == "score, higher is more in-distribution"
    assert ax.get_ylabel() == "% of the rows, in each of 8 bins"


def test_distributions_by_answer():
    """Planted fault seen: right and wrong changed places."""
    sets = scored_sets()
    ax = figure("score_distributions", sets, detector="msp", by="answer", sets=["redrawn", "new"], bins=5)
    redrawn, new = sets[1], sets[2]
    right = redrawn.predictions.logits.argmax(axis=1) == redrawn.predictions.label
    every = np.concatenate([redrawn.scores["msp"], new.scores["msp"]])
    parts = (redrawn.scores["msp"][right], redrawn.scores["msp"][~right], new.scores["msp"])
    for score, (drawn, _, width, _), expected in zip(parts, steps(ax), (2, 1, 2), strict=True):
        counts = np.histogram(score, bins=5, range=(every.min(), every.max()))[0]
        np.testing.assert_allclose(drawn.values, 100 * counts / len(score))
        assert width == expected
    assert legend(ax)[:2] == [
        f"redrawn, right answers: covariate shift, n = {right.sum()}",
        f"redrawn, wrong answers: covariate shift, n = {(~right).sum()}",
    ]


def test_far_scores_lie_in_the_bins_at_the_ends():
    sets = scored_sets()
    for row, value in enumerate((1e9, -1e9, np.inf, -np.inf)):
        sets[row % 2].scores["energy"][row] = value
    ax = figure("score_distributions", sets, detector="energy", bins=10)
    low, high = ax.get_xlim()
    every = np.concatenate([scored.scores["energy"] for scored in sets])
    finite = every[np.isfinite(every)]
    middle = np.percentile(finite, [2.5, 97.5])
    np.testing.assert_allclose([low, high], [middle[0] - np.ptp(middle) / 2, middle[1] + np.ptp(middle) / 2])
    assert high < 20
    beyond = ((every < low) | (every > high)).sum()
    assert f"{beyond} of 220 scores lie beyond, in the bins at the ends" in ax.get_xlabel()
    assert all(drawn.values.sum() == pytest.approx(100) for drawn, *_ in steps(ax))
    same = scored_sets()
    for scored in same:
        scored.scores["energy"][:] = 3.0
    drawn = [stairs.values for stairs, *_ in steps(figure("score_distributions", same, detector="energy"))]
    assert all(values.tolist() in ([0, 100], [100, 0]) for values in drawn)
    for scored in same:
        scored.scores["energy"][:] = np.inf
    with pytest.raises(OochubError, match="No score of energy is finite"):
        figure("score_distributions", same, detector="energy")


@pytest.mark.parametrize("rows", ["correct", "incorrect", "ood"])
def test_ranks_are_those_of_both_sets_together(rows):
    """Planted faults seen: ranks among the rows shown alone; the two detectors changed places."""
    sets = scored_sets()
    ax = figure("detector_ranks", sets, detector="energy", rows=rows, bins=4)
    known, new = sets[0], sets[2]
    right = known.predictions.logits.argmax(axis=1) == known.predictions.label
    chosen = {
        "correct": [*right, *[False] * 60],
        "incorrect": [*~right, *[False] * 60],
        "ood": [False] * 90 + [True] * 60,
    }
    chosen = np.array(chosen[rows])
    means = []
    for (drawn, *_), name in zip(steps(ax), ("energy", "msp"), strict=True):
        pooled = np.concatenate([known.scores[name], new.scores[name]])
        rank = [100 * ((pooled < score).sum() + (pooled == score).sum() / 2) / 150 for score in pooled]
        counts = np.histogram(np.array(rank)[chosen], np.linspace(0, 100, 5))[0]
        np.testing.assert_allclose(drawn.values, 100 * counts / chosen.sum())
        means.append(np.mean(np.array(rank)[chosen]))
    title = ax.get_title(loc="left")
    assert f"(n = {chosen.sum()})" in title and ("new, out" if rows == "ood" else "known, ") in title
    assert f"mean shift {means[0] - means[1]:+.1f}".replace("-", "−") in title
    assert legend(ax) == ["energy", "msp"] and "150 rows of known and new" in ax.get_xlabel()


def test_ranks_of_chosen_sets():
    sets = scored_sets()
    ax = figure("detector_ranks", sets, detector="max_cosine", against="energy", inside="redrawn", rows="incorrect")
    assert ax.get_title(loc="left").startswith("redrawn, wrong") and "130 rows of redrawn and new" in ax.get_xlabel()
    assert legend(ax) == ["max cosine", "energy"]
    assert legend(figure("detector_ranks", sets)) == ["energy", "msp"]  # the first that is not MSP


def test_lines_are_those_of_the_table():
    sets = scored_sets()
    ax = figure("distance_regression", sets, detector="msp", subsets=6)
    fits = fit_distances(sets, detector="msp", subsets=6)
    marks = [line for line in ax.lines if line.get_linestyle() == "None" and len(line.get_xdata())]
    lines = [line for line in ax.lines if line.get_linestyle() != "None" and len(line.get_xdata()) == 50]
    for fit, mark, line, color, entry in zip(fits, marks, lines, (OUT, INK), legend(ax), strict=True):
        np.testing.assert_array_equal(mark.get_data(), [fit.distance, fit.value])
        reference = stats.linregress(fit.distance, fit.value)
        np.testing.assert_allclose(line.get_ydata(), reference.intercept + reference.slope * line.get_xdata())
        assert line.get_xdata()[[0, -1]].tolist() == [fit.distance.min(), fit.distance.max()]
        assert mark.get_color() == line.get_color() == color
        t = stats.t.ppf(0.975, 4)
        for letter, value, error in (
            ("β", reference.slope, reference.stderr), ("α", reference.intercept, reference.intercept_stderr),
        ):  # fmt: skip
            words = f"{letter} = {value:.3f} ({value - t * error:.3f} to {value + t * error:.3f})".replace("-", "−")
            assert words in entry, (words, entry)
    assert lines[0].get_linestyle() != lines[1].get_linestyle() and marks[0].get_marker() != marks[1].get_marker()
    assert "AUROC of known (n = 90)" in ax.get_ylabel() and "nearest image of known" in ax.get_xlabel()
    assert ax.get_ylim()[1] <= 1.02 and ax.get_title(loc="left") == "msp, 6 subsets a set"
    scores = figure("distance_regression", sets, detector="msp", subsets=6, value="score")
    assert "mean score" in scores.get_ylabel() and "AUROC" not in texts(scores)


def numbers(models=3, sets=("fog_1", "fog_3", "fog_5", "redrawn", "snow_3", "new")):
    """What `oochub imagenet_ood detect --random 3` writes, with a trained model and another architecture beside."""
    rng = np.random.default_rng(0)
    rows = [
        {"model": model, "seed": seed, "detector": detector, "in": "known", "out": name, "metric": metric, "n": 100 + k}
        for model in ("net", "other")
        for seed in [*range(models), np.nan]
        for detector in ("mahalanobis", "knn:k=5")
        for k, name in enumerate(sets)
        for metric in ("auroc_new_class", "auroc_failure")
    ]
    return pd.DataFrame(rows).assign(value=rng.random(len(rows)))


@pytest.mark.parametrize(
    ("detector", "goal", "model"), itertools.product((None, "knn"), ("new_class", "failure"), (None, "other"))
)
def test_untrained_models_and_their_mean(detector, goal, model):
    """Planted faults seen: the trained model counted as well; ddof 0."""
    given = numbers()
    ax = figure("random_models", given, detector=detector, goal=goal, model=model)
    shown = ["redrawn", "new", "fog_1", "fog_3", "fog_5", "snow_3"]  # sets, then corruptions in the order given
    key, architecture = ("knn:k=5" if detector else "mahalanobis"), model or "net"
    value = {
        (row["out"], row["seed"]): 100 * row["value"]
        for row in given.to_dict("records")
        if (row["model"], row["detector"], row["metric"]) == (architecture, key, f"auroc_{goal}")
    }
    expected = np.array([[value[name, seed] for seed in range(3)] for name in shown])
    rings, *means = [line for line in ax.lines if len(line.get_xdata()) and line.get_linestyle() != ":"]
    np.testing.assert_allclose(rings.get_xdata().reshape(6, 3), expected)
    drawn = np.concatenate([line.get_xdata() for line in means])
    np.testing.assert_allclose(drawn, expected.mean(axis=1))
    assert [len(line.get_xdata()) for line in means] == [1, 1, 3, 1]  # the severities of a corruption are joined
    spans = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(spans[:, 1] - spans[:, 0], 2 * expected.std(axis=1, ddof=1))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["", "", "1", "3", "5", "3"]
    beside = ax.child_axes[0]
    assert [tick.get_text() for tick in beside.get_yticklabels()] == ["redrawn", "new", "fog", "snow"]
    assert "n = 100 to 105 rows" in ax.get_xlabel()
    named = "knn (k=5)" if detector else "mahalanobis"
    assert ax.get_title(loc="left") == f"{named}, 3 random copies of {architecture}"
    assert {"new_class": "new-class AUROC × 100 of known", "failure": "failure AUROC × 100 on known"}[
        goal
    ] in ax.get_xlabel()


def test_what_is_undefined_is_left_out_and_counted():
    """Planted fault seen: a mean that is nan where one model's number is."""
    given = numbers()
    own = (given["model"] == "net") & (given["detector"] == "mahalanobis") & given["seed"].notna()
    gone = own & ((given["out"] == "new") | ((given["out"] == "fog_3") & (given["seed"] == 1)))
    given.loc[gone & (given["metric"] == "auroc_failure"), "value"] = np.nan
    ax = figure("random_models", given, goal="failure")
    _, *means = [line for line in ax.lines if len(line.get_xdata()) and line.get_linestyle() != ":"]
    rest = given[own & (given["metric"] == "auroc_failure") & (given["out"] == "fog_3")]["value"].dropna()
    assert means[2].get_xdata()[1] == pytest.approx(100 * rest.mean()) and len(rest) == 2
    assert np.isnan(means[1].get_xdata()).all() and [text.get_text().strip() for text in ax.texts] == ["n/a"]
    assert "4 of 18 numbers are undefined and left out" in ax.get_xlabel()
    given = given.assign(value=np.nan, reason="none of the rows happens to be right")
    with pytest.raises(OochubError, match="Every auroc_failure is undefined: none of the rows happens to be right"):
        figure("random_models", given, goal="failure")


def test_one_untrained_model_has_no_spread():
    ax = figure("random_models", numbers(models=1))
    assert not ax.collections and ax.get_title(loc="left") == "mahalanobis, 1 random copy of net"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("score_distributions", {"detector": "ms"}, "Did you mean 'msp'"),
        ("score_distributions", {"by": "sets"}, "Did you mean 'set'"),
        ("score_distributions", {"sets": ["nwe"]}, "Did you mean 'new'"),
        ("score_distributions", {"bins": 1}, "bins must be a whole number, 2 or more"),
        ("detector_ranks", {"rows": "corect"}, "Did you mean 'correct'"),
        ("detector_ranks", {"detector": "msp"}, "got msp twice"),
        ("detector_ranks", {"against": "vim"}, "No detector in these scores named 'vim'"),
        ("detector_ranks", {"outside": "redrawn"}, "no out-of-distribution rows"),
        ("detector_ranks", {"bins": 0}, "bins must be a whole number"),
        ("distance_regression", {"subsets": 100}, "subsets must be 2 to 60"),
        ("distance_regression", {"subsets": 5, "value": "auc"}, "No value named 'auc'"),
    ],
)
def test_what_cannot_be_drawn_is_said(name, options, message):
    with pytest.raises(OochubError, match=message):
        figure(name, scored_sets(), **options)
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda rows: rows.drop(columns="seed"), {}, "seed missing"),
        (lambda rows: rows.assign(seed=np.nan), {}, "None of these 192 numbers is the auroc_new_class of an"),
        (lambda rows: rows, {"goal": "new_clas"}, "Did you mean 'new_class'"),
        (lambda rows: rows, {"detector": "vim"}, "No detector in these numbers named 'vim'"),
        (lambda rows: rows, {"model": "nett"}, "Did you mean 'net'"),
        (lambda rows: pd.concat([rows, rows]), {}, "occur twice, first fog_1"),
        (lambda rows: pd.concat([rows, rows.assign(**{"in": "elsewhere"})]), {}, "got known, elsewhere"),
    ],
)
def test_numbers_that_are_not_of_untrained_models_are_said(change, options, message):
    with pytest.raises(OochubError, match=message):
        figure("random_models", change(numbers()), **options)
    assert pyplot.get_fignums() == []
