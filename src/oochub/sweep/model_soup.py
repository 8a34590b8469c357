"""Model soups: the mean of the weights of runs that began with the same weights (Wortsman et al. 2022)."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from torch import Tensor
from torch.utils.data import DataLoader

from oochub.errors import OochubError
from oochub.models.model_source import choose_input
from oochub.records.origin_records import provenance
from oochub.storage.artifacts import RUN
from oochub.storage.files import write_whole_folder
from oochub.storage.reading import read_json
from oochub.trainers.backbone import open_backbone
from oochub.trainers.fine_tuning.weight_average import renew_batch_norm
from oochub.trainers.model_card import write_model_card
from oochub.trainers.rows.examples import Examples
from oochub.trainers.rows.targets import CLASSES, find_task
from oochub.trainers.training_step import TrainingStep

_WEIGHTS, _RECIPE = "model.safetensors", "recipe.json"
_BATCH = 64
_Recipe = dict[str, Any]


def make_soup(
    runs: Sequence[Path], out: Path, *, train: datasets.Dataset, validation: datasets.Dataset, kind: str
) -> None:
    """Writes the soup of finished runs as a model folder, with a recipe that names its ingredients.

    A `uniform` soup is the mean of the weights of all runs. A `greedy` soup begins with the run of the highest accuracy
    on the validation rows and takes each other, from the highest accuracy down, if the mean with it is not less
    accurate. Statistics of BatchNorm are computed anew on the training rows for each mean.

    Args:
        runs: Folders of runs of one model on the same data, which began with the same weights.
        out: Folder of the soup.
        train: The training rows.
        validation: The rows by which a greedy soup is chosen, and on which the soup is measured.
        kind: "uniform" or "greedy".

    Raises:
        OochubError: No finished run, runs that began with other weights or data, or labels that are not one class.
    """
    recipes = {run: read_json(run / _RECIPE) for run in runs if (run / _RECIPE).is_file()}
    if not recipes:
        raise OochubError(f"A soup needs finished runs, and none of {len(runs)} is. Look at their errors.")
    _check_alike(recipes)
    kitchen = _Kitchen(next(iter(recipes)), train, validation)
    states = {run: load_file(run / _WEIGHTS) for run in recipes}
    chosen = list(recipes)
    if kind == "greedy":
        alone = {run: kitchen.measure([states[run]]) for run in recipes}
        order = sorted(recipes, key=lambda run: -alone[run])  # the first of equals stays first
        chosen, best = order[:1], alone[order[0]]
        for run in order[1:]:
            accuracy = kitchen.measure([states[member] for member in (*chosen, run)])
            if accuracy >= best:
                chosen, best = [*chosen, run], accuracy
    accuracy = kitchen.measure([states[run] for run in chosen])
    recipe = _describe_soup(recipes, chosen, kind, accuracy)
    with write_whole_folder(out, kind=RUN) as draft:
        kitchen.network.save_pretrained(draft)
        kitchen.processor.save_pretrained(draft)
        (draft / "README.md").write_text(write_model_card(recipe, citations=[]), "utf-8")
        (draft / _RECIPE).write_text(json.dumps(recipe, indent=1) + "\n", "utf-8")


class _Kitchen:
    """The model of a run, opened once, which takes the mean of several weights and is measured with it."""

    def __init__(self, run: Path, train: datasets.Dataset, validation: datasets.Dataset) -> None:
        recipe, task = read_json(run / _RECIPE), find_task(train)
        if task.problem_type != CLASSES:
            raise OochubError(
                f"A soup is measured by its accuracy, but the labels are of the kind {task.problem_type}."
            )
        self._names = recipe["data"]["classes"]
        kind = choose_input(train, str(run))
        self.network, self.processor = open_backbone(str(run), class_names=self._names, kind=kind, dataset=train)
        self._inputs = kind.of(self.processor, normalize=recipe["arguments"].get("normalize", True))
        self._accelerator = Accelerator()
        self.network.to(self._accelerator.device)
        self._training = TrainingStep(self._accelerator, self.network, None)
        self._rows = {
            split: Examples(part, self._inputs, split=split, task=task, names=self._names)
            for split, part in (("train", train), ("validation", validation))
        }
        for examples in self._rows.values():
            examples.open(None)

    def measure(self, states: Sequence[dict[str, Tensor]]) -> float:
        """The accuracy on the validation rows of the model with the mean of these weights, which it then has."""
        mean = {name: _average([state[name] for state in states]) for name in states[0]}
        self.network.load_state_dict(mean)
        if len(states) > 1:
            torch.manual_seed(0)  # of a dropout that the model itself has
            train, device = self._rows["train"], self._accelerator.device
            rows = DataLoader(train, _BATCH, collate_fn=_return_unchanged, drop_last=len(train) > _BATCH)
            renew_batch_norm(self.network, rows, self._inputs, device)
        validation = self._rows["validation"]
        batches = self._accelerator.prepare(DataLoader(validation, _BATCH, collate_fn=_return_unchanged))
        logits = self._training.outputs_of_all(batches, self._inputs).logits
        return float((logits.argmax(-1) == validation.label.cpu()).float().mean())


def _average(tensors: Sequence[Tensor]) -> Tensor:
    """The mean in float64, in the type that they have; whole numbers, which count batches, are those of the first."""
    if not tensors[0].is_floating_point():
        return tensors[0]
    return torch.stack([tensor.double() for tensor in tensors]).mean(0).to(tensors[0].dtype)


def _return_unchanged(batch: object) -> object:
    return batch


def _check_alike(recipes: dict[Path, _Recipe]) -> None:
    first, *others = recipes
    for other in others:
        for name, part in (("first weights", "model"), ("data", "data")):
            if recipes[first]["settings"][part] != recipes[other]["settings"][part]:
                raise OochubError(
                    f"{first.name} and {other.name} have other {name}, so the mean of their weights is not a model. "
                    "Mix runs of one model, seed and data."
                )


def _describe_soup(recipes: dict[Path, _Recipe], chosen: Sequence[Path], kind: str, accuracy: float) -> _Recipe:
    """The recipe of the first run with what all chosen ones have in common, and what the soup is of."""
    base = dict(recipes[chosen[0]])
    del base["settings"]  # of one run
    for part in ("arguments", "objective"):
        base[part] = _keep_common([recipes[run][part] for run in chosen])
    chosen_by = ", chosen greedily by accuracy on the validation split" if kind == "greedy" else ""
    rule = f"a {kind} soup: the mean of the weights of {len(chosen)} of {len(recipes)} runs{chosen_by}"
    digests = {run.name: hashlib.sha256((run / _WEIGHTS).read_bytes()).hexdigest() for run in chosen}
    greedy = {"metric": "accuracy", "greater_is_better": True, "value": accuracy}
    none = {"metric": None, "greater_is_better": None, "value": None}
    selection = {"rule": rule, "best_epoch": 0, "numbers": {"accuracy": accuracy}}
    return base | {
        "selection": selection | (greedy if kind == "greedy" else none),
        "soup": {"kind": kind, "runs": digests},
        "provenance": provenance(seed=base["arguments"].get("seed")),
    }


def _keep_common(parts: Sequence[_Recipe]) -> _Recipe:
    first, *others = parts
    return {
        name: _keep_common([part[name] for part in parts]) if isinstance(value, dict) else value
        for name, value in first.items()
        if isinstance(value, dict) or all(name in other and other[name] == value for other in others)
    }
