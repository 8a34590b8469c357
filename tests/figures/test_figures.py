"""The figures of NOOCH: what is drawn and printed equals loops over small random scenes; one look for all of them."""

import inspect
import math
import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from declared_in_tests import declared_in_tests
from scipy.stats import binomtest
from test_plots import texts

import oochub
from oochub import OochubError
from oochub.commands._drawing import Plot, Sources
from oochub.evaluation.scenes import Scenes
from oochub.report import theme

mpl.use("Agg")
N, C = 60, 7
# their tests have this rule of their own
COUNTS = {"contexts_over_alpha", "alpha_beta_share", "tau_curves", "score_distributions"}
COUNTS |= declared_in_tests(
    "COUNTS_ONLY", "figures"
).keys()  # of a new figure: COUNTS_ONLY = {"name": "what it counts"}
"""Figures that count the rows that they draw, and estimate nothing."""
OF_PICTURES = {"gallery", "percentile_pictures", "disagreement_pictures", "misclassified_pictures", "saliency"}
SIDES = ("positive", "negative")


def scenes(seed=0, **changes):
    """60 images of 7 classes; class 6 has no context, class 5 no known similarity; areas on the grid of the betas."""
    rng = np.random.default_rng(seed)
    present = rng.random((N, C)) < 0.4
    surplus = np.where(rng.random((C, C)) < 0.5, rng.random((C, C)) * 0.3, np.nan)
    np.fill_diagonal(surplus, np.nan)
    surplus[6] = np.nan
    surplus[0, 1] = 0.05  # not above alpha = 0.05
    similarity = rng.uniform(-0.1, 0.9, (N, C))
    similarity[:, 5] = np.nan
    columns = {
        "names": [f"class_{k}" for k in range(C)],
        "present": present,
        "area": np.where(present, rng.integers(0, 8, (N, C)) / 20, 0.0),  # often exactly a beta
        "similarity": similarity,
        "logit": rng.normal(0, 2, (N, C)).astype(np.float32),
        "surplus": surplus,
    }
    return Scenes(**columns | changes)


def nll(scenes, i, y):
    p = 1 / (1 + math.exp(-float(scenes.logit[i, y])))
    return -math.log(p if scenes.present[i, y] else 1 - p)


def pairs(scenes, side):
    return [(i, y) for i in range(N) for y in range(C) if scenes.present[i, y] == (side == "positive")]


def is_hard(scenes, i, y, alpha, beta):
    """The words of Section 3.2.1, with the appendix's beta."""
    contexts = [k for k in range(C) if scenes.surplus[y, k] > alpha]
    areas = [scenes.area[i, k] for k in contexts]
    if scenes.present[i, y]:
        return bool(contexts) and all(area < beta for area in areas)
    return any(area > beta for area in areas)


def marks(ax):
    """(x, y) of every mark of a scatter, filled ones and hollow ones."""
    drawn = [line for line in ax.lines if line.get_linestyle() == "None"]
    return {line.get_markerfacecolor(): list(zip(*line.get_data(), strict=True)) for line in drawn}


@pytest.mark.parametrize("side", SIDES)
def test_alpha_beta_share_counts_hard_pairs(side):
    """Planted fault seen: `<=` for `<`, since areas stand on the grid of the betas."""
    given, alphas, betas = scenes(), [0.0, 0.05, 0.2, 0.31], [0.05, 0.1, 0.3]
    ax = oochub.get("figure", "alpha_beta_share")(given, side=side, alphas=alphas, betas=betas)
    of_side = pairs(given, side)
    expected = [[np.mean([is_hard(given, i, y, a, b) for i, y in of_side]) for b in betas] for a in alphas]
    np.testing.assert_allclose(ax.images[0].get_array(), 100 * np.array(expected))
    assert [text.get_text() for text in ax.texts] == [f"{100 * cell:.1f}" for row in expected for cell in row]
    assert 0 < expected[1][1] < 1 and expected[3] == [0, 0, 0]
    assert ax.get_title(loc="left") == f"hard {side}s, % of all {len(of_side)}"
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0", "0.05", "0.2", "0.31"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.05", "0.1", "0.3"]
    assert ax.patches[0].get_xy() == (0.5, 0.5)  # alpha 0.05, beta 0.1


@pytest.mark.parametrize("side", SIDES)
def test_alpha_beta_loss_is_blank_where_nothing_is_hard(side):
    """Planted fault seen: nan_to_num prints 0.000."""
    given, alphas, betas = scenes(), [0.05, 0.1, 0.31], [0.1, 0.2]
    ax = oochub.get("figure", "alpha_beta_loss")(given, side=side, alphas=alphas, betas=betas)
    of_side, printed = pairs(given, side), [text.get_text() for text in ax.texts]
    for cell, (a, b) in enumerate((a, b) for a in alphas for b in betas):
        losses = [nll(given, i, y) for i, y in of_side if is_hard(given, i, y, a, b)]
        assert printed[cell] == (f"{np.mean(losses):.3f}" if losses else ""), (a, b)
        value = ax.images[0].get_array()[cell // 2, cell % 2]
        assert value == pytest.approx(np.mean(losses)) if losses else np.ma.is_masked(value)
    assert printed[4:] == ["", ""] and all(printed[:4])
    mean = np.mean([nll(given, i, y) for i, y in of_side])
    assert ax.get_title(loc="left") == f"mean loss of hard {side}s (all {side}s: {mean:.3f})"


@pytest.mark.parametrize("side", SIDES)
def test_hard_pairs_are_those_of_the_criterion(side):
    """The heat maps compute `co_occurrence` for all classes at once."""
    from oochub.figures._pairs import judge_pairs

    given = scenes(1, area=scenes(1).area.astype(np.float32))  # float32 0.1 is above 0.1
    criterion, mask = oochub.get("criterion", "co_occurrence"), given.present == (side == "positive")
    cells = {(row, column): hard for row, column, hard in judge_pairs(given, mask, side, [0, 0.1], [0.1, 0.2])}
    for (row, column), hard in cells.items():
        alpha, beta = [0, 0.1][row], [0.1, 0.2][column]
        named = [criterion(given.present[:, y], given.area[:, given.contexts(alpha)[y]], beta) for y in range(C)]
        np.testing.assert_array_equal(hard, (np.stack(named, axis=1) == f"hard_{side}")[mask])
    assert len(cells) == 4


def test_tau_curves_are_shares_of_the_pairs_with_a_similarity():
    given = scenes()
    ax = oochub.get("figure", "tau_curves")(given)
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    for line, side, label in zip(ax.lines, SIDES, legend, strict=True):
        known = [given.similarity[i, y] for i, y in pairs(given, side) if y != 5]
        tau, share = line.get_data()
        hard = [sum(s < t if side == "positive" else s > t for s in known) for t in tau]
        np.testing.assert_allclose(share, 100 * np.array(hard) / len(known))
        assert label == f"{side}s {'below' if side == 'positive' else 'above'} τ (n = {len(known)})"
    assert ax.lines[0].get_ydata()[[0, -1]].tolist() == [0, 100]
    assert ax.lines[0].get_linestyle() != ax.lines[1].get_linestyle()


def test_tau_at_a_similarity_is_neither_below_nor_above():
    """Planted fault seen: the two ends of searchsorted changed places."""
    given = scenes(similarity=np.full((N, C), 0.5))
    for line in oochub.get("figure", "tau_curves")(given).lines:
        tau, share = line.get_data()
        assert share[np.isclose(tau, 0.5)].tolist() == [0] * np.isclose(tau, 0.5).sum() != []


@pytest.mark.parametrize("fewest", [1, 20])
def test_tau_loss_is_a_mean_of_at_least_the_fewest(fewest):
    given = scenes()
    ax = oochub.get("figure", "tau_loss")(given, fewest=fewest)
    for k, side in enumerate(SIDES):
        (tau, mean), (_, (level, _)) = (line.get_data() for line in ax.lines[2 * k : 2 * k + 2])
        known = [(given.similarity[i, y], nll(given, i, y)) for i, y in pairs(given, side) if y != 5]
        assert level == pytest.approx(np.mean([loss for _, loss in known]))
        assert f"{level:.3f}" in ax.get_legend().get_texts()[k].get_text()
        band = {}  # both edges, by tau
        for x, y in np.concatenate([path.vertices for path in ax.collections[k].get_paths()]):
            band.setdefault(round(x, 6), []).append(y)
        for t, drawn in zip(tau, mean, strict=True):
            losses = [loss for s, loss in known if (s < t if side == "positive" else s > t)]
            assert drawn == pytest.approx(np.mean(losses)) if len(losses) >= fewest else np.isnan(drawn), t
            if len(losses) >= max(fewest, 2):
                half = 1.96 * np.std(losses, ddof=1) / np.sqrt(len(losses))
                assert [min(band[round(t, 6)]), max(band[round(t, 6)])] == pytest.approx([drawn - half, drawn + half])
        assert 0 < np.isnan(mean).sum() < len(mean)


def test_contexts_over_alpha_counts_tasks():
    given = scenes()
    ax = oochub.get("figure", "contexts_over_alpha")(given)
    count = {
        (least, a): sum(sum(given.surplus[y, k] > a for k in range(C)) >= least for y in range(C))
        for least in range(1, 6)
        for a in [k / 200 for k in range(61)]
    }
    for least, line in enumerate(ax.lines[:5], start=1):
        assert line.get_ydata().tolist() == [count[least, a] for a in line.get_xdata()]
        assert len(line.get_xdata()) == min(61, 1 + sum(count[least, a / 200] > 0 for a in range(61)))
    printed = [text.get_text() for text in ax.get_legend().get_texts()]
    assert printed == [f"{k}: {count[k, 0]} at α = 0, {count[k, 0.05]} at 0.05" for k in range(1, 6)]
    assert len(set(printed)) == 5 and ax.get_ylabel() == "tasks, of 7"


def losses(n=40, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for criterion in ("ce", "gist"):
        for side in SIDES:
            everything = rng.gamma(2, 0.3, n)
            hard = everything * rng.lognormal(0.3, 0.4, n)
            hard[:3] = np.nan
            names = [f"wine_glass_{k}" for k in range(n)]
            task_rows = {"task": names, "criterion": criterion, "side": side, "n_all": 100, "n_hard": 9}
            rows.append(pd.DataFrame(task_rows | {"loss_all": everything, "loss_hard": hard}))
    return pd.concat(rows, ignore_index=True)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("criterion", ["ce", "gist"])
def test_hard_against_all_counts_and_names(criterion, side):
    """Planted fault seen: the criterion not selected."""
    given = losses()
    ax = oochub.get("figure", "hard_against_all")(given, criterion=criterion, side=side)
    rows = [row for row in given.to_dict("records") if (row["criterion"], row["side"]) == (criterion, side)]
    points = [(row["loss_all"], row["loss_hard"]) for row in rows if row["loss_hard"] == row["loss_hard"]]
    above = {point for point in points if point[1] > point[0]}
    assert set(marks(ax)[theme.LIGHT["out"]]) == above and set(marks(ax)["none"]) == set(points) - above
    assert 0 < len(above) < 37
    assert ax.get_title(loc="left") == f"{len(above)} of 37 tasks above the diagonal"
    assert ax.get_xlabel().startswith(f"mean loss on all {side}s, nats ↓\n(without hard {side}s: 3 of 40 tasks)\n")
    share = binomtest(len(above), 37).proportion_ci(method="wilson")
    assert ax.get_xlabel().endswith(f"share above: {100 * share.low:.0f} to {100 * share.high:.0f}% (n = 37)")
    assert {"ce": "co-occurrence", "gist": "gist"}[criterion] in ax.get_ylabel()
    far = sorted((row for row in rows if row["loss_hard"] > 0), key=lambda row: row["loss_all"] - row["loss_hard"])
    named = [text.get_text() for text in ax.texts]
    assert named[0] == far[0]["task"].replace("_", " ") and len(named) > 3
    assert set(named) <= {row["task"].replace("_", " ") for row in far[:8]}
    assert ax.get_xlim() == ax.get_ylim()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_names_cover_neither_each_other_nor_a_point(seed):
    """Planted fault seen: the first place is always taken."""
    from matplotlib.text import Text

    ax = oochub.get("figure", "hard_against_all")(losses(150, seed))
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in ax.texts]
    middles = [ax.transData.transform(point) for part in marks(ax).values() for point in part]
    assert len(boxes) >= 3
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])
        assert not any(box.contains(*middle) for middle in middles)
        frame = ax.get_window_extent()
        assert frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1


def arguments_of(name):
    """Made-up material for a figure, by the name of its first parameter: a new figure is not named here."""
    import reports
    from detection_reports import detection_report
    from found_rows import found_report
    from probed_report import probed_report
    from scored import parts, scored_sets
    from test_figures_of_detection import numbers
    from test_figures_of_reports import made

    of_name = {"detection": detection_report, "confusion_by_context": reports.spawrious_report}
    of_name |= {"context_gaps": found_report, "background_probe": probed_report}
    material = {
        "report": lambda: reports.read(of_name[name]()) if name in of_name else made(),
        "reports": lambda: [made()],
        "scenes": scenes,
        "predicted_scenes": scenes,
        "losses": losses,
        "scored_sets": lambda: scored_sets(given=parts(times=2)),
        "detection_numbers": numbers,
    }
    first = next(iter(inspect.signature(oochub.get("figure", name)).parameters))
    assert first in material, f"figures/{name}.py: its first parameter must be one of {list(material)}, got {first}"
    return (material[first](),)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(oochub.names("figure")) - OF_PICTURES))
def test_every_figure_draws_on_given_axes_and_leaves_the_style_alone(name):
    function, arguments = oochub.get("figure", name), arguments_of(name)
    before = dict(mpl.rcParams)
    figure, (left, right) = mpl.pyplot.subplots(1, 2)
    assert function(*arguments, ax=right) is right
    assert right.has_data() and not left.has_data() and mpl.pyplot.get_fignums() == [figure.number]
    assert dict(mpl.rcParams) == before
    assert function(*arguments) not in (left, right)
    drawn = function(*arguments)
    assert drawn.get_title(loc="left"), f"figures/{name}.py: a title says what it shows (_style.draw_title)"
    if drawn.get_legend() is not None:
        drawn.figure.canvas.draw()
        boxes = [each.get_window_extent() for each in (drawn._left_title, drawn.get_legend())]
        assert not boxes[0].overlaps(boxes[1]), f"figures/{name}.py: the title lies on the legend"
    text = texts(drawn)
    assert "nan" not in text and "None" not in text
    assert re.search(r"\bn [=0-9]|, of \d|of all \d|\(n = ", text), f"figures/{name}.py: of how many rows?"
    if name not in COUNTS:
        assert re.search("95% |standard deviation", text), (
            f"figures/{name}.py: a caption says what the intervals are; without any its test has COUNTS_ONLY"
        )


@pytest.mark.parametrize("name", sorted(set(oochub.names("figure")) - {"gallery"}))  # which takes two things
def test_every_figure_says_what_it_takes_and_gives(name):
    function = oochub.get("figure", name)
    parameters = inspect.signature(function).parameters
    assert parameters["ax"].default is None
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in list(parameters.values())[1:])
    for word in ("Args:", "Returns:", "Raises:", "Source:", ">>>"):
        assert word in function.__doc__


def test_every_figure_has_its_picture():
    from pathlib import Path

    folder = Path(__file__).parents[2] / "docs" / "figures"
    names = oochub.names("figure")
    assert len(names) >= 7
    for name in names:
        assert (folder / f"{name}.png").is_file(), f"python docs/make/figures.py has not drawn {name}"


@pytest.mark.parametrize(
    ("name", "given", "options", "message"),
    [
        ("alpha_beta_share", scenes(), {"side": "postive"}, "Did you mean 'positive'"),
        ("alpha_beta_share", scenes(), {"alphas": [-0.1]}, "alpha must be at least 0, got -0.1"),
        ("alpha_beta_share", scenes(present=np.zeros((N, C), bool)), {}, "no positive .image, class. pair"),
        ("alpha_beta_loss", scenes(present=np.ones((N, C), bool)), {"side": "negative"}, "no negative"),
        ("alpha_beta_loss", scenes(logit=None), {}, "need predictions"),
        ("alpha_beta_loss", scenes(surplus=np.full((C, C), np.nan)), {}, "No positive is hard"),
        ("tau_curves", scenes(similarity=None), {}, "no gist similarity"),
        ("tau_curves", scenes(similarity=np.full((N, C), np.nan)), {}, "No positive .* has a gist similarity"),
        ("tau_loss", scenes(similarity=None), {}, "no gist similarity"),
        ("tau_loss", scenes(logit=None), {}, "need predictions"),
        ("contexts_over_alpha", scenes(surplus=np.full((C, C), np.nan)), {}, "No class has a context"),
        ("hard_against_all", losses(), {"criterion": "cee"}, "Did you mean 'ce'"),
        ("hard_against_all", losses().drop(columns="side"), {}, "side missing"),
        ("hard_against_all", losses().head(3), {}, "No task has a loss on hard positives by ce"),
        ("hard_against_all", losses().head(0), {}, "No task has a loss"),
    ],
)
def test_what_cannot_be_drawn_is_said(name, given, options, message):
    with pytest.raises(OochubError, match=message):
        oochub.get("figure", name)(given, **options)
    assert mpl.pyplot.get_fignums() == []


@pytest.mark.parametrize("side", SIDES)
def test_numbers_of_the_figures_as_csv(side):
    """A loop over pairs for the heat maps, the lines of the curves. Planted fault seen: numbers of the other side."""
    given, sources = scenes(), Sources(names=["all.parquet"])
    of_side = pairs(given, side)
    for name in ("alpha_beta_share", "alpha_beta_loss"):
        table = Plot.parse(f"{name}:side={side}:alphas=0.05,0.31:betas=0.1,0.3={name}.csv", sources).rows(given)
        for cell in table.to_dict("records"):
            hard = [pair for pair in of_side if is_hard(given, *pair, cell["alpha"], cell["beta"])]
            assert cell["n_hard"] == len(hard)
            value = np.mean([nll(given, *pair) for pair in hard]) if hard else np.nan
            value = value if name == "alpha_beta_loss" else len(hard) / len(of_side)
            np.testing.assert_allclose(cell["loss" if name == "alpha_beta_loss" else "share"], value)
        assert table[["alpha", "beta"]].to_numpy().tolist() == [[a, b] for a in (0.05, 0.31) for b in (0.1, 0.3)]
    for name, column in (("tau_curves", f"hard_{side}s"), ("tau_loss", f"loss_of_hard_{side}s")):
        drawn = oochub.get("figure", name)(given)
        table = Plot.parse(f"{name}={name}.csv", sources).rows(given)
        line = next(each for each in drawn.lines if str(each.get_label()).startswith(side))
        scale = 100 / table[f"n_{side}s"] if name == "tau_curves" else 1
        np.testing.assert_allclose(
            np.transpose(line.get_data()), np.column_stack([table["tau"], table[column] * scale])
        )
    table = Plot.parse(f"hard_against_all:criterion=gist:side={side}=x.csv", sources).rows(losses())
    assert set(table["side"]) == {side} and set(table["criterion"]) == {"gist"} and len(table) > 1
