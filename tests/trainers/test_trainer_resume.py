"""Stop and resume: bitwise-equal weights and the same rows in the same order, for every sampler and kind of step."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from trainings import Stop, artifacts, made_split, stopped_after, trainer_of, with_dropout

import oochub
from oochub.errors import OochubError
from oochub.trainers.fine_tuning.run_folder import Progress, RunFolder
from oochub.trainers.samplers import SAMPLERS
from oochub.trainers.training_step import TrainingStep

EPOCHS, BATCHES = 4, 5  # of 8 rows
ANNEAL = 7
CASES: dict[str, dict[str, Any]] = {name: {"sampler": name} for name in SAMPLERS} | {
    "undersample": {"objective": "undersample"},
    "irm": {"objective": "irm", "hyperparameters": {"anneal_steps": ANNEAL, "penalty_weight": 3.0}},
    "mixup": {"objective": "mixup"},
    "lisa": {"objective": "lisa", "augment": "flip_crop_color"},
    "fish": {"objective": "fish", "sampler": "environments"},
    "jtt": {"objective": "jtt", "hyperparameters": {"upweight": 2.0}},
    "jtt_weights": {"objective": "jtt", "hyperparameters": {"mode": "loss_weight"}},
    "w2d": {"objective": "w2d"},
    "coral": {"objective": "coral", "dropout": 0.3},
    "average": {"average": "uniform", "average_start": 0.2},
    "ema": {"average": "ema", "average_decay": 0.9},
    "swad": {"average": "swad", "swad_start_patience": 2, "swad_end_patience": 2, "swad_ratio": 1.0},
}


@pytest.fixture(scope="module")
def splits() -> tuple[Dataset, Dataset]:
    return made_split(BATCHES * 8, 1), made_split(20, 2)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Runs that never stopped, by case: their files and the rows of their batches; each is made once."""
    return {"folder": tmp_path_factory.mktemp("straight")}


def made(case: str, out: Path, splits: tuple[Dataset, Dataset], **changed: Any) -> Any:
    settings = {"num_train_epochs": EPOCHS, "per_device_train_batch_size": 8, "lr_scheduler_type": "onecycle"}
    settings |= {"optim": "sgd", "learning_rate": 1e-2, "save_steps": 3, **CASES[case], **changed}
    return trainer_of(out, *splits, model=with_dropout(), **settings)


def order_of(case: str, splits: Any, straight: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    if case not in straight:
        with monkeypatch.context() as patch:
            order = stopped_after(10_000, patch)
            made(case, straight["folder"] / case, splits).train()
        straight[case] = order
    return straight[case]


def equal_after(case: str, stop: int, out: Path, splits: Any, straight: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    order = order_of(case, splits, straight, monkeypatch)
    with monkeypatch.context() as patch:
        stopped_after(stop, patch)
        with pytest.raises(Stop):
            made(case, out, splits).train()
    with monkeypatch.context() as patch:
        rest = stopped_after(10_000, patch)
        made(case, out, splits).train()
    assert rest == order[len(order) - len(rest) :] and len(order) - len(rest) in (stop, stop - 1, stop - 2)
    assert artifacts(out) == artifacts(straight["folder"] / case)


STOPS = {"irm": ANNEAL, "jtt": 13, "jtt_weights": 2 * BATCHES}  # the annealing step, stage 2, the change of stages


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_stop_changes_nothing(
    case: str, tmp_path: Path, splits: Any, straight: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: a generator that goes on, moments reset again on resumption, an error set that is not saved."""
    equal_after(case, STOPS.get(case, 8), tmp_path / "run", splits, straight, monkeypatch)


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES)
def test_a_stop_at_any_step_changes_nothing(
    case: str, tmp_path: Path, splits: Any, straight: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five random steps of each, one minute in all."""
    length = len(order_of(case, splits, straight, monkeypatch))
    stops = random.Random(case).sample(range(1, length), 5)
    print(f"{case}: stopped before batches {stops} of {length}")  # noqa: T201
    for stop in stops:
        equal_after(case, stop, tmp_path / str(stop), splits, straight, monkeypatch)


@pytest.mark.slow
def test_the_moments_are_reset_once_at_the_annealing_step(
    tmp_path: Path, splits: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the batch whose loss has the new weight, with gradient accumulation too, and never again on resumption."""
    moments = []
    real = TrainingStep.update

    def seen(self: TrainingStep, loss: torch.Tensor) -> None:
        moments.append(sum(values["momentum_buffer"].abs().sum().item() for values in self._optimizer.state.values()))
        real(self, loss)

    monkeypatch.setattr(TrainingStep, "update", seen)
    made("irm", tmp_path / "one", splits, num_train_epochs=2).train()
    assert [number for number, value in enumerate(moments) if value == 0] == [0, ANNEAL]
    moments.clear()
    made("irm", tmp_path / "two", splits, num_train_epochs=2, gradient_accumulation_steps=2).train()
    assert [number for number, value in enumerate(moments) if value == 0] == [0, 1, ANNEAL, ANNEAL + 1]


@pytest.mark.slow
def test_every_objective_trains(tmp_path: Path, splits: Any) -> None:
    """Two steps of each objective of the catalog, on classes with environments, with what it needs."""
    for name in oochub.names("objective"):
        result = made("uniform", tmp_path / name, splits, objective=name, max_steps=2, num_train_epochs=2).train()
        assert result.global_step == 2, name


def test_a_checkpoint_without_a_file_yet_is_ours(tmp_path: Path) -> None:
    """Another process is writing it, or was killed there; a link in its place is refused."""
    begun = RunFolder(tmp_path / "run", {}, overwrite=False)
    begun.begin()
    draft = begun.draft_of(Progress(step=1, global_step=2))
    draft.mkdir()
    RunFolder(tmp_path / "run", {}, overwrite=False).begin()
    assert not draft.exists()
    draft.symlink_to(tmp_path)
    with pytest.raises(OochubError, match="step-2: it is a link"):
        RunFolder(tmp_path / "run", {}, overwrite=False)
