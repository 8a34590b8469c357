"""Accuracy on the line and the matrix: against scipy's regression of scipy's probits, and cells worked by hand."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
import reports
from scipy import stats

import oochub
from oochub.comparison.comparison_page import format_matrix, lay_out_matrix, make_gap_matrix
from oochub.comparison.model_line import draw_line_chart, make_line_chart, model_lines
from oochub.stats.estimate import Estimate

mpl.use("Agg")
INSIDE = (0.99, 0.95, 0.97, 0.90, 0.85, 0.93)
OUTSIDE = (0.85, 0.70, 0.88, 0.55, 0.50, 0.62)


def made(name, inside, outside, *, width=0.02, config="ce_car", metric="auc", n=400, seeds=()):
    """A report with these numbers in and out of context."""
    content = reports.nooch_report()
    content["model"] |= {"id": name, "objective": None, "seeds": list(seeds)}
    content["benchmark"]["config"] = config
    report = reports.read(content)

    def with_number(part):
        value = {"in": inside, "out": outside}.get(part.role)
        if value is None:
            return part
        ends = {} if width is None else {"low": max(value - width, 0), "high": min(value + width / 2, 1)}
        return replace(part, metrics={**part.metrics, metric: Estimate(value, n=n, method="made", **ends)})

    gap = Estimate(outside - inside, low=outside - inside - 0.03, high=outside - inside + 0.03, n=800, method="made")
    return replace(report, slices=tuple(map(with_number, report.slices)), gap=replace(report.gap, estimate=gap))


def models(**more):
    return [made(f"model {k}", x, y, **more) for k, (x, y) in enumerate(zip(INSIDE, OUTSIDE, strict=True))]


@pytest.fixture(scope="module")
def line():
    return model_lines(models())[0]


def test_the_line_is_scipys_through_probits(line):
    """Planted faults: the line of plain shares; out of context to the right."""
    fit = stats.linregress(stats.norm.ppf(INSIDE), stats.norm.ppf(OUTSIDE))
    assert (line.fit.slope, line.fit.intercept) == pytest.approx((fit.slope, fit.intercept))
    assert line.fit.slope.high - line.fit.slope == pytest.approx(stats.t.ppf(0.975, 4) * fit.stderr)
    across = np.array([0.8, 0.95])
    assert line.at(across)[0] == pytest.approx(stats.norm.cdf(fit.intercept + fit.slope * stats.norm.ppf(across)))


def test_robustness_is_the_height_above_the_line(line):
    """The interval is made by hand of its three parts. Planted faults: the sign turned; the band left out."""
    fit = stats.linregress(stats.norm.ppf(INSIDE), stats.norm.ppf(OUTSIDE))
    on_line = lambda x: stats.norm.cdf(fit.intercept + fit.slope * stats.norm.ppf(x))  # noqa: E731
    assert [point.outside.value for point in line.points] == sorted(OUTSIDE, reverse=True)
    for point in line.points:
        x, y, expected = point.inside, point.outside, on_line(point.inside)
        assert point.robustness == pytest.approx(y - expected)
        _, (low,), (high,) = line.at([x.value])
        below = np.hypot(expected - low, expected - on_line(x.low))
        above = np.hypot(high - expected, on_line(min(x.high, 1 - 1 / 800)) - expected)
        assert point.robustness.low == pytest.approx(point.robustness - np.hypot(y - y.low, above))
        assert point.robustness.high == pytest.approx(point.robustness + np.hypot(y.high - y, below))


def test_a_metric_of_which_lower_is_better_turns_the_sign():
    """Errors are 1 - accuracy: the same line mirrored. Planted fault: always out minus line."""
    up = model_lines(models(metric="accuracy"), metric="accuracy")[0]
    errors = zip(1 - np.array(INSIDE), 1 - np.array(OUTSIDE), strict=True)
    given = [made(f"model {k}", x, y, metric="error_rate") for k, (x, y) in enumerate(errors)]
    down = model_lines(given, metric="error_rate")[0]
    assert [p.model for p in down.points] == [p.model for p in up.points]
    assert [p.robustness.value for p in down.points] == pytest.approx([p.robustness.value for p in up.points])


def test_few_models_equal_ones_and_ones_without_a_side():
    few = model_lines(models()[:4])[0]
    assert few.fit is None and "4 models: a line needs at least 5" in few.points[0].robustness.reason
    assert few.sentence == "4 models; a line needs at least 5." and "chance" in draw_line_chart(few, number=0)
    with pytest.raises(oochub.OochubError, match="4 models; a line needs at least 5"):
        few.at([0.5])
    equal = model_lines([made(f"m{k}", 0.9, 0.5 + k / 20) for k in range(6)])[0]
    assert equal.fit is None and "all models have the same number" in equal.points[0].robustness.reason
    lacking = replace(models()[0], slices=tuple(part for part in models()[0].slices if part.role != "out"))
    found = model_lines([lacking, *models()[1:]])[0]
    assert len(found.points) == 5 and found.left_out == ("model 0: auc is not available on both sides",)
    with pytest.raises(oochub.OochubError, match="No report has a number both in and out"):
        model_lines([lacking])
    with pytest.raises(oochub.OochubError, match="Did you mean 'accuracy'"):
        model_lines(models(), metric="acuracy")
    with pytest.raises(oochub.OochubError, match="There are no reports"):
        model_lines([])


def test_a_share_of_one_has_a_place():
    """Half an example away from 1, in the fit and in the chart. Planted fault: the probit of 1, which is infinite."""
    line = model_lines([*models(), made("perfect", 1.0, 1.0, n=500)])[0]
    x = [*INSIDE, 1 - 1 / 1000]
    y = [*OUTSIDE, 1 - 1 / 1000]
    assert line.fit.slope == pytest.approx(stats.linregress(stats.norm.ppf(x), stats.norm.ppf(y)).slope)
    chart = draw_line_chart(line, number=3)
    assert "nan" not in chart and "inf" not in chart and 'id="line-3"' in chart
    chart = make_line_chart(line)
    assert all(axis.low < line.place(0.999) < axis.high for axis in (chart.x, chart.y))


def test_seeds_and_configs_tell_reports_apart():
    seeds = [made("same", 0.9, 0.6 + k / 50, seeds=[k]) for k in range(2)]
    assert {point.model for point in model_lines(seeds)[0].points} == {"same, seed 0", "same, seed 1"}
    lines = model_lines([*models(), *models(config="ce_cow")[:2]])
    assert [(line.config, len(line.points)) for line in lines] == [("ce_car", 6), ("ce_cow", 2)]


def test_cells_are_the_numbers_of_the_reports():
    """Planted faults: rows and columns turned; the heat of a gain."""
    given = [*models()[:3], made("model 1", 0.8, 0.9, config="ce_cow")]
    matrix = make_gap_matrix(given)
    assert matrix.models == ("model 0", "model 1", "model 2") and matrix.benchmarks == ("nooch/ce_car", "nooch/ce_cow")
    assert set(matrix.cells) == {(f"model {k}", "nooch/ce_car") for k in range(3)} | {("model 1", "nooch/ce_cow")}
    cell = matrix.cells["model 0", "nooch/ce_car"]
    assert cell.estimate is given[0]["gap"] and cell.lost == pytest.approx(0.99 - 0.85)
    assert matrix.cells["model 1", "nooch/ce_cow"].lost == 0
    errors = make_gap_matrix(given, number="out_of_context/auc" if "out_of_context/auc" in given[0] else "out/auc")
    assert errors.cells["model 2", "nooch/ce_car"].estimate == pytest.approx(0.88)
    with pytest.raises(oochub.OochubError, match=r"Two reports are for model 0 on nooch/ce_car"):
        make_gap_matrix([given[0], given[0]])
    with pytest.raises(oochub.OochubError, match="Did you mean"):
        make_gap_matrix(given, number="acurracy")


def test_both_sides_of_a_single_model_stand_before_its_gap():
    """On two data sets. Planted faults: the sides turned; a gap without its sign."""
    given = [made("m", 0.99, 0.85), made("m", 0.8, 0.9, config="ce_cow")]
    layout = lay_out_matrix(make_gap_matrix(given))
    numbers = [[cell.estimate.value for cell in cells] for _, cells in layout.rows]
    assert (layout.corner, [head for head, _ in layout.heads]) == ("Dataset", ["in context", "out of context", "gap"])
    assert numbers == [pytest.approx([0.99, 0.85, -0.14]), pytest.approx([0.8, 0.9, 0.1])]
    table = format_matrix(make_gap_matrix(given))
    assert table.title == "The gap of m" and table.rows[0][0] == "nooch/ce_car, AUC"
    assert table.rows[0][1:] == ("99.0 (97.0 to 100.0)", "85.0 (83.0 to 86.0)", "−14.0 (−17.0 to −11.0)")
    assert table.rows[1][3] == "+10.0 (+7.0 to +13.0)"
    bare = format_matrix(make_gap_matrix([made("m", 0.99, 0.85, width=None), given[1]]))
    assert bare.rows[0][1:3] == ("99.0", "85.0")


def test_what_there_is_more_of_stands_below_each_other():
    """Planted fault: cells by the other of their two names."""
    two = [*models()[:2], *models(config="ce_cow")[:2]]
    assert lay_out_matrix(make_gap_matrix(two)).corner == "Model"
    layout = lay_out_matrix(make_gap_matrix([*two, made("model 1", 0.8, 0.9, config="ce_bus")]))
    assert layout.corner == "Dataset" and [head for head, _ in layout.heads] == ["model 0", "model 1"]
    (first, second) = layout.rows[2][1]
    assert first is None and second.estimate == pytest.approx(0.1)


def test_the_figures_draw_the_same_numbers(tmp_path):
    figure, matrix = (oochub.get("figure", name) for name in ("accuracy_on_the_line", "benchmark_matrix"))
    ax = figure(models())
    marks = next(each for each in ax.lines if each.get_marker() == "D")
    assert sorted(stats.norm.cdf(marks.get_ydata())) == pytest.approx(sorted(OUTSIDE))
    assert sorted(stats.norm.cdf(marks.get_xdata())) == pytest.approx(sorted(INSIDE))
    both = [*models(), *models(config="ce_cow")[:2]]
    with pytest.raises(oochub.OochubError, match="Choose one: config='ce_car'"):
        figure(both)
    assert "2 models" in figure(both, config="ce_cow").get_title(loc="left")
    with pytest.raises(oochub.OochubError, match="Did you mean 'ce_cow'"):
        figure(both, config="ce_cov")
    texts = [text.get_text() for text in matrix(both).texts]
    assert len(texts) == 12 and texts.count("–") == 4 and texts[0].startswith("−14.0\n−17.0 to −11.0\nn 800")
