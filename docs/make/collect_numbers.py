"""What `repair --collect` promises in ten worlds of docs/repair.md, and what more rows truly gain: a JSON a world."""

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from repair_numbers import _make, _write
from repair_worlds import FAMILIES, WORLDS, World, draw_cell, names_of, write_world

import oochub
from oochub.repairs.collect_images import measure_cell_probabilities
from oochub.repairs.collection import CellGain, Collection
from oochub.repairs.head_method import HeadRows
from oochub.repairs.head_methods.retrain_weighted import RetrainWeighted
from oochub.repairs.learning_curves import draw_learning_curves, measure_worse
from oochub.repairs.repair_data import RepairRows, RowParts, divide_rows, find_trained_splits
from oochub.storage.files import write_whole_folder

CHOSEN = tuple(world for world in WORLDS if world.is_planted and world.seed % 2 == 0)
"""Every second planted world."""
FOREIGN = tuple(
    World(family=family, correlation=share, kind="probe", contrast=0.4, seed=440 + number, rows=200, balanced=False)
    for number, (family, share) in enumerate(product(FAMILIES, (0.9, 0.95)))
)
"""Smaller worlds with a linear probe on EfficientNet-Lite0 of the tests, which saw none of them: 1,280 features.

Their size and dial were chosen on images of other seeds, so that more rows help, without a look at any promise.
"""
MORE = 100
"""Rows that are added to a cell at most; no more than it has."""
SCARCE = 16
"""Rows that each cell out of context has among those that fit and choose, in the second run of each world."""
KINDS = ("whole", "scarce", "foreign")
_POOL = 400  # drawn images of each cell
_SEED = 62_000  # of these; the images of the worlds have seeds below 1,000
_DRAWS = 5  # additions, whose mean is the true gain
_TOP, _RARE, _USUAL = 20, 20, 240  # images looked at; images of each cell among those that are ranked


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A cell: what was promised, and what came.

    Attributes:
        cell: Its name.
        side: "in" or "out".
        rows: Rows of the cell before.
        more: Rows that are added.
        gain: Promised gain of the worse side.
        low: Lower end of its interval.
        high: Upper end.
        true: Mean gain on the rows that prove, over five additions.
    """

    cell: str
    side: str
    rows: int
    more: int
    gain: float
    low: float
    high: float
    true: float


@dataclass(frozen=True, kw_only=True)
class Collected:
    """One world.

    Attributes:
        base: Accuracy on the worse side of the rows that prove, before.
        promises: The cells for which there is a promise, the largest first.
        alike: Gain with as many rows as are added to the first cell, drawn as the training rows.
        reason: Why there is no promise; "" with one.
        precision: Share of the first cell among the 20 images that are ranked first; None without a promise.
        chance: Its share among all images that are ranked.
    """

    base: float
    promises: tuple[Promise, ...]
    alike: float
    reason: str = ""
    precision: float | None = None
    chance: float | None = None

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Collected":
        """What `asdict` of one makes."""
        return cls(**{**content, "promises": tuple(Promise(**each) for each in content["promises"])})


def run_collect(worlds: Iterable[World], folder: Path, numbers: Path) -> None:
    """Measures each world whose numbers are not there yet, whole and with few rows out of context.

    Args:
        worlds: Planted worlds; their models are trained if they are not there.
        folder: Keeps images and models.
        numbers: Gets a JSON for each world.
    """
    numbers.mkdir(parents=True, exist_ok=True)
    for world in worlds:
        target = numbers / f"collect-{world}.json"
        if not target.exists():
            _write(target, {name: asdict(each) for name, each in _collect(world, folder).items()})


def read_collected(numbers: Path, worlds: Iterable[World]) -> dict[World, dict[str, Collected]]:
    """The results that a folder holds, in the order of the worlds."""
    collected = {}
    for world in worlds:
        path = numbers / f"collect-{world}.json"
        if path.exists():
            content = json.loads(path.read_text("utf-8"))
            collected[world] = {name: Collected.from_json(each) for name, each in content.items()}
    return collected


def _collect(world: World, folder: Path) -> dict[str, Collected]:
    is_foreign = world in FOREIGN
    if is_foreign:
        images = write_world(world, folder / "images" / f"foreign-{world}")
        model: Path = _write_network(folder / "efficientnet_lite0")
    else:
        images, model = _make(world, folder)
    data = oochub.load(str(images), label="label", context="context")
    drawn = oochub.load(str(_draw_pool(world, folder / "collect" / str(world))), label="label", context="context")
    options = {"mode": "linear_probe" if is_foreign else "head", "features": True, "images": False}
    rows = RepairRows.of(oochub.predict(model, data, splits=list(data), **options))
    pool = oochub.predict(model, {**data, "pool": drawn["train"]}, splits=["pool"], **options)
    trained = find_trained_splits(rows.predictions.metadata)
    contexts = names_of(world.family)[1]
    label = np.asarray(pool.label)
    cell = 2 * label + ([contexts.index(name) for name in pool.column("context").tolist()] != label)
    added = Pool(np.asarray(pool.features), label, cell)
    parts = divide_rows(rows, trained=trained)
    if is_foreign:
        return {"foreign": measure_promises(world, rows, parts, added)}
    return {
        "whole": measure_promises(world, rows, parts, added),
        "scarce": measure_promises(world, rows, _make_scarce(rows, parts, world.seed), added),
    }


def _write_network(folder: Path) -> Path:
    """EfficientNet-Lite0 at 96 pixels; needs tests/helpers on PYTHONPATH and the packages of `make test`."""
    from real_classifier import real_classifier  # transformers opens the folder after this alone

    if not folder.exists():
        with write_whole_folder(folder) as draft:
            real_classifier(draft, side=96)
    return folder


@dataclass(frozen=True, eq=False)
class Pool:
    """Fresh rows: their features (n, d), classes (n,) and cells (n,), which are 2 * class + (out of context)."""

    features: np.ndarray
    label: np.ndarray
    cell: np.ndarray


def measure_promises(world: World, rows: RepairRows, parts: RowParts, pool: Pool) -> Collected:
    """Draws the curves, then adds the rows and looks what they gain on the rows that prove.

    Args:
        world: The world.
        rows: Its rows.
        parts: Their division.
        pool: Fresh rows of it.
    """
    curves = draw_learning_curves(rows, parts, more=MORE, seed=0)
    told = [cell for cell in curves.cells if cell.gain == cell.gain]
    if curves.settings is None:
        return Collected(base=float("nan"), promises=(), alike=float("nan"), reason=curves.reason)
    base = _refit(rows, parts, curves, pool, np.zeros(0, np.int64))

    def gain(cell: int | None, more: int) -> float:
        numbers = [_draw_numbers(world, pool, cell, more, draw) for draw in range(_DRAWS)]
        return float(np.mean([_refit(rows, parts, curves, pool, number) for number in numbers])) - base

    promises = tuple(_promise(cell, gain(_number(world, cell.name), cell.more)) for cell in told)
    precision, chance = _rank(world, rows, parts, pool, told[0]) if told else (None, None)
    alike = gain(None, told[0].more if told else MORE)
    return Collected(base=base, promises=promises, alike=alike, precision=precision, chance=chance)


def _promise(cell: CellGain, true: float) -> Promise:
    gain = cell.gain
    numbers = {"gain": float(gain), "low": gain.low, "high": gain.high, "true": true}
    return Promise(cell=cell.name, side=cell.side, rows=cell.rows, more=cell.more, **numbers)


def _number(world: World, name: str) -> int:
    classes, contexts = names_of(world.family)
    label, _, context = name.partition("/")
    return 2 * classes.index(label) + (contexts.index(context) != classes.index(label))


def _draw_numbers(world: World, pool: Pool, cell: int | None, more: int, draw: int) -> np.ndarray:
    """Rows of the pool: of one cell, else of all, as frequent as in the training rows."""
    rng = np.random.default_rng([_SEED, world.seed, draw, 9 if cell is None else cell])
    usual = round(world.correlation * more / 2)
    wanted = {cell: more} if cell is not None else {0: usual, 1: more // 2 - usual, 2: usual, 3: more // 2 - usual}
    return np.concatenate([rng.permutation(np.flatnonzero(pool.cell == each))[:n] for each, n in wanted.items()])


def _refit(rows: RepairRows, parts: RowParts, found: Collection, pool: Pool, added: np.ndarray) -> float:
    """Accuracy on the worse side of the rows that prove, by the head of the curves on all its rows and those added."""
    body = np.union1d(parts.fit, parts.choose)
    settings = dict(found.settings or {})
    used = body[~parts.seen[body]] if settings.pop("unseen") else body
    joined = HeadRows(
        np.concatenate([rows.features[used], pool.features[added]]),
        np.concatenate([rows.label[used], pool.label[added]]),
        np.concatenate([rows.groups["side"][used], pool.cell[added]]),
        rows.classes,
    )
    right = rows.is_right(RetrainWeighted(**settings).fit(joined, seed=0), parts.prove)
    return float(measure_worse(right[None].astype(float), rows.groups["side"][parts.prove], np.ones(len(right)))[0])


def _rank(world: World, rows: RepairRows, parts: RowParts, pool: Pool, first: CellGain) -> tuple[float, float]:
    """The share of the first cell among the images that are ranked first for it, and among all of them."""
    some = np.concatenate([np.flatnonzero(pool.cell == k)[: _RARE if k % 2 else _USUAL] for k in range(4)])
    probability = measure_cell_probabilities(rows, parts, pool.features[some], [first.name])[:, 0]
    is_it = pool.cell[some] == _number(world, first.name)
    top = np.argsort(-probability, kind="stable")[:_TOP]
    return float(is_it[top].mean()), float(is_it.mean())


def _make_scarce(rows: RepairRows, parts: RowParts, seed: int) -> RowParts:
    """The division with few rows in each cell out of context, those first that the model was not trained on."""
    rng, left = np.random.default_rng([_SEED, seed]), []
    body = np.union1d(parts.fit, parts.choose)
    for cell in np.unique(rows.groups["side"][body]):
        own = rng.permutation(body[rows.groups["side"][body] == cell])
        own = own[np.argsort(parts.seen[own], kind="stable")]
        left.append(own[:SCARCE] if cell % 2 else own)
    kept = np.concatenate(left)
    return replace(parts, fit=np.intersect1d(parts.fit, kept), choose=np.intersect1d(parts.choose, kept))


def _draw_pool(world: World, folder: Path) -> Path:
    """A folder of fresh images, as many of each cell."""
    if folder.exists():
        return folder
    classes, contexts = names_of(world.family)
    with write_whole_folder(folder) as draft:
        (draft / "train").mkdir()
        with (draft / "train" / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["file_name", "label", "context"])
            for label, context, number in np.ndindex(2, 2, _POOL):
                rng = np.random.default_rng([_SEED, world.seed, label, context, number])
                name = f"{classes[label]}_{contexts[context]}_{number:04}.png"
                picture = draw_cell(world.family, rng, label=label, context=context, contrast=world.contrast)
                picture.save(draft / "train" / name, compress_level=1)
                table.writerow([name, classes[label], contexts[context]])
    return folder
