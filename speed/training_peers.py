"""Training steps of other code bases on the same network and images, for `speed/training.py`.

DomainBed's `update` and WILDS' `update` are read from copies of their repositories in the folder that $OOCHUB_PEERS
names: `git clone https://github.com/facebookresearch/DomainBed`, `git clone https://github.com/p-lambda/wilds`. Only
their algorithms are imported; networks, optimizer and loader that they ask for are ours, the same as beside them. The
third is the Trainer of transformers.
"""

import importlib
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import nn
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

GET = {
    "DomainBed": "git clone https://github.com/facebookresearch/DomainBed",
    "wilds": "git clone https://github.com/p-lambda/wilds",
}
_DOMAINBED = {"erm": "ERM", "group_dro": "GroupDRO", "irm": "IRM", "vrex": "VREx", "coral": "CORAL", "mmd": "MMD"}
_WILDS = {"erm": "ERM", "group_dro": "groupDRO.GroupDRO", "irm": "IRM"}
_PENALTY = 1.0


class DomainBed:
    """Its `update` on minibatches of equal size, one per environment."""

    def __init__(self, objective: str, world: Any) -> None:
        self._world, pooled = world, world.network()
        networks = ModuleType("domainbed.networks")
        networks.Featurizer = lambda *_: pooled.features  # type: ignore[attr-defined]
        networks.Classifier = lambda *_: pooled.classifier  # type: ignore[attr-defined]
        sys.path.insert(0, str(_folder("DomainBed")))
        sys.modules["domainbed.networks"] = importlib.import_module("domainbed").networks = networks
        settings = {"lr": 1e-3, "weight_decay": 1e-4, "nonlinear_classifier": False, "groupdro_eta": 0.01}
        settings |= {f"{name}_lambda": _PENALTY for name in ("irm", "vrex")} | {"mmd_gamma": _PENALTY}
        settings |= {f"{name}_penalty_anneal_iters": 0 for name in ("irm", "vrex")}
        algorithms = importlib.reload(importlib.import_module("domainbed.algorithms"))
        self._algorithm = getattr(algorithms, _DOMAINBED[objective])((3, 48, 48), 4, world.environments, settings)

    def epoch(self) -> None:
        self._algorithm.train()
        for pixels, label, _ in self._world.balanced():
            parts = zip(pixels.chunk(self._world.environments), label.chunk(self._world.environments), strict=True)
            self._algorithm.update(list(parts))


class Wilds:
    """Its `update`, with the logging by group that is a part of it."""

    def __init__(self, objective: str, world: Any) -> None:
        self._world = world
        sys.path[:0] = [str(_folder("wilds")), str(_folder("wilds") / "examples")]
        model = nn.Sequential((pooled := world.network()).features, pooled.classifier)
        model.needs_y = False  # type: ignore[assignment]
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
        _stub("models")
        _stub("models.initializer").initialize_model = lambda *_: model  # type: ignore[attr-defined]
        _stub("optimizer").initialize_optimizer = lambda *_: optimizer  # type: ignore[attr-defined]
        if "torch_scatter" not in sys.modules and importlib.util.find_spec("torch_scatter") is None:
            _stub("torch_scatter").scatter = _mean  # type: ignore[attr-defined]
        for name in [name for name in sys.modules if name.startswith("algorithms.")]:
            del sys.modules[name]  # they hold the model of another objective
        module, _, kind = _WILDS[objective].rpartition(".")
        loss = importlib.import_module("wilds.common.metrics.loss").ElementwiseLoss
        config = SimpleNamespace(
            device="cpu", max_grad_norm=None, scheduler=None, use_data_parallel=False, gradient_accumulation_steps=1,
            scheduler_metric_name=None, no_group_logging=False, use_unlabeled_y=False, uniform_over_groups=True,
            train_loader="group", distinct_groups=True, group_dro_step_size=0.01, irm_lambda=_PENALTY,
            irm_penalty_anneal_iters=-1,
        )  # fmt: skip
        grouper_options: dict[str, Any] = (
            {"is_group_in_train": torch.ones(4, dtype=torch.bool)} if kind == "GroupDRO" else {}
        )
        grouper = SimpleNamespace(n_groups=world.environments, metadata_to_group=lambda metadata: metadata)
        self._algorithm = getattr(importlib.import_module(f"algorithms.{module or kind}"), kind)(
            config, 4, grouper, loss(loss_fn=nn.CrossEntropyLoss(reduction="none")), None, 100, **grouper_options
        )

    def epoch(self) -> None:
        self._algorithm.train()
        for batch in self._world.balanced():
            self._algorithm.update(batch)


class HuggingFace:
    """The Trainer of transformers; its start-up does not count, and its rows are normalized beforehand."""

    def __init__(self, world: Any) -> None:
        model, pixels, label = world.model(), world.normalized(), world.label
        rows = [{"pixel_values": row, "labels": int(of)} for row, of in zip(pixels, label, strict=True)]
        clock = self._clock = _Clock()
        settings: dict[str, Any] = {"save_strategy": "no", "logging_strategy": "no", "report_to": "none"}
        settings |= {"use_cpu": True, "disable_tqdm": True, "num_train_epochs": 1, "lr_scheduler_type": "constant"}
        args = TrainingArguments(
            tempfile.mkdtemp(), per_device_train_batch_size=world.batch, learning_rate=1e-3, **settings
        )
        self._trainer = Trainer(model, args, train_dataset=rows, callbacks=[clock])  # type: ignore[arg-type]
        self._trainer.remove_callback(PrinterCallback)

    def epoch(self) -> float:
        """Its CPU time alone."""
        self._trainer.train()
        return self._clock.seconds


class _Clock(TrainerCallback):  # type: ignore[misc]
    seconds = 0.0

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        self._start = time.process_time()

    def on_epoch_end(self, *_: Any, **__: Any) -> None:
        self.seconds = time.process_time() - self._start


def peers(objective: str) -> dict[str, Callable[[Any], Any]]:
    """Who has this objective and is here: from a name to what makes it of a world.

    They are made before our trainer, for the arguments of transformers reset Accelerate.
    """
    steps: dict[str, Callable[[Any], Any]] = {}
    if objective == "erm":
        steps["transformers.Trainer"] = HuggingFace
    for name, kind, known in (("DomainBed", DomainBed, _DOMAINBED), ("wilds", Wilds, _WILDS)):
        if objective in known and _folder(name).is_dir():
            steps[f"{name}'s update"] = lambda world, kind=kind: kind(objective, world)
    return steps


def missing() -> list[str]:
    """How to get the peers that are not here."""
    return [f"in $OOCHUB_PEERS: {how}" for name, how in GET.items() if not _folder(name).is_dir()]


def _folder(name: str) -> Path:
    return Path(os.environ.get("OOCHUB_PEERS", "peers")) / name


def _mean(src: torch.Tensor, index: torch.Tensor, dim_size: int, reduce: str) -> torch.Tensor:
    return src.new_zeros(dim_size).scatter_reduce(0, index, src, reduce, include_self=False)


def _stub(name: str) -> ModuleType:
    module = sys.modules[name] = ModuleType(name)
    return module
