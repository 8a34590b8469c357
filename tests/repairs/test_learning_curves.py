"""Learning curves: the cell that lacks rows gains most, about what is promised, and no row that proves is read."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from repair_rows_by_hand import predictions_by_hand, rows_by_hand
from scipy.optimize import curve_fit

from oochub.repairs.head_method import HeadRows
from oochub.repairs.head_methods.retrain_weighted import RetrainWeighted
from oochub.repairs.learning_curves import (
    _FOLDS,
    _CountedCell,
    _divide,
    _measure_gain,
    _resample,
    draw_learning_curves,
    fit_curve,
    list_cells,
    measure_worse,
)
from oochub.repairs.repair_data import RepairRows, RowParts, divide_rows

MORE = 100


def hard_rows(sizes, *, seed=0, width=30):
    """Rows of four cells, (dog, cat) x (usual, unusual), whose class is told by many weak features; `sizes` by cell."""
    rng = np.random.default_rng(seed)
    cell = np.repeat(np.arange(4), sizes)
    y, out = cell // 2, cell % 2
    context = np.where(out == 1, 1 - y, y)
    features = rng.normal(size=(len(y), width)).astype(np.float32)
    features[:, :10] += 0.45 * (2 * y - 1)[:, None]
    features[:, 10] += 3 * (2 * context - 1)
    return features, y, out.astype(bool), cell


def repair_rows(body, prove):
    """Rows of which the first ones fit and choose by turns, and the others prove; and their division."""
    parts = [hard_rows(body, seed=1), hard_rows(prove, seed=2)]
    features, y, out, _ = (np.concatenate(each) for each in zip(*parts, strict=True))
    given = predictions_by_hand({"all": (1, 1)})
    made = given.from_arrays(
        logits=np.zeros((len(y), 2), np.float32),
        features=features,
        label=y,
        class_names=["cat", "dog"],
        challenge=np.where(out, "hard", "easy"),
    )
    n = sum(body)
    numbers = np.arange(n)
    division = RowParts(fit=numbers[::2], choose=numbers[1::2], prove=np.arange(n, len(y)), seen=np.zeros(len(y), bool))
    return RepairRows.of(made), division


def test_the_curve_is_that_of_least_squares():
    """Against scipy's curve_fit on the means."""
    sizes = np.array([4.0, 4.0, 9.0, 25.0, 25.0, 60.0])
    accuracy = np.array([0.5, 0.56, 0.63, 0.71, 0.7, 0.79])
    means = [0.53, 0.63, 0.705, 0.79]
    for exponent in (0.25, 0.5, 1.0):

        def curve(n, a, b, exponent=exponent):
            return a - b * n**-exponent

        wanted, _ = curve_fit(curve, np.unique(sizes), means, p0=(0.8, 0.5))
        assert fit_curve(sizes, accuracy, exponent=exponent) == pytest.approx(tuple(wanted), rel=1e-5)


def test_the_worse_side_is_that_of_a_loop():
    """The mean over the classes of each side, on rows repeated as often as their weights say."""
    rng = np.random.default_rng(0)
    right, cell, weight = rng.random((5, 60)) < 0.7, rng.integers(0, 6, 60), rng.integers(0, 4, 60).astype(float)
    for row, found in zip(right, measure_worse(right.astype(float), cell, weight), strict=True):
        repeated = [(k, r) for k, r, w in zip(cell, row, weight, strict=True) for _ in range(int(w))]
        shares = [np.mean([r for k, r in repeated if k == each]) for each in range(6)]
        assert found == pytest.approx(min(np.mean(shares[0::2]), np.mean(shares[1::2])))


@pytest.mark.slow
def test_the_cell_that_lacks_rows_gains_most_and_about_what_is_promised():
    """Beside heads refitted with as many fresh rows of each cell, 100 at most, on 4,000 rows that prove."""
    rows, parts = repair_rows((200, 16, 200, 200), (1000, 1000, 1000, 1000))
    found = draw_learning_curves(rows, parts, more=MORE, seed=0)
    promised = {cell.name: cell.gain for cell in found.cells}
    assert found.cells[0].name == "cat in unusual contexts" and found.cells[0] in found.first
    assert found.scored == 616 and found.scored_out == 216 and not found.is_seen
    body = np.union1d(parts.fit, parts.choose)
    cells = {cell.name: np.flatnonzero(cell.has)[0] for cell in list_cells(rows, body)}

    def worse(features, y, group):
        head = RetrainWeighted(c=found.settings["c"]).fit(HeadRows(features, y, group, 2), seed=0)
        right = rows.is_right(head, parts.prove)[None].astype(float)
        return measure_worse(right, rows.groups["side"][parts.prove], np.ones(len(parts.prove)))[0]

    known = rows.features[body], rows.label[body], rows.groups["side"][body]
    more = {cell.name: cell.more for cell in found.cells}
    assert more == {cell.name: min(MORE, cell.rows) for cell in found.cells} and min(more.values()) == 16
    base, gained = worse(*known), {}
    for name, row in cells.items():
        own = int(rows.groups["side"][row])
        added = [hard_rows([more[name] if k == own else 0 for k in range(4)], seed=seed) for seed in (5, 6, 7)]
        true = [
            worse(*(np.concatenate(pair) for pair in zip(known, (features, y, cell), strict=True)))
            for features, y, _, cell in added
        ]
        gained[name] = np.mean(true) - base
        assert abs(promised[name] - gained[name]) < 0.02, (name, gained[name], promised[name])
    first = "cat in unusual contexts"
    assert gained[first] == max(gained.values()) > 0.005
    assert promised[first].low <= gained[first] <= promised[first].high


def _curves_by_hand(shares, *, cell=10, repeats=1, cluster=None):
    """Heads on 4 and on 16 rows of a cell, which answer so many of each class and side; and a cell of 16 rows."""
    places = np.arange(cell)
    right = np.stack([np.tile(np.repeat(places < round(share * cell), repeats), 4) for share in shares]).astype(float)
    side = np.repeat(np.arange(4), cell * repeats)
    rows = SimpleNamespace(is_out=side % 2 == 1, groups={"side": side}, cluster=cluster)
    drawn = np.array([4.0, 16.0]), right
    curves = SimpleNamespace(rows=rows, scored=np.arange(len(side)), seed=0, draw=lambda has: drawn)
    return curves, _CountedCell(SimpleNamespace(has=None, name="cat", side="out"), False, 16, 0.5)


def test_the_promise_of_more_rows_is_that_of_the_curve():
    """By hand: .5 with 4 rows and .7 with 16 is .9 - .8 / sqrt(n), followed from 16 rows to 24 and at most to 32."""
    curves, cell = _curves_by_hand((0.5, 0.7), cell=200)
    for asked, more in ((8, 8), (16, 16), (100, 16)):
        found = _measure_gain(curves, cell, more=asked)
        assert (found.level, found.fall, found.more) == (pytest.approx(0.9), pytest.approx(0.8), more)
        assert found.gain == pytest.approx(0.8 * (16**-0.5 - (16 + more) ** -0.5))
        assert found.gain.low < found.gain < found.gain.high


def test_rows_of_a_cluster_are_one_row_to_the_promise():
    """Four copies of each row in a cluster have the interval of one row each. Planted fault seen: clusters ignored."""
    single = _measure_gain(*_curves_by_hand((0.5, 0.7)), more=8).gain
    clusters = np.arange(40).repeat(4)
    curves, _ = _curves_by_hand((0.5, 0.7), repeats=4, cluster=clusters)
    fourfold = _resample(curves, *curves.draw(None), rows=16, more=8)
    assert fourfold == pytest.approx((single.low, single.high))


def test_a_promise_of_nothing_is_as_wide_as_rows_allow():
    """By hand: no row of 20 on a side changed, so Wilson's z² / (20 + z²) may have, over a curve from 4 to 16 rows."""
    found = _measure_gain(*_curves_by_hand((1.0, 1.0)), more=8).gain
    reach = (16**-0.5 - 24**-0.5) / (4**-0.5 - 16**-0.5)
    half = 1.959963984540054**2 / (20 + 1.959963984540054**2) * reach
    assert (float(found), found.low, found.high) == pytest.approx((0, -half, half))


@pytest.mark.slow
def test_no_row_that_proves_is_looked_at():
    """Their labels exchanged and their features made noise, the answer is the same, and so it is again."""
    rows, parts = repair_rows((60, 20, 60, 20), (30, 30, 30, 30))
    found = draw_learning_curves(rows, parts, more=50, seed=3)
    features, label = rows.features.copy(), rows.label.copy()
    features[parts.prove] = np.random.default_rng(9).normal(size=features[parts.prove].shape)
    label[parts.prove] = 1 - label[parts.prove]
    changed = draw_learning_curves(replace(rows, features=features, label=label), parts, more=50, seed=3)
    assert changed == found


@pytest.mark.slow
def test_rows_that_the_model_was_trained_on_score_only_if_there_are_too_few_others():
    rows = rows_by_hand({"train": (30, 12), "validation": (12, 12), "test": (20, 20)})
    parts = divide_rows(rows, trained=["train"])
    found = draw_learning_curves(rows, parts, more=20, seed=0)
    assert found.scored == 48 and not found.is_seen
    rows = rows_by_hand({"train": (30, 12), "validation": (12, 2), "test": (20, 20)})
    found = draw_learning_curves(rows, divide_rows(rows, trained=["train"]), more=20, seed=0)
    assert found.scored == 112 and found.is_seen


@pytest.mark.slow
def test_too_few_rows_are_said_in_words():
    """Fewer than 10 on a side: no number at all. Fewer than 8 in a cell: none for that cell."""
    rows = rows_by_hand({"validation": (40, 4), "test": (20, 20)})
    found = draw_learning_curves(rows, divide_rows(rows, trained=[]), more=20, seed=0)
    assert not found.cells and "80 in usual and 8 in unusual contexts" in found.reason
    rows = rows_by_hand({"validation": (40, 6), "test": (20, 20)})
    found = draw_learning_curves(rows, divide_rows(rows, trained=[]), more=20, seed=0)
    untold = [cell for cell in found.cells if cell.side == "out"]
    assert len(untold) == 2 and all(np.isnan(cell.gain) and "8 are needed" in cell.gain.reason for cell in untold)
    assert not any(np.isnan(cell.gain) for cell in found.cells if cell.side == "in")


@pytest.mark.slow
def test_an_interval_has_a_width_even_if_no_row_changes():
    """Every head is right on every row: the share that may still change is that of 0 of n by Wilson."""
    rows = rows_by_hand({"validation": (60, 30), "test": (20, 20)})
    rows = replace(rows, features=(40.0 * (2 * rows.label - 1))[:, None].astype(np.float32))
    found = draw_learning_curves(rows, divide_rows(rows, trained=[]), more=50, seed=0)
    first = found.cells[0].gain
    assert abs(first) < 1e-9 and first.low < -0.005 and first.high > 0.005


def test_a_cluster_stands_in_one_fold():
    """Planted fault seen: the folds drawn by row."""
    rows = rows_by_hand({"validation": (20, 20), "test": (5, 5)})
    body = np.flatnonzero(rows.split == "validation")
    cluster = np.array([f"c{k % 9}" for k in range(len(rows.label))])
    fold = _divide(replace(rows, cluster=cluster), body, seed=0)
    assert all(len(np.unique(fold[body][cluster[body] == each])) == 1 for each in np.unique(cluster))
    assert set(fold[body]) == set(range(_FOLDS)) and (np.delete(fold, body) == -1).all()
    alone = _divide(rows, body, seed=0)
    counts = [np.bincount(alone[body][rows.groups["side"][body] == cell], minlength=_FOLDS) for cell in range(4)]
    assert np.ptp(counts) == 0
