"""JTT: its losses in float64 NumPy, its rows, and its second stage against a plain loop from the first weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from objective_references import agrees, erm, made, row_losses, some_batch
from trainings import made_split, trainer_of, with_dropout

import oochub
from oochub.inputs.pictures.preprocessing import Preprocessing, normalize
from oochub.trainers.objective import CleanPass
from oochub.trainers.samplers import UniformSampler

WRONG = np.array([1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0], bool)


class Bound:
    """An objective called with its error set, for `agrees`."""

    def __init__(self, objective: Any) -> None:
        self.objective = objective

    def eval(self) -> None:
        self.objective.eval()

    def __call__(self, logits: Any, label: Any, environment: Any, features: Any) -> Any:
        return self.objective(logits, label, wrong=torch.tensor(WRONG))


@pytest.mark.parametrize("form", [None, "subpopbench"])
def test_the_weighted_loss(form: str | None) -> None:
    """It is sum w l / sum w, w = upweight in E; "subpopbench" sum w l / n. Planted: the other's divisor."""
    weight = np.where(WRONG, 7.5, 1.0)
    divisor = 12 if form else weight.sum()
    objective = made("jtt", mode="loss_weight", upweight=7.5, form=form)
    agrees(Bound(objective), lambda b: float((weight * row_losses(b.logits, b.label)).sum() / divisor), some_batch())


class Restarted:
    """A training that only counts how often it starts over."""

    times = 0

    def start_over(self) -> None:
        self.times += 1


def in_second_stage(label: list[int], prediction: list[int], **hyperparameters: Any) -> tuple[Any, int]:
    objective, training = oochub.get("objective", "jtt")(**hyperparameters), Restarted()
    logits = torch.nn.functional.one_hot(torch.tensor(prediction), 3).float()
    objective.next_stage(CleanPass(logits, None, torch.tensor(label), torch.zeros(len(label))), training)
    return objective, training.times


@pytest.mark.parametrize(("form", "times"), [(None, 4), ("authors", 5), ("spawrious", 4)])
def test_rows_of_the_error_set_are_visited_several_times(form: str | None, times: int) -> None:
    label, prediction = [0, 1, 2, 0, 1], [0, 1, 1, 0, 2]
    objective, restarts = in_second_stage(label, prediction, upweight=4.4, form=form)
    assert objective.errors.tolist() == [False, False, True, False, True]
    sampler = objective.sampler(torch.tensor(label), torch.zeros(5), seed=0)
    assert sorted(sampler) == [0, 1] + [2] * times + [3] + [4] * times
    assert restarts == (form != "spawrious")
    first = oochub.get("objective", "jtt")().sampler(torch.tensor(label), torch.zeros(5), seed=0)
    assert sorted(first) == [0, 1, 2, 3, 4]


def test_an_empty_error_set_is_erm_with_a_warning() -> None:
    for mode in ("upsample", "loss_weight"):
        with pytest.warns(UserWarning, match="every training row right"):
            objective, _ = in_second_stage([0, 1], [0, 1], mode=mode)
        batch = some_batch()
        loss = objective(torch.tensor(batch.logits), torch.tensor(batch.label), wrong=torch.zeros(12, dtype=torch.bool))
        assert loss.item() == pytest.approx(erm(batch))


@pytest.mark.parametrize("mode", ["upsample", "loss_weight"])
@pytest.mark.parametrize("form", [None, "spawrious"])
def test_a_run_equals_a_plain_loop(tmp_path: Path, mode: str, form: str | None) -> None:
    """ERM for one epoch, the errors of a clean pass, new weights and a new optimizer, and two epochs with the errors.

    Planted: the optimizer's moments kept, the second stage from the first one's weights, or the errors found in
    training mode (dropout 0.2) give other weights.
    """
    train = made_split(40, 3)
    settings = {"num_train_epochs": 3, "learning_rate": 2e-4, "augment": "none"}
    hyperparameters = {"upweight": 3.0, "first_stage": 0.3, "mode": mode, "form": form}
    trainer = trainer_of(
        tmp_path / "run",
        train,
        objective="jtt",
        hyperparameters=hyperparameters,
        model=with_dropout(0.0 if mode == "upsample" else 0.2),
        **settings,
    )
    result = trainer.train()
    assert [record["stage"] for record in result.history] == [1, 2, 2]

    model, processor = with_dropout(0.0 if mode == "upsample" else 0.2)
    first = {name: values.clone() for name, values in model.state_dict().items()}
    pixels = torch.tensor(np.stack([np.asarray(picture) for picture in train["image"]]))
    label = torch.tensor(train["label"][:])

    def logits(rows: Any) -> torch.Tensor:
        return model(pixel_values=normalize(pixels[rows], Preprocessing.from_processor(processor))).logits

    wrong, sampler = torch.zeros(40, dtype=torch.bool), UniformSampler(40, seed=0)
    for epoch in range(3):
        if epoch < 2:
            optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, weight_decay=1e-4)
        if epoch == 1:
            with torch.no_grad():
                model.eval()
                wrong = logits(range(40)).argmax(1) != label
            assert 0 < wrong.sum() < 40
            if not form:
                model.load_state_dict(first)
            if mode == "upsample":
                sampler = UniformSampler(np.repeat(np.arange(40), np.where(wrong, 3, 1)), seed=0)
        model.train()
        sampler.set_epoch(epoch)
        order = list(sampler)
        for step, start in enumerate(range(0, len(order), 16)):
            rows = order[start : start + 16]
            torch.manual_seed(int(np.random.SeedSequence([0, epoch, step, 0]).generate_state(1)[0]))
            losses = torch.nn.functional.cross_entropy(logits(rows), label[rows], reduction="none")
            weight = torch.where(wrong[rows], 3.0, 1.0) if mode == "loss_weight" else torch.ones(len(rows))
            ((weight * losses).sum() / weight.sum()).backward()
            optimizer.step()
            optimizer.zero_grad()
    found = trainer.model.state_dict()
    for name, values in model.state_dict().items():
        assert torch.allclose(found[name], values, atol=1e-6), name


def test_labels_that_are_not_classes_and_single_epochs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(oochub.OochubError, match="2 stages of at least one epoch, but"):
        trainer_of(tmp_path / "run", made_split(20, 0), objective="jtt", num_train_epochs=1)
    with pytest.raises(
        oochub.OochubError, match="2 stages of at least one epoch, but"
    ):  # before the data are looked for
        oochub.train("spawrious/o2o_easy", tmp_path / "run", objective="jtt", arguments={"num_train_epochs": 1})
    with pytest.raises(oochub.OochubError, match="chooses its rows itself"):
        trainer_of(tmp_path / "run", made_split(20, 0), objective="jtt", sampler="class_balanced")
