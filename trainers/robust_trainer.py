"""RobustTrainer: one readable training loop on Accelerate, in which the objective sees the environments."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional
from torch.utils.data import DataLoader
from tqdm import tqdm

from oochub.errors import OochubError
from oochub.images import normalize
from oochub.preprocessing import Preprocessing
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.augmentation import augmentation
from oochub.trainers.examples import Examples
from oochub.trainers.model_card import model_card
from oochub.trainers.objective import Objective
from oochub.trainers.recipe import recipe, settings
from oochub.trainers.run_folder import Progress, RunFolder
from oochub.trainers.samplers import UniformSampler
from oochub.trainers.schedule import make_optimizer, make_scheduler
from oochub.trainers.validation import Validation


class TrainResult(NamedTuple):
    """What a run gave.

    Attributes:
        output_dir: The folder, which AutoModelForImageClassification and AutoImageProcessor open.
        best_epoch: The epoch, from 1, whose weights were kept.
        best_value: Its `metric_for_best_model`; None without a validation split.
        global_step: Optimizer steps in all.
        history: One record per epoch: loss and loss_by_environment (mean cross entropy of the batches as they were
            trained on, nats; None without a row), objective, learning_rate, and eval_<number> of the validation split.
    """

    output_dir: Path
    best_epoch: int
    best_value: float | None
    global_step: int
    history: list[dict[str, Any]]


class RobustTrainer:
    """Trains an image classifier of transformers with an objective of the hub.

    Devices, mixed precision, several processes and trackers are Accelerate's; start several processes with `torchrun`.
    The order of rows, augmentation and dropout are functions of (seed, epoch, step), so a run that was killed goes on,
    when `train` is called again, to the same weights bit for bit.

    Args:
        model: An image classifier; `backbone` makes one.
        args: The settings.
        train_dataset: A `datasets.Dataset` with `image`, `label` and the environment column.
        eval_dataset: The validation split; without one the last epoch is kept.
        objective: An Objective of the catalogue, made with its hyperparameters.
        image_processor: The processor of the model.
        environment_column: As in the arguments, over which it wins.
        metrics: Names of metrics computed on the validation split after each epoch.

    Raises:
        OochubError: Data, model, objective, metrics or output folder that do not go together, before anything slow.
    """

    def __init__(
        self,
        model: Any,
        args: RobustTrainingArguments,
        *,
        train_dataset: Any,
        eval_dataset: Any = None,
        objective: Objective,
        image_processor: Any,
        environment_column: str | None = None,
        metrics: Iterable[str] = (),
    ) -> None:
        self.model, self.args, self.objective, self.image_processor = model, args, objective, image_processor
        self.preprocessing = Preprocessing.from_processor(image_processor)
        self._column = self._environment_column(environment_column, train_dataset)
        class_names = _class_names(model, train_dataset)
        self._splits = {"train": train_dataset} | ({} if eval_dataset is None else {"validation": eval_dataset})
        self._train = Examples(
            train_dataset,
            self.preprocessing,
            split="train",
            class_names=class_names,
            environment_column=self._column,
        )
        self._eval = self._validation = None
        if eval_dataset is not None:
            self._eval = Examples(eval_dataset, self.preprocessing, split="validation", class_names=class_names)
            self._validation = Validation(
                eval_dataset,
                self._eval.label.numpy(),
                classes=len(class_names),
                metrics=metrics,
                metric_for_best_model=args.metric_for_best_model,
                greater_is_better=args.greater_is_better,
                group_column=self._column,
            )
        elif args.early_stopping_patience or args.metric_for_best_model != "loss" or tuple(metrics):
            raise OochubError("Early stopping and metrics need a validation split. Pass eval_dataset.")
        environments = self._train.environment_names
        counts = self._train.counts(self._train.environment, len(environments))
        self._environments = dict(zip(environments, counts, strict=True))
        objective.prepare(
            class_counts=self._train.counts(self._train.label, len(class_names)), environment_counts=counts
        )
        model.config.id2label = dict(enumerate(class_names))
        model.config.label2id = {name: number for number, name in enumerate(class_names)}
        run = settings(model, image_processor, objective, args, self._splits)
        run |= {"environment_column": self._column, "metrics": list(metrics)}
        self._folder = RunFolder(args.output_dir, run, overwrite=args.overwrite_output_dir)

    def train(self) -> TrainResult:
        """Trains, or goes on from the last complete checkpoint, or returns the finished run in `output_dir`.

        Raises:
            OochubError: A picture that cannot be read, a loss that is not finite, or a folder that cannot be written.
        """
        if self._folder.finished:
            return self._finished()
        with _deterministic(self.args.full_determinism):
            self._prepare()
            progress = self._resumed()
            bar = tqdm(total=self._total_steps, initial=progress.global_step, unit="step", disable=self._silent)
            with bar:
                while not self._done(progress):
                    bar.set_description(f"epoch {progress.epoch + 1}/{self._epochs}")
                    self._run_epoch(progress, bar)
                    bar.set_postfix(self._close_epoch(progress))
            return self._finish(progress)

    def save_model(self, folder: str | Path) -> Path:
        """Writes the model and its image processor as transformers does; returns the folder."""
        path = Path(folder)
        accelerator = self._accelerator
        state = accelerator.get_state_dict(self._wrapped) if accelerator else self.model.state_dict()
        if accelerator is None or accelerator.is_main_process:
            self.model.save_pretrained(path, state_dict=state)
            self.image_processor.save_pretrained(path)
        return path
