"""Stacked heads against a plain loop over one torch.nn.Linear, for every objective that can be stacked."""

import math
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from datasets import ClassLabel, Dataset, Features, Value
from torch import nn

import oochub
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning.schedule import Schedule
from oochub.trainers.fit_linear_probe import check_stackable, fit_linear_probe
from oochub.trainers.heads import head_stack
from oochub.trainers.heads.fitted_head import Probe
from oochub.trainers.rows.examples import Examples
from oochub.trainers.rows.targets import find_task

torch.set_num_threads(1)
WIDTH, CLASSES = 12, ["no", "yes"]


def world(rows: int, seed: int, *, width: int = WIDTH) -> tuple[Examples, torch.Tensor, Any]:
    """Features that go with class and environment, rare environments among them."""
    draw = np.random.default_rng(seed)
    environment = draw.choice(3, rows, p=[0.6, 0.3, 0.1])
    label = (draw.random(rows) < np.array([0.2, 0.5, 0.8])[environment]).astype(int)
    features = draw.normal(size=(rows, width)) + 0.5 * label[:, None] + 0.3 * environment[:, None]
    names = {"label": ClassLabel(names=CLASSES), "environment": ClassLabel(names=["a", "b", "c", "empty"])}
    columns = {"label": label, "environment": environment, "challenge": np.where(label == 1, "hard_positive", "easy")}
    dataset = Dataset.from_dict(columns, Features({**names, "challenge": Value("string")}))
    task = find_task(dataset)
    inputs: Any = SimpleNamespace(column="label")
    examples = Examples(dataset, inputs, split="train", task=task, names=CLASSES, environment_column="environment")
    return examples, torch.tensor(features, dtype=torch.float32), task


TRAIN, FEATURES, TASK = world(90, 0)
EVAL = world(60, 1)[:2]


def probe(objective: str, seed: int = 0, **given: Any) -> Probe:
    names = oochub.get("objective", objective)().hyperparameters
    own = {name: given.pop(name) for name in list(given) if name in names}
    settings = {"num_train_epochs": 3, "per_device_train_batch_size": 32, "optim": "sgd", "learning_rate": 0.1} | given
    args = RobustTrainingArguments(output_dir="unused", seed=seed, environment_column="environment", **settings)
    return Probe(oochub.get("objective", objective)(**own), args)


def alone(one: Probe, *, hidden: int = 0) -> tuple[list[torch.Tensor], int]:
    """The head of a run by a plain loop: torch's layers, optimizers and clipping; weights and epoch of the best."""
    objective, args = oochub.get("objective", _name(one))(**one.objective.hyperparameters), one.args
    counts = [torch.bincount(of, minlength=n).tolist() for of, n in ((TRAIN.label, 2), (TRAIN.environment, 4))]
    objective.prepare(class_counts=counts[0], environment_counts=counts[1])
    torch.manual_seed(args.seed)
    widths = [WIDTH, hidden, 2] if hidden else [WIDTH, 2]
    layers = [nn.Linear(i, o) for i, o in pairwise(widths)]
    head = nn.Sequential(*layers) if not hidden else nn.Sequential(layers[0], nn.ReLU(), layers[1])
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[args.optim]
    momentum = {"momentum": args.momentum} if args.optim == "sgd" else {}
    optimizer = kind(head.parameters(), lr=args.learning_rate, weight_decay=args.weight_decay, **momentum)
    sampler = objective.sampler(TRAIN.label, TRAIN.environment, seed=args.seed)
    schedule = Schedule(optimizer, args)
    length = 90 if sampler is None else len(sampler)
    batches_an_epoch = math.ceil(length / args.per_device_train_batch_size)
    schedule.begin(args.num_train_epochs * batches_an_epoch, epoch=batches_an_epoch)
    best: tuple[float, list[torch.Tensor], int] = (math.inf, [], 0)
    batches = bad = 0
    for epoch in range(args.num_train_epochs):
        if sampler is None:
            order = np.random.default_rng([args.seed, epoch]).permutation(90).tolist()
        else:
            sampler.set_epoch(epoch)
            order = list(sampler)
        for start in range(0, len(order), args.per_device_train_batch_size):
            rows = order[start : start + args.per_device_train_batch_size]
            if objective.anneal_steps and batches == objective.anneal_steps:
                optimizer.state.clear()
            optimizer.zero_grad()
            objective(head(FEATURES[rows]), TRAIN.label[rows], TRAIN.environment[rows]).backward()
            if args.max_grad_norm:
                torch.nn.utils.clip_grad_norm_(head.parameters(), args.max_grad_norm)
            optimizer.step()
            schedule.step()
            batches += 1
        with torch.no_grad():
            value = nn.functional.cross_entropy(head(EVAL[1]), EVAL[0].label).item()
        bad = 0 if value < best[0] else bad + 1
        if value < best[0]:
            best = (value, [p.detach().clone() for p in head.parameters()], epoch + 1)
        if 0 < args.early_stopping_patience <= bad:
            break
    return best[1], best[2]


def _name(one: Probe) -> str:
    return type(one.objective).__module__.rpartition(".")[2]


def equal(fitted: Any, expected: tuple[list[torch.Tensor], int]) -> None:
    assert fitted.error is None and fitted.best_epoch == expected[1]
    found = [part for weight, bias in fitted.layers for part in (weight, bias)]
    for mine, theirs in zip(found, expected[0], strict=True):
        torch.testing.assert_close(mine, theirs, atol=2e-5, rtol=1e-4)


def stackable(name: str) -> bool:
    try:
        check_stackable(oochub.get("objective", name)(), RobustTrainingArguments(output_dir="x"))
    except oochub.OochubError as error:
        assert "more than a loss of logits" in str(error)
        return False
    return True


STACKABLE = [name for name in oochub.names("objective") if stackable(name)]


def test_which_objectives_can_be_stacked():
    """Losses of logits can; what compares features, mixes rows or has steps or stages of its own cannot."""
    losses = {"erm", "cvar", "focal", "reweight", "reweight_environments", "group_dro", "irm", "vrex"}
    assert losses | {"undersample", "undersample_environments"} <= set(STACKABLE)
    assert not {"coral", "mmd", "causirl", "mixup", "lisa", "fish", "jtt", "w2d"} & set(STACKABLE)
    print(f"{len(STACKABLE)} of {len(oochub.names('objective'))} objectives train in stacks")  # noqa: T201


@pytest.mark.parametrize("given", [{"affine_after_blocks": True}, {"auxiliary_column": "group"}])
def test_options_that_change_the_network_are_no_heads(given):
    with pytest.raises(oochub.OochubError, match="change features, but features are fixed here"):
        check_stackable(oochub.get("objective", "erm")(), RobustTrainingArguments(output_dir="x", **given))


@pytest.mark.slow
def test_a_stack_of_all_objectives_equals_its_heads_trained_alone():
    """Two seeds and two learning rates of each objective in one stack, against loops."""
    short = {"irm": {"anneal_steps": 4}, "vrex": {"anneal_steps": 4}}
    probes = [
        probe(name, seed, learning_rate=rate, **short.get(name, {}))
        for rate in (0.1, 0.02)
        for name in STACKABLE
        for seed in (0, 1)
    ]
    probes += [probe("erm", 2, optim="adam", learning_rate=0.01), probe("cvar", 2, optim="adamw", weight_decay=0.1)]
    probes += [probe("irm", 5, optim="adam", learning_rate=0.01, penalty_weight=50.0, anneal_steps=5)]
    for course in ("onecycle", "cosine", "linear", "exponential", "constant"):
        for optim in ("sgd", "adam", "adamw"):
            given = {"lr_scheduler_type": course, "optim": optim, "warmup_ratio": 0.25, "weight_decay": 0.05}
            probes += [probe("group_dro", 4, learning_rate=rate, **given) for rate in (0.03, 0.1)]
    fitted = fit_linear_probe(TRAIN, FEATURES, probes, task=TASK, evaluation=EVAL)
    for one, head in zip(probes, fitted, strict=True):
        equal(head, alone(one))


@pytest.mark.parametrize("hidden", [0, 5])
def test_patience_clipping_and_a_hidden_layer(hidden):
    given = {"num_train_epochs": 12, "early_stopping_patience": 2, "max_grad_norm": 0.3, "learning_rate": 0.8}
    probes = [probe("erm", seed, **given) for seed in range(3)] + [probe("group_dro", 7, step_size=0.5, **given)]
    fitted = fit_linear_probe(TRAIN, FEATURES, probes, task=TASK, evaluation=EVAL, hidden=hidden)
    for one, head in zip(probes, fitted, strict=True):
        equal(head, alone(one, hidden=hidden))
    lengths = {len(head.history) for head in fitted}
    assert min(lengths) < 12 and len(lengths) > 1  # they stopped, at different epochs


def test_heads_that_are_judged_a_few_at_a_time_are_the_same(monkeypatch):
    """Planted fault seen: each part judged with the weights of the first."""
    probes = [probe(name, seed) for name in ("erm", "group_dro", "undersample") for seed in (0, 1)]
    whole = fit_linear_probe(TRAIN, FEATURES, probes, task=TASK, evaluation=EVAL)
    monkeypatch.setattr(head_stack, "_MOST_NUMBERS", 4 * 60 * len(CLASSES))
    parts = fit_linear_probe(TRAIN, FEATURES, probes, task=TASK, evaluation=EVAL)
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one.layers, other.layers)
        assert one.best_epoch == other.best_epoch and one.best_value == pytest.approx(other.best_value)


def test_a_run_that_diverges_stops_no_other():
    probes = [probe("erm", 0), probe("erm", 1, learning_rate=1e38), probe("focal", 0, learning_rate=1e38)]
    good, bad, _ = fit_linear_probe(TRAIN, FEATURES, probes, task=TASK, evaluation=EVAL)
    equal(good, alone(probes[0]))
    assert bad.error == "Training diverged in epoch 1. Lower the learning rate (currently 1e+38)." and not bad.layers


def test_dropout_is_drawn_for_each_run_and_step():
    """Equal seeds drop the same, and dropping changes the head; the features keep their mean."""
    first, same, other, none = fit_linear_probe(
        TRAIN, FEATURES, [probe("erm", s, dropout=d) for s, d in ((0, 0.5), (0, 0.5), (1, 0.5), (0, 0.0))], task=TASK
    )
    assert torch.equal(first.layers[0][0], same.layers[0][0])
    assert not torch.allclose(first.layers[0][0], other.layers[0][0])
    assert not torch.allclose(first.layers[0][0], none.layers[0][0])
    lone = fit_linear_probe(TRAIN, FEATURES, [probe("erm", 0, dropout=0.5)], task=TASK)[0]
    torch.testing.assert_close(first.layers[0][0], lone.layers[0][0])


def test_steps_without_validation_end_where_they_are_told():
    """Five steps of 32 rows: the last epoch is cut, and its weights are kept."""
    given = {"max_steps": 5, "num_train_epochs": 9}
    cut = fit_linear_probe(TRAIN, FEATURES, [probe("erm", 0, **given)], task=TASK)[0]
    assert cut.best_epoch == 2 and cut.best_value is None
    whole = fit_linear_probe(TRAIN, FEATURES, [probe("erm", 0, num_train_epochs=2)], task=TASK)[0]
    assert not torch.allclose(cut.layers[0][0], whole.layers[0][0])
    logits = cut.logits(FEATURES[:4])
    torch.testing.assert_close(logits, FEATURES[:4] @ cut.layers[0][0].T + cut.layers[0][1])


def test_the_best_epoch_by_another_number():
    """NOOCH's rule: the epoch with the smallest larger loss of hard positives and negatives."""
    head = fit_linear_probe(
        TRAIN,
        FEATURES,
        [probe("erm", 0, metric_for_best_model="hard_loss", num_train_epochs=6)],
        task=TASK,
        evaluation=EVAL,
    )[0]
    losses = [record["eval_hard_loss"] for record in head.history]
    assert head.best_value == min(losses) and head.best_epoch == losses.index(min(losses)) + 1


def test_what_cannot_be_done_is_said():
    one = lambda *given, **more: fit_linear_probe(TRAIN, FEATURES, [probe(*given, **more)], task=TASK)[0].error  # noqa: E731
    assert "coral is more than a loss of logits" in one("coral")
    assert "leave gradient_accumulation_steps at 1" in one("erm", gradient_accumulation_steps=2)
    assert "is more than the 3 environments" in one("irm", sampler="environments", environments_per_batch=4)
    with pytest.raises(oochub.OochubError, match=r"features must be \(90, d\), one row per example, got \(60, 12\)"):
        fit_linear_probe(TRAIN, EVAL[1], [probe("erm")], task=TASK)
    with pytest.raises(oochub.OochubError, match=r"Did you mean 'worst_group\.accuracy'"):
        fit_linear_probe(
            TRAIN, FEATURES, [probe("erm", metric_for_best_model="worst_group.acuracy")], task=TASK, evaluation=EVAL
        )
