"""What repair does in each world of docs/repair.md: a JSON a world, and one of the controls on features."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from repair_models import train_encoder, train_model
from repair_worlds import World, write_world

import oochub
from oochub.prediction.predictions import Predictions
from oochub.repairing import repair_predictions
from oochub.settings.repair_settings import RepairSettings
from oochub.storage.files import write_whole

AT_MOST_LOST = 5.0
DEEP = "deep-"
"""What the names of numbers with fine-tuning begin with."""
DRAWS = 10
"""Control worlds that are drawn on the features of each trained control: 20 of them make 200."""
HARDER = 0.15
"""Share of the labels out of context that are exchanged in the harder controls, which no head can undo."""


@dataclass(frozen=True)
class Number:
    """A share or a difference of shares with its 95% interval."""

    value: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, estimate: Any) -> "Number":
        """Of an Estimate."""
        return cls(float(estimate), estimate.low, estimate.high, estimate.n)


@dataclass(frozen=True, kw_only=True)
class Side:
    """Accuracy on one side of the test rows, of the model and of the repaired one.

    Attributes:
        before: Accuracy of the model.
        after: Accuracy with the new head; None if none was chosen.
        difference: After minus before, paired.
    """

    before: Number
    after: Number | None = None
    difference: Number | None = None


@dataclass(frozen=True, kw_only=True)
class Result:
    """What repair did in one world.

    Attributes:
        outcome: See `oochub.repairs.repair.Repair`.
        method: Way to fit the head that was chosen; "none" if none was.
        inside: Test rows in context.
        outside: Test rows out of context.
        seconds: CPU seconds of the repair.
    """

    outcome: str
    method: str
    inside: Side
    outside: Side
    seconds: float

    @property
    def closed(self) -> float:
        """Share of the gap that the repair closes: out of context won, over what it was below the usual contexts."""
        if self.outside.after is None:
            return 0.0
        gap = self.inside.before.value - self.outside.before.value
        return (self.outside.after.value - self.outside.before.value) / gap

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Result":
        """What `asdict` of one makes."""
        sides = {
            name: Side(**{key: each and Number(**each) for key, each in content[name].items()})
            for name in ("inside", "outside")
        }
        return cls(**{**content, **sides})


def run(worlds: Iterable[World], folder: Path, numbers: Path, *, deep: bool = False) -> None:
    """Trains and repairs in each world whose numbers are not there yet.

    Args:
        worlds: The worlds.
        folder: Keeps images, models and repaired models.
        numbers: Gets a JSON for each world.
        deep: Whether the whole network is fine-tuned too.
    """
    numbers.mkdir(parents=True, exist_ok=True)
    for world in worlds:
        target = numbers / f"{DEEP if deep else ''}{world}.json"
        if not target.exists():
            result = _repair(world, folder, deep=deep)
            _write(target, asdict(result))


def run_controls(worlds: Iterable[World], folder: Path, numbers: Path) -> None:
    """Draws control worlds on the features of each trained control: contexts that say nothing, and harder contexts.

    Args:
        worlds: Controls; their models are trained if they are not there.
        folder: See `run`.
        numbers: Gets a JSON for each control, with the outcome of each draw.
    """
    numbers.mkdir(parents=True, exist_ok=True)
    for world in worlds:
        target = numbers / f"features-{world}.json"
        if not target.exists():
            images, model = _make(world, folder)
            data = oochub.load(str(images), label="label", context="context")
            predictions = oochub.predict(model, data, features=True, images=False)
            _write(target, {name: draw_controls(predictions, world, flipped=share) for name, share in _KINDS.items()})


def draw_controls(predictions: Predictions, world: World, *, flipped: float, draws: int = DRAWS) -> dict[str, int]:
    """How often each outcome comes in worlds whose contexts are drawn anew, at the same features.

    Args:
        predictions: Predictions of a model with features.
        world: Its world.
        flipped: Share of the labels out of context that are exchanged.
        draws: Worlds.
    """
    counts: dict[str, int] = {}
    for draw in range(draws):
        drawn = _draw_contexts(predictions, np.random.default_rng([world.seed, draw]), flipped)
        settings = RepairSettings(at_most_lost=AT_MOST_LOST, draws=1, seed=draw)
        repair, _, _ = repair_predictions(drawn, settings)
        counts[repair.outcome] = counts.get(repair.outcome, 0) + 1
    return counts


_KINDS = {"plain": 0.0, "harder": HARDER}


def _draw_contexts(predictions: Predictions, rng: np.random.Generator, flipped: float) -> Predictions:
    """The same rows, three in four of them, under new contexts, which are out of context for half of each class."""
    kept = rng.random(len(predictions)) < 0.75
    predictions = predictions.select(kept)
    is_out = rng.random(len(predictions)) < 0.5
    label = np.where(is_out & (rng.random(len(is_out)) < flipped), 1 - predictions.label, predictions.label)
    context = np.where(is_out, 1 - label, label)
    table = predictions.table
    columns = {
        "label": pa.array(label, table.schema.field("label").type),
        "challenge": pa.array(np.where(is_out, "hard", "easy").tolist()),
        "context": pa.array([f"context {each}" for each in context]),
        "group": pa.array([f"{one}/{each}" for one, each in zip(label, context, strict=True)]),
    }
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, values)
    return predictions.with_table(table)


def make_encoders(worlds: Iterable[World], folder: Path) -> None:
    """Trains the encoders that these worlds need, before several processes look for them."""
    for kind in sorted({world.kind for world in worlds} - {"resnet"}):
        train_encoder(kind, folder / "encoders")


def _make(world: World, folder: Path) -> tuple[Path, Path]:
    """The images and the model of a world."""
    images = write_world(world, folder / "images" / str(world))
    encoder = folder / "encoders"
    if world.kind != "resnet":
        encoder = train_encoder(world.kind, encoder)
    return images, train_model(world, images, folder / "models" / str(world), encoder=encoder)


def _repair(world: World, folder: Path, *, deep: bool) -> Result:
    images, model = _make(world, folder)
    started = time.process_time()
    out = folder / "repaired" / f"{DEEP if deep else ''}{world}"
    data = {"label": "label", "context": "context"}
    repair = oochub.repair(model, images, **data, at_most_lost=AT_MOST_LOST, deep=deep, draws=1, out=out)
    seconds = time.process_time() - started
    chosen = repair.chosen
    report = oochub.evaluate(Predictions.load(out / "features.parquet"))
    sides = {}
    for name, own in (("inside", repair.inside), ("outside", repair.outside)):
        if own is None:
            side = "in_context" if name == "inside" else "out_of_context"
            sides[name] = Side(before=Number.of(report[f"{side}/accuracy"]))
        else:
            sides[name] = Side(
                before=Number.of(own.first), after=Number.of(own.second), difference=Number.of(own.difference)
            )
    method = chosen.method if chosen else "none"
    return Result(outcome=repair.outcome, method=method, seconds=seconds, **sides)


def _write(target: Path, content: Any) -> None:
    with write_whole(target) as draft:
        draft.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def read(numbers: Path, worlds: Iterable[World], *, deep: bool = False) -> dict[World, Result]:
    """The results that a folder holds, in the order of the worlds; those with fine-tuning if `deep`."""
    paths = {world: numbers / f"{DEEP if deep else ''}{world}.json" for world in worlds}
    return {
        world: Result.from_json(json.loads(path.read_text("utf-8"))) for world, path in paths.items() if path.exists()
    }


def read_controls(numbers: Path, worlds: Iterable[World]) -> dict[str, dict[str, int]]:
    """Outcomes of all control draws, by the kind of control."""
    found: dict[str, dict[str, int]] = {name: {} for name in _KINDS}
    for world in worlds:
        path = numbers / f"features-{world}.json"
        if path.exists():
            for name, counts in json.loads(path.read_text("utf-8")).items():
                for outcome, count in counts.items():
                    found[name][outcome] = found[name].get(outcome, 0) + count
    return found
