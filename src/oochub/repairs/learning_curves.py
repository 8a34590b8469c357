"""Which rows to collect: learning curves of the worse side over the rows of each cell, and what more rows should gain.

The accuracy of a head that is fitted on n rows falls short of its best by about b / sqrt(n), as estimates do. This is
fitted to what heads on growing numbers of a cell's rows reach by cross-validation, and followed to more rows.

Cells of rows that may be collected together: each class on each side, and in each context.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.data.declaration import find_declaration
from oochub.prediction.predictions_file import StoredHead
from oochub.process.follow import follow
from oochub.records.report_records import Side
from oochub.repairs.collection import CellGain, Collection, CurvePoint
from oochub.repairs.head_method import HeadRows
from oochub.repairs.head_methods.retrain_weighted import RetrainWeighted
from oochub.repairs.repair_data import FEWEST, RepairRows, RowParts
from oochub.report.format_numbers import count
from oochub.stats.estimate import Estimate
from oochub.stats.proportion import wilson

FEWEST_SCORED = 10
"""Rows on either side below which nothing is told."""
_FEWEST_IN_CELL = 8
_MOST_CELLS = 12
_FOLDS = 4
_SHARES = (0.2, 0.35, 0.6, 0.8)  # of the rows of a cell that a fold fits on; all of them is one more
_SUBSETS = 4  # for each share
_EXPONENTS = (0.05, 2.0)  # of curves in the interval, from nearly a logarithm to a fast end; the estimate has 1/2
_REPLICATES = 400
_METHOD = "learning curve; bootstrap over rows, subsets and exponents"


class CellRows(NamedTuple):
    """Rows that may be collected together: a class on one side, or in one context.

    Attributes:
        name: Its name: that of its group, else class and side.
        side: The side of its context.
        has: Whether each row (n,) belongs to it.
        is_part: Whether it is one context of several on its side.
    """

    name: str
    side: Side
    has: NDArray[np.bool_]
    is_part: bool


def list_cells(rows: RepairRows, some: NDArray[np.int64]) -> list[CellRows]:
    """The cells of some rows: each class on each side, and in each context if that tells more rows apart.

    Args:
        rows: All rows.
        some: Rows whose cells are listed.
    """
    column = find_declaration(rows.predictions).group_column
    named = rows.predictions.column(column).astype(str) if column in rows.predictions.column_names else None
    cells: list[CellRows] = []
    for kind, group in rows.groups.items():
        for number in np.unique(group[some]):
            own = some[group[some] == number]
            side: Side = "out" if rows.is_out[own].mean() > 0.5 else "in"
            names = [] if named is None else np.unique(named[own]).tolist()
            label = rows.predictions.class_names[rows.label[own[0]]]
            whole = f"{label} in {'unusual' if side == 'out' else 'usual'} contexts"
            name = str(names[0]) if len(names) == 1 else whole
            if name not in [cell.name for cell in cells]:  # a side with one context is that context
                cells.append(CellRows(name, side, group == number, kind != "side"))
    return cells


class _Kind(NamedTuple):
    """A head: the strength of its penalty, and whether only rows that the model was not trained on fit it."""

    c: float
    unseen: bool


class _CountedCell(NamedTuple):
    """A cell, its rows that heads are fitted on, and how well its class is answered."""

    cell: CellRows
    is_part: bool
    rows: int
    accuracy: float


def draw_learning_curves(rows: RepairRows, parts: RowParts, *, more: int, seed: int) -> Collection:
    """What the worse side should gain with more rows of each cell.

    The rows that fit and choose are divided in four. The rows of three quarters fit heads, with growing numbers of
    random rows of one cell and all rows of the others, and the last quarter scores them; each quarter is the last once.
    Rows that the model was trained on do not score, unless the others are fewer than ten on either side, or its encoder
    is frozen under a linear probe and knows none by heart. No row that proves is looked at.

    The head is a logistic regression on weighted groups, because it uses every row: one on balanced groups would gain
    nothing from a group that is not the smallest. Its penalty is the one with the best worse side.

    The interval is that of curves over resampled rows, or clusters, and resampled subsets, with exponents between
    1/20, nearly a logarithm, and 2 in place of 1/2. It is never narrower than that of a curve of which no row changed.

    Args:
        rows: All rows.
        parts: Their division.
        more: Rows that would be added to a cell, but no more than it has: a curve cannot be followed further.
        seed: Random seed for folds, subsets and resamples.
    """
    body = np.union1d(parts.fit, parts.choose)
    unseen = body[~parts.seen[body]]
    is_enough = [min(np.bincount(rows.is_out[some], minlength=2)) >= FEWEST_SCORED for some in (unseen, body)]
    if not is_enough[1] or len(np.unique(rows.label[body])) < rows.classes:
        out = int(rows.is_out[body].sum())
        reason = (
            f"Which rows to collect cannot be told: the rows that fit and choose are {count(len(body) - out)} in usual "
            f"and {count(out)} in unusual contexts. {FEWEST_SCORED} on each side, and one of each class, are needed."
        )
        return Collection(more=more, reason=reason)
    is_frozen = rows.predictions.metadata.model.mode == "linear_probe"
    scored = unseen if is_enough[0] and not is_frozen else body
    curves = _Curves(rows, body, scored, parts.seen, seed)
    cells = [_count(curves, cell) for cell in list_cells(rows, body)]
    drawn = [cell for cell in cells if cell.rows >= _FEWEST_IN_CELL]
    drawn = sorted(drawn, key=lambda each: (each.is_part, each.accuracy))[:_MOST_CELLS]
    bar = follow(drawn, desc="Drawing learning curves", disable=None)
    gains = sorted((_measure_gain(curves, cell, more=more) for cell in bar), key=lambda cell: -cell.per_row)
    gains += [_leave_out(cell, len(scored), more) for cell in cells if not any(cell is other for other in drawn)]
    kind = curves.kind
    return Collection(
        more=more,
        head=f"{RetrainWeighted.title} (c = {kind.c:g}{'; unseen rows alone' if kind.unseen else ''})",
        settings={"c": kind.c, "unseen": float(kind.unseen)},
        scored=len(scored),
        scored_out=int(rows.is_out[scored].sum()),
        is_seen=not is_enough[0] and not is_frozen,
        cells=tuple(gains),
    )


def _count(curves: "_Curves", cell: CellRows) -> _CountedCell:
    rows, scored = curves.rows, curves.scored
    own = curves.full[rows.label[scored] == rows.label[np.flatnonzero(cell.has)[0]]]
    accuracy = float(own.mean()) if len(own) else 1.0
    return _CountedCell(cell, cell.is_part, int((curves.fitted & cell.has).sum()), accuracy)


def _leave_out(counted: _CountedCell, scored: int, more: int) -> CellGain:
    """A cell without a curve, and why."""
    reason = (
        f"too few rows: {_FEWEST_IN_CELL} are needed"
        if counted.rows < _FEWEST_IN_CELL
        else f"not measured: curves are drawn for {_MOST_CELLS} cells, classes that are answered worst first"
    )
    gain = Estimate(math.nan, n=scored, method=_METHOD, reason=reason)
    cell, added = counted.cell, max(min(more, counted.rows), 1)
    return CellGain(name=cell.name, side=cell.side, rows=counted.rows, more=added, gain=gain)


class _Curves:
    """Heads by cross-validation on the rows that fit and choose.

    Attributes:
        rows: All rows.
        scored: Rows that score.
        seed: Random seed.
        kind: The head with the best worse side.
        full: Whether each scored row is answered right by heads on all rows of the other folds.
        fitted: Which of all rows heads are fitted on.
    """

    def __init__(
        self,
        rows: RepairRows,
        body: NDArray[np.int64],
        scored: NDArray[np.int64],
        seen: NDArray[np.bool_],
        seed: int,
    ) -> None:
        self.rows, self.scored, self.seed = rows, scored, seed
        self._fold = _divide(rows, body, seed)
        unseen = body[~seen[body]]
        fewest = np.bincount(rows.groups["side"][unseen], minlength=2 * rows.classes)
        present = np.bincount(rows.groups["side"][body], minlength=2 * rows.classes) > 0
        kinds = [False, True] if len(unseen) < len(body) and fewest[present].min() >= FEWEST else [False]
        tried = [_Kind(setting["c"], kind) for setting in RetrainWeighted.settings for kind in kinds]
        self.kind, self._used, self.full = tried[0], body, np.zeros(len(scored), bool)
        best = -1.0
        for kind in tried:
            used = unseen if kind.unseen else body
            right = self._answer([used[self._fold[used] != fold] for fold in range(_FOLDS)], kind)
            worse = float(
                measure_worse(right[None].astype(float), rows.groups["side"][scored], np.ones(len(scored)))[0]
            )
            if worse > best:
                best, self.kind, self._used, self.full = worse, kind, used, right
        self.fitted = np.isin(np.arange(len(rows.label)), self._used)

    def draw(self, cell: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The curve of a cell: mean number of its rows at each point (p,), and 1 for each row that is right (p, n).

        Args:
            cell: Whether each row (n,) belongs to the cell.
        """
        trained = [self._used[self._fold[self._used] != fold] for fold in range(_FOLDS)]
        own = [some[cell[some]] for some in trained]
        points = []
        for share in _SHARES:
            sizes = [max(1, round(share * len(fold))) for fold in own]
            for subset in range(_SUBSETS):
                chosen = []
                for fold, (some, members, size) in enumerate(zip(trained, own, sizes, strict=True)):
                    rng = np.random.default_rng([self.seed, subset, fold])
                    chosen.append(np.concatenate([some[~cell[some]], rng.permutation(members)[:size]]))
                points.append((np.mean(sizes), self._answer(chosen, self.kind)))
        points.append((np.mean([len(fold) for fold in own]), self.full))
        sizes_of, right = zip(*points, strict=True)
        return np.array(sizes_of), np.stack(right).astype(np.float64)

    def _answer(self, trained: list[NDArray[np.int64]], kind: _Kind) -> NDArray[np.bool_]:
        """Whether each scored row is answered right by the head of its own fold."""
        right = np.zeros(len(self.scored), bool)
        for fold, some in enumerate(trained):
            mine = self._fold[self.scored] == fold
            if mine.any() and len(np.unique(self.rows.label[some])) > 1:
                right[mine] = self.rows.is_right(self._fit(some, kind), self.scored[mine])
        return right

    def _fit(self, some: NDArray[np.int64], kind: _Kind) -> StoredHead:
        rows = self.rows
        own = HeadRows(rows.features[some], rows.label[some], rows.groups["side"][some], rows.classes)
        return RetrainWeighted(c=kind.c).fit(own, seed=self.seed)


def measure_worse(
    right: NDArray[np.float64], cell: NDArray[np.int64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Accuracy (p,) on the worse side, at equal shares of the classes, for rows with weights.

    Args:
        right: 1 for each row that is answered right, else 0 (p, n).
        cell: Class and side of each row (n,): twice the class, plus 1 out of context.
        weight: Weight of each row (n,).

    >>> measure_worse(np.array([[1.0, 1.0, 1.0, 0.0]]), np.array([0, 2, 1, 3]), np.ones(4)).tolist()
    [0.5]
    """
    total = np.bincount(cell, weight)
    sums = np.stack([np.bincount(cell, weight * answers) for answers in right])
    worse = np.full(len(right), np.inf)
    for side in (0, 1):
        has = np.flatnonzero(total[side::2]) * 2 + side
        if len(has):
            worse = np.minimum(worse, (sums[:, has] / total[has]).mean(axis=1))
    return worse


def _divide(rows: RepairRows, body: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """The fold of each row (n,): clusters are whole, and each cell has its share of each fold."""
    rng = np.random.default_rng([seed, _FOLDS])
    fold = np.full(len(rows.label), -1)
    if rows.cluster is not None:
        units, place = np.unique(rows.cluster[body], return_inverse=True)
        fold[body] = (rng.permutation(len(units)) % _FOLDS)[place]
        return fold
    cell = rows.groups["side"] * 1_000_000 + rows.groups.get("context", rows.groups["side"])
    splits = np.unique(rows.split, return_inverse=True)[1]
    for pair in np.unique(np.stack([cell[body], splits[body]]), axis=1).T:
        own = rng.permutation(body[(cell[body] == pair[0]) & (splits[body] == pair[1])])
        fold[own] = (np.arange(len(own)) + rng.integers(_FOLDS)) % _FOLDS
    return fold


def _measure_gain(curves: _Curves, counted: _CountedCell, *, more: int) -> CellGain:
    cell, used = counted.cell, counted.rows
    more = min(more, used)
    sizes, right = curves.draw(cell.has)
    is_out, sides = curves.rows.is_out[curves.scored], curves.rows.groups["side"][curves.scored]
    accuracy = measure_worse(right, sides, np.ones(len(sides)))
    level, fall = fit_curve(sizes, accuracy)
    reach = used**-0.5 - (used + more) ** -0.5
    gain = fall * reach
    low, high = _resample(curves, sizes, right, rows=used, more=more)
    unchanged = wilson(0, min(np.bincount(is_out, minlength=2))).high  # share of rows that may change where none did
    still = unchanged * reach / (sizes.min() ** -0.5 - sizes.max() ** -0.5)
    low, high = max(min(low, gain - still), -1.0), min(max(high, gain + still), 1.0)
    return CellGain(
        name=cell.name,
        side=cell.side,
        rows=used,
        more=more,
        gain=Estimate(gain, low=low, high=high, n=len(is_out), method=_METHOD),
        curve=tuple(
            CurvePoint(rows=float(size), accuracy=float(accuracy[sizes == size].mean())) for size in np.unique(sizes)
        ),
        level=level,
        fall=fall,
    )


def fit_curve(
    sizes: NDArray[np.float64], accuracy: NDArray[np.float64], *, exponent: float = 0.5
) -> tuple[float, float]:
    """The a and b of  accuracy = a - b / size ** exponent  by least squares, at equal weight of the sizes.

    Args:
        sizes: Numbers of rows (p,), of two or more values.
        accuracy: What heads on them reach (p,).
        exponent: How fast the curve comes to its level.

    >>> a, b = fit_curve(np.array([4.0, 16.0, 64.0]), np.array([0.5, 0.7, 0.8]))
    >>> round(a, 3), round(b, 3)
    (0.9, 0.8)
    """
    values, place, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    means = np.bincount(place, accuracy) / counts
    x = values**-exponent
    spread = x - x.mean()
    fall = -float(spread @ means / (spread @ spread))
    return float(means.mean() + fall * x.mean()), fall


def _resample(
    curves: _Curves, sizes: NDArray[np.float64], right: NDArray[np.float64], *, rows: int, more: int
) -> tuple[float, float]:
    """The 95% interval of the gain over resampled rows or clusters, subsets, and exponents."""
    sides = curves.rows.groups["side"][curves.scored]
    rng = np.random.default_rng([curves.seed, _REPLICATES])
    cluster = curves.rows.cluster
    units = np.arange(len(sides)) if cluster is None else np.unique(cluster[curves.scored], return_inverse=True)[1]
    number, kinds = units.max() + 1, np.unique(sizes)
    gains = []
    for _ in range(_REPLICATES):
        weight = np.bincount(rng.integers(number, size=number), minlength=number)[units].astype(np.float64)
        accuracy = measure_worse(right, sides, weight)
        means = [accuracy[rng.choice(own, len(own))].mean() for own in (np.flatnonzero(sizes == k) for k in kinds)]
        exponent = float(np.exp(rng.uniform(*np.log(_EXPONENTS))))
        _, fall = fit_curve(kinds, np.array(means), exponent=exponent)
        gains.append(fall * (rows**-exponent - (rows + more) ** -exponent))
    low, high = np.quantile(gains, [0.025, 0.975])
    return float(low), float(high)
