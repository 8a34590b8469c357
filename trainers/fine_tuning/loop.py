"""The training loop itself, on Accelerate: stages, batches, steps, validation and checkpoints.

With what a step and an epoch need: losses summed on the device, so that no step waits for them; random draws that are
those of a step's place in the run, however often it was interrupted; what trackers of experiments are told.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate import skip_first_batches
from torch import Tensor, nn
from torch.utils.data import DataLoader

from oochub.errors import OochubError
from oochub.process.follow import follow
from oochub.storage.cache import cache_folder
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.batch import Batch, Mixed, mix_losses
from oochub.trainers.fine_tuning.auxiliary import Auxiliary
from oochub.trainers.fine_tuning.callbacks import Callbacks
from oochub.trainers.fine_tuning.fitting import choose_sampler
from oochub.trainers.fine_tuning.launch import (
    check_shards,
    make_accelerator,
    prepare_arithmetic,
    use_deterministic_algorithms,
)
from oochub.trainers.fine_tuning.run_folder import Progress, RunFolder
from oochub.trainers.fine_tuning.schedule import Schedule, make_optimizer, stage_steps
from oochub.trainers.fine_tuning.validation import Validation
from oochub.trainers.fine_tuning.weight_average import AveragedWeights, WeightAverage, renew_batch_norm
from oochub.trainers.objective import CleanPass, Objective
from oochub.trainers.rows.examples import Examples
from oochub.trainers.samplers import EpochSampler
from oochub.trainers.training_step import TrainingStep


class TrainingData(NamedTuple):
    """The training rows; the validation rows and what is computed on them, None for none; what a second head says."""

    train: Examples
    evaluation: Examples | None
    validation: Validation | None
    auxiliary: Auxiliary | None = None


class Loop:
    """Trains a model in a run folder until the steps are done or patience is spent; `RobustTrainer` is its user's face.

    Args:
        model: The classifier.
        objective: Prepared with the counts of the training set.
        args: The settings.
        data: The data that it is trained and measured on.
        folder: Folder that checkpoints are written to and read from.
        head: The model's last layers, if their inputs are wanted.
        callbacks: See `Callbacks`.

    Attributes:
        averaged: What the kept weights are the average of, and their numbers on the validation split; None for those of
            an epoch.
    """

    averaged: tuple[AveragedWeights, dict[str, float]] | None = None

    def __init__(
        self,
        model: Any,
        objective: Objective,
        args: RobustTrainingArguments,
        *,
        data: TrainingData,
        folder: RunFolder,
        head: Sequence[nn.Module] = (),
        callbacks: Sequence[Any] = (),
    ) -> None:
        self._objective, self._args, self._folder, self._data = objective, args, folder, data
        self._accelerator = accelerator = make_accelerator(args, folder.path)
        check_shards(accelerator.distributed_type, objective, args)
        if accelerator.is_main_process:
            folder.begin()
        cache_dir = None if args.cache == "none" else Path(args.cache_dir or cache_folder("pixels"))
        for examples in (data.train, data.evaluation):
            if examples is not None:
                examples.open(cache_dir)
        self._last_stage = len(objective.shares) - 1
        prepare_arithmetic(model, args)
        optimizer = make_optimizer(model, args)
        self._schedule = Schedule(optimizer, args)
        self._model, optimizer = accelerator.prepare(model, optimizer)
        self._training = TrainingStep(
            accelerator,
            self._model,
            optimizer,
            head=head,
            dropout=args.dropout,
            separate=args.forward == "per_environment",
            max_grad_norm=args.max_grad_norm,
            keep_first=self._last_stage > 0,
            auxiliary=data.auxiliary,
        )
        self._eval_batches = data.evaluation and self._make_loader(data.evaluation, args.per_device_eval_batch_size)
        objective.to(accelerator.device)
        accelerator.register_for_checkpointing(self._schedule, objective)
        self._average = None
        if args.average != "none":
            self._average = WeightAverage(args, self._training.module.parameters())
            accelerator.register_for_checkpointing(self._average)
        accelerator.init_trackers("oochub", config=args.settings)
        self._tell = Callbacks(
            callbacks,
            args=args,
            main=accelerator.is_main_process,
            selection=data.validation.selection if data.validation else None,
            model=model,
            processing_class=data.train.inputs.processor,
        )

    def run(self) -> Progress:
        """Trains from the last complete checkpoint on, and restores the weights of the best epoch."""
        with use_deterministic_algorithms(self._args.full_determinism), torch.random.fork_rng(devices=[]):
            progress = self._resume()
            self._tell("on_train_begin", progress)
            quiet = None if self._accelerator.is_main_process else True
            with follow(initial=progress.global_step, unit="step", disable=quiet) as bar:
                while True:
                    if not self._end_stage(progress):
                        bar.total = progress.stage_began + progress.stage_steps
                        bar.set_description(f"epoch {progress.epoch + 1}")
                        self._run_epoch(progress, bar)
                    elif progress.stage == self._last_stage:
                        break
                    else:
                        self._begin_next_stage(progress)
                        if progress.stage_steps:
                            continue
                    bar.set_postfix(self._close_epoch(progress))
            if self._average is not None:
                self._keep_average(self._average, progress)
        if self._average is None and progress.best_epoch != progress.epoch and not self._args.keeps_last:
            self._accelerator.load_state(str(self._folder.of_epoch(progress.best_epoch)))
        for tracker in self._accelerator.trackers:  # Accelerate's `end_training` would also end the caller's processes
            tracker.finish()
        self._tell("on_train_end", progress)
        return progress

    def trained(self) -> tuple[Any, dict[str, Tensor], bool]:
        """The model, its weights gathered from all processes, and whether this process is the one to write them."""
        accelerator = self._accelerator
        state: dict[str, Tensor] = accelerator.get_state_dict(self._model)
        return accelerator.unwrap_model(self._model), state, accelerator.is_main_process

    def wait(self) -> None:
        """Waits until every process is here."""
        self._accelerator.wait_for_everyone()

    def _keep_average(self, average: WeightAverage, progress: Progress) -> None:
        """Gives the model its averaged weights, with statistics of BatchNorm that are theirs, and measures them."""
        data, size = self._data, self._args.per_device_train_batch_size
        kept = average.restore(progress.epoch)
        torch.manual_seed(self._args.seed)  # of a dropout that the model itself has
        rows = DataLoader(data.train, size, collate_fn=_return_unchanged, drop_last=len(data.train) > size)
        renew_batch_norm(self._training.module, rows, data.train.inputs, self._accelerator.device)
        self.averaged = kept, self._measure()[0]

    def _make_loader(self, examples: Examples, batch_size: int, sampler: EpochSampler | None = None) -> Any:
        workers = 0 if self._args.cache == "uint8" else self._args.dataloader_num_workers
        loader = DataLoader(examples, batch_size, sampler=sampler, num_workers=workers, collate_fn=_return_unchanged)
        return self._accelerator.prepare(loader)

    def _make_stage_loader(self) -> Any:
        """The loader of a stage."""
        args, train = self._args, self._data.train
        own = self._objective.sampler(train.label, train.environment, seed=args.seed)
        sampler = own or choose_sampler(args, train, processes=self._accelerator.num_processes)
        return self._make_loader(train, args.per_device_train_batch_size, sampler)

    def _resume(self) -> Progress:
        self._accelerator.wait_for_everyone()
        checkpoint = self._folder.last()
        if checkpoint is None:
            self._begin_stage(progress := Progress())
            return progress
        self._schedule.begin(checkpoint.progress.stage_steps)  # as long as the saved one
        self._accelerator.load_state(str(checkpoint.folder))
        self._batches = self._make_stage_loader()
        return checkpoint.progress

    def _begin_stage(self, progress: Progress) -> None:
        args = self._args
        self._batches = self._make_stage_loader()
        epoch = math.ceil(len(self._batches) / args.gradient_accumulation_steps)
        progress.stage_began, progress.stage_steps = (
            progress.global_step,
            stage_steps(
                self._objective.shares,
                progress.stage,
                epochs=args.num_train_epochs,
                max_steps=args.max_steps,
                steps_per_epoch=epoch,
                began=progress.global_step,
            ),
        )
        self._schedule.begin(progress.stage_steps, epoch=epoch)
        self._losses = _EpochLosses(len(self._data.train.environment_names), self._accelerator.device)

    def _begin_next_stage(self, progress: Progress) -> None:
        """A clean pass over the training rows, what the objective makes of it, and a new beginning."""
        train = self._data.train
        batches = self._make_loader(train, self._args.per_device_eval_batch_size)
        logits, features = self._training.outputs_of_all(batches, train.inputs)
        self._objective.next_stage(CleanPass(logits, features, train.label, train.environment), self._training)
        self._training.forget()
        progress.stage += 1
        self._tell.begin_stage()
        progress.best_epoch, progress.best_value, progress.bad_epochs = 0, None, 0
        self._begin_stage(progress)

    def _end_stage(self, progress: Progress) -> bool:
        patience = self._args.early_stopping_patience
        spent = progress.stage == self._last_stage and 0 < patience <= progress.bad_epochs
        spent |= self._average is not None and self._average.ended
        return spent or self._tell.stop or progress.global_step >= progress.stage_began + progress.stage_steps

    def _run_epoch(self, progress: Progress, bar: Any) -> None:
        """The loop: a batch, a step; `progress` is the position in it at any moment."""
        accelerator, objective, training = self._accelerator, self._objective.train(), self._training
        inputs, args = self._data.train.inputs, self._args
        self._model.train()
        self._tell("on_epoch_begin", progress)
        batches = skip_first_batches(self._batches, progress.step) if progress.step else self._batches
        # through the loader to the sampler: else Accelerate sets the epochs since this process's start
        batches.set_epoch(progress.epoch)
        sums = progress.sums if accelerator.is_main_process else None
        self._losses = _EpochLosses(len(self._data.train.environment_names), accelerator.device, sums)
        for rows in batches:
            if isinstance(rows, OochubError):
                raise rows
            augmentation, training.draws, training.shared_draws = _draw_step(
                args.seed, progress, process=accelerator.process_index, is_cpu=accelerator.device.type == "cpu"
            )
            training.done = (progress.global_step - progress.stage_began) / progress.stage_steps
            if progress.batches == objective.anneal_steps:
                training.forget()
            self._tell("on_step_begin", progress)
            with accelerator.accumulate(self._model):
                ready = inputs.ready(rows, augment=args.augment, generator=augmentation)
                batch = Batch(ready, rows["label"], rows["environment"], rows["row"])
                loss, logits, batch = objective.take_step(objective.change(batch, training.draws), training)
            self._losses.count(loss.detach(), logits, batch.label, batch.environment)
            progress.step += 1
            progress.batches += 1
            if accelerator.sync_gradients:
                progress.global_step += 1
                self._schedule.step()
                if self._average is not None and progress.stage == self._last_stage:
                    self._average.take((progress.global_step - progress.stage_began) / progress.stage_steps)
                bar.update()
                self._tell("on_step_end", progress)
                if self._end_stage(progress) or self._tell.stop_epoch:
                    break
                is_last = progress.step == len(self._batches)  # its own checkpoint follows at once
                if args.save_steps and progress.global_step % args.save_steps == 0 and not is_last:
                    progress.sums = accelerator.reduce(self._losses.sums.clone()).tolist()
                    self._save(progress)

    def _close_epoch(self, progress: Progress) -> dict[str, float]:
        """Validates, decides whether the epoch is the best so far, writes a checkpoint; returns what the bar shows."""
        means = self._losses.means(self._accelerator.reduce(self._losses.sums), self._data.train.environment_names)
        progress.epoch, progress.step, progress.sums = progress.epoch + 1, 0, None
        objective = means["objective"]
        if objective is not None and not math.isfinite(objective):
            raise OochubError(
                f"The loss of epoch {progress.epoch} is {objective}: training diverged. Lower the learning "
                f"rate (currently {self._args.learning_rate:g})."
            )
        self._tell("on_epoch_end", progress)
        numbers, by_environment = self._measure()
        if self._average is not None and numbers and progress.stage == self._last_stage:
            self._average.close_epoch(progress.epoch, numbers["loss"])
        record = {
            "epoch": progress.epoch,
            "stage": progress.stage + 1,
            "global_step": progress.global_step,
            "learning_rate": self._schedule.rate,
            **means,
            **{f"eval_{name}": value for name, value in numbers.items()},
            **({"eval_accuracy_by_environment": by_environment} if by_environment else {}),
        }
        if numbers:
            self._tell("on_evaluate", progress, metrics={f"eval_{name}": value for name, value in numbers.items()})
        progress.history.append(record)
        self._select(progress, numbers)
        shown = {key: value for key, value in record.items() if isinstance(value, float)}
        self._tell("on_log", progress, logs=shown | {"epoch": float(progress.epoch)})
        self._save(progress)
        self._tell("on_save", progress)
        self._log(record)
        return {key: round(value, 4) for key, value in shown.items() if key in ("loss", "eval_loss")}

    def _log(self, record: Mapping[str, Any]) -> None:
        """Tells trackers the numbers of an epoch; those of tables as "<table>/<environment>"."""
        values = {name: value for name, value in record.items() if isinstance(value, float)}
        for table, of in record.items():
            if isinstance(of, Mapping):
                values |= {f"{table}/{name}": value for name, value in of.items() if value is not None}
        self._accelerator.log(values, step=record["global_step"])

    def _measure(self) -> tuple[dict[str, float], dict[str, float] | None]:
        """The numbers of the validation split, and its accuracy by environment; none without such a split."""
        validation = self._data.validation
        if self._eval_batches is None or validation is None:
            return {}, None
        logits = self._training.outputs_of_all(self._eval_batches, self._data.train.inputs).logits.numpy()
        return validation.measure(logits), validation.by_environment(logits)

    def _select(self, progress: Progress, numbers: dict[str, float]) -> None:
        validation = self._data.validation
        if validation is None:
            progress.best_epoch = progress.epoch
            return
        value = numbers[validation.selection.metric]
        if math.isnan(value):
            raise OochubError(
                f"{self._args.metric_for_best_model} is undefined on the validation split. Choose another."
            )
        if validation.selection.better(value, progress.best_value):
            progress.best_epoch, progress.best_value, progress.bad_epochs = progress.epoch, value, 0
        else:
            progress.bad_epochs += 1

    def _save(self, progress: Progress) -> None:
        with self._folder.writing():
            self._accelerator.save_state(str(self._folder.draft_of(progress)))
            self._accelerator.wait_for_everyone()
            if self._accelerator.is_main_process:
                self._folder.commit(progress)
        self._accelerator.wait_for_everyone()


def _return_unchanged(batch: Any) -> Any:
    return batch


class _EpochLosses:
    """Sums and counts of the objective and of the rows' losses by environment.

    Args:
        environments: Number of environments.
        device: Device that the batches are on.
        sums: The state of an interrupted epoch, from `state`.

    >>> losses = _EpochLosses(2, torch.device("cpu"))
    >>> losses.count(torch.tensor(0.5), torch.zeros(2, 2), torch.tensor([0, 1]), torch.tensor([0, 0]))
    >>> means = losses.means(losses.sums, ["road", "grass"])
    >>> means["objective"], round(means["loss"], 4), means["loss_by_environment"]["grass"]
    (0.5, 0.6931, None)
    """

    def __init__(self, environments: int, device: torch.device, sums: list[list[float]] | None = None) -> None:
        # float32: some devices have no float64, and a mean over 1e6 rows keeps five digits
        zeros = torch.zeros(2, 1 + environments, device=device)
        self.sums = zeros if sums is None else torch.tensor(sums, dtype=torch.float32, device=device)

    def count(self, objective: Tensor, logits: Tensor, label: Tensor | Mixed, environment: Tensor) -> None:
        """Adds a batch: its scalar objective, logits (n, k), label and environment (n,)."""
        with torch.no_grad():
            losses = mix_losses(logits.float(), label)
            self.sums[:, 0] += torch.stack([objective.float(), torch.ones_like(objective, dtype=torch.float32)])
            self.sums.index_add_(1, environment + 1, torch.stack([losses, torch.ones_like(losses)]))

    def means(self, sums: Tensor, names: Sequence[str]) -> dict[str, Any]:
        """The means of `sums`, `self.sums` over all processes, as a record has them; None without a row.

        The objective is a mean over batches, the loss over rows and over those of each environment, by its name.
        """
        (total, *by_environment), (batches, *counts) = sums.tolist()
        means = [total / count if count else None for total, count in zip(by_environment, counts, strict=True)]
        rows = sum(counts)
        return {
            "objective": total / batches if batches else None,
            "loss": sum(by_environment) / rows if rows else None,
            "loss_by_environment": dict(zip(names, means, strict=True)),
        }


def _draw_step(
    seed: int, progress: Progress, *, process: int, is_cpu: bool
) -> tuple[torch.Generator, np.random.Generator, np.random.Generator]:
    """The generators of a step: for the augmentation, for the objective in this process, and in all processes alike.

    It also seeds torch's own, which dropout draws from.

    Args:
        seed: Random seed of the run.
        progress: Its place in it: epoch and step.
        process: Number of this process.
        is_cpu: Whether the model runs on the CPU.

    >>> first, again = (_draw_step(0, Progress(step=3), process=0, is_cpu=True) for _ in range(2))
    >>> first[1].random() == again[1].random(), first[1].random() == first[2].random()
    (True, False)
    """
    place = [seed, progress.epoch, progress.step]
    own = np.random.SeedSequence([*place, process])
    drawn = int(own.generate_state(1)[0])
    # torch.manual_seed asks every kind of device, which takes a fifth of a millisecond
    (torch.default_generator if is_cpu else torch).manual_seed(drawn)
    return torch.Generator().manual_seed(drawn), np.random.default_rng(own), np.random.default_rng(place)
