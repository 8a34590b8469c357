"""The training loop itself, on Accelerate: batches, losses, steps, validation and checkpoints."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator, skip_first_batches
from datasets import config as datasets_config
from torch import Tensor
from torch.utils.data import DataLoader
from tqdm import tqdm

from oochub.errors import OochubError
from oochub.preprocessing import Normalizer
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.augmentation import augmentation
from oochub.trainers.deterministic import deterministic
from oochub.trainers.epoch_losses import EpochLosses
from oochub.trainers.examples import Examples
from oochub.trainers.objective import Objective
from oochub.trainers.run_folder import Progress, RunFolder
from oochub.trainers.samplers import UniformSampler
from oochub.trainers.schedule import optimizer_and_schedule
from oochub.trainers.validation import Validation


class Loop:
    """Trains a model in a run folder until the steps are done or patience is spent; `RobustTrainer` is its user's face.

    Args:
        model: The classifier.
        objective: Prepared with the counts of the training set.
        args: The settings.
        train: The training rows.
        evaluation: The validation rows and what is computed on them; None for no validation.
        folder: Where checkpoints go, and come from.
    """

    def __init__(
        self,
        model: Any,
        objective: Objective,
        args: RobustTrainingArguments,
        *,
        train: Examples,
        evaluation: tuple[Examples, Validation] | None,
        folder: RunFolder,
    ) -> None:
        self._objective, self._args, self._folder = objective, args, folder
        self._environment_names, self._normalize = train.environment_names, Normalizer(train.preprocessing)
        self._accelerator = accelerator = Accelerator(
            mixed_precision=args.mixed_precision,
            gradient_accumulation_steps=args.gradient_accumulation_steps,
            log_with=None if args.report_to == "none" else args.report_to,
            project_dir=folder.path,
        )
        if accelerator.is_main_process:
            folder.begin()
        sampler = UniformSampler(len(train), seed=args.seed)
        loader = self._loader(train, args.per_device_train_batch_size, sampler)
        steps = math.ceil(math.ceil(len(loader) / accelerator.num_processes) / args.gradient_accumulation_steps)
        self._total = args.num_train_epochs * steps
        if args.max_steps > 0:
            self._total = min(args.max_steps, self._total)
        self._epochs = math.ceil(self._total / steps)
        optimizer, self._schedule = optimizer_and_schedule(model, args, total_steps=self._total)
        self._model, self._optimizer, self._batches = accelerator.prepare(model, optimizer, loader)
        self._validation = None
        if evaluation is not None:
            self._validation = evaluation[1]
            eval_loader = self._loader(evaluation[0], args.per_device_eval_batch_size, None)
            self._eval_batches = accelerator.prepare(eval_loader)
        objective.to(accelerator.device)
        accelerator.register_for_checkpointing(self._schedule, objective)
        accelerator.init_trackers("oochub", config=args.settings)

    def run(self) -> Progress:
        """Trains from the last complete checkpoint on, and restores the weights of the best epoch."""
        with deterministic(self._args.full_determinism), torch.random.fork_rng(devices=[]):
            progress = self._resumed()
            quiet = None if self._accelerator.is_main_process else True
            with tqdm(total=self._total, initial=progress.global_step, unit="step", disable=quiet) as bar:
                while not self._done(progress):
                    bar.set_description(f"epoch {progress.epoch + 1} of {self._epochs}")
                    self._run_epoch(progress, bar)
                    bar.set_postfix(self._close_epoch(progress))
        if progress.best_epoch != progress.epoch:
            self._accelerator.load_state(str(self._folder.of_epoch(progress.best_epoch)))
        for tracker in self._accelerator.trackers:  # end_training() would also end the process group of the caller
            tracker.finish()
        return progress

    def trained(self) -> tuple[Any, dict[str, Tensor], bool]:
        """The model, its weights gathered from all processes, and whether this process is the one to write them."""
        accelerator = self._accelerator
        state: dict[str, Tensor] = accelerator.get_state_dict(self._model)
        return accelerator.unwrap_model(self._model), state, accelerator.is_main_process

    def wait(self) -> None:
        """Waits until every process is here."""
        self._accelerator.wait_for_everyone()

    def _loader(self, examples: Examples, batch_size: int, sampler: UniformSampler | None) -> Any:
        if self._args.cache == "uint8":
            examples.decode_once(self._args.cache_dir or Path(datasets_config.HF_DATASETS_CACHE) / "oochub" / "pixels")
        workers = 0 if self._args.cache == "uint8" else self._args.dataloader_num_workers
        return DataLoader(examples, batch_size, sampler=sampler, num_workers=workers, collate_fn=_as_it_is)

    def _resumed(self) -> Progress:
        self._accelerator.wait_for_everyone()
        checkpoint = self._folder.last()
        if checkpoint is None:
            return Progress()
        self._accelerator.load_state(str(checkpoint.folder))
        return checkpoint.progress

    def _done(self, progress: Progress) -> bool:
        patience = self._args.early_stopping_patience
        return progress.global_step >= self._total or 0 < patience <= progress.bad_epochs

    def _run_epoch(self, progress: Progress, bar: Any) -> None:
        """The loop: a batch, its loss, a step; `progress` is the position in it at any moment."""
        accelerator, objective, draws = self._accelerator, self._objective.train(), torch.Generator()
        self._model.train()
        batches = skip_first_batches(self._batches, progress.step) if progress.step else self._batches
        # through the loader to the sampler: else Accelerate sets the epochs since this process's start
        batches.set_epoch(progress.epoch)
        sums = progress.sums if accelerator.is_main_process else None
        self._losses = EpochLosses(len(self._environment_names), accelerator.device, sums)
        for batch in batches:
            if isinstance(batch, OochubError):
                raise batch
            self._seed(draws, progress)
            with accelerator.accumulate(self._model):
                pixels = augmentation(batch["pixels"], self._args.augment, generator=draws)
                logits = self._model(pixel_values=self._normalize(pixels)).logits
                loss = objective(logits, batch["label"], batch["environment"])
                accelerator.backward(loss)
                if self._args.max_grad_norm and accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(self._model.parameters(), self._args.max_grad_norm)
                self._optimizer.step()
                self._optimizer.zero_grad()
            self._losses.count(loss, logits, batch["label"], batch["environment"])
            progress.step += 1
            if accelerator.sync_gradients:
                progress.global_step += 1
                self._schedule.step()
                bar.update()
                if progress.global_step == self._total:
                    break
                if self._args.save_steps and progress.global_step % self._args.save_steps == 0:
                    self._save_within_epoch(progress)

    def _seed(self, draws: torch.Generator, progress: Progress) -> None:
        """Makes the draws of a step, of augmentation and of dropout, a function of its place in the run."""
        place = [self._args.seed, progress.epoch, progress.step, self._accelerator.process_index]
        seed = int(np.random.SeedSequence(place).generate_state(1)[0])
        torch.manual_seed(seed)
        draws.manual_seed(seed)

    def _close_epoch(self, progress: Progress) -> dict[str, float]:
        """Validates, decides whether the epoch is the best so far, writes a checkpoint; returns what the bar shows."""
        means = self._losses.means(self._accelerator.reduce(self._losses.sums))
        progress.epoch, progress.step, progress.sums = progress.epoch + 1, 0, None
        if not math.isfinite(means.objective):
            raise OochubError(
                f"The loss of epoch {progress.epoch} is {means.objective}: training diverged. "
                f"Lower learning_rate (it is {self._args.learning_rate:g})."
            )
        numbers = self._evaluated()
        record = {
            "epoch": progress.epoch,
            "global_step": progress.global_step,
            "learning_rate": self._schedule.get_last_lr()[0],
            "objective": means.objective,
            "loss": means.loss,
            "loss_by_environment": dict(zip(self._environment_names, means.by_environment, strict=True)),
            **{f"eval_{name}": value for name, value in numbers.items()},
        }
        progress.history.append(record)
        self._select(progress, numbers)
        self._save(progress)
        shown = {key: value for key, value in record.items() if isinstance(value, float)}
        self._accelerator.log(shown, step=progress.global_step)
        return {key: round(value, 4) for key, value in shown.items() if key in ("loss", "eval_loss")}

    def _evaluated(self) -> dict[str, float]:
        if self._validation is None:
            return {}
        self._model.eval()
        parts = []
        with torch.no_grad():
            for batch in self._eval_batches:
                if isinstance(batch, OochubError):
                    raise batch
                logits = self._model(pixel_values=self._normalize(batch["pixels"])).logits
                parts.append(self._accelerator.gather_for_metrics(logits).float().cpu())
        return self._validation.measure(torch.cat(parts).numpy())

    def _select(self, progress: Progress, numbers: dict[str, float]) -> None:
        if self._validation is None:
            progress.best_epoch = progress.epoch
            return
        value = numbers[self._validation.selection.metric]
        if math.isnan(value):
            raise OochubError(
                f"{self._args.metric_for_best_model} is undefined on the validation split. Choose another."
            )
        if self._validation.selection.better(value, progress.best_value):
            progress.best_epoch, progress.best_value, progress.bad_epochs = progress.epoch, value, 0
        else:
            progress.bad_epochs += 1

    def _save_within_epoch(self, progress: Progress) -> None:
        if progress.step < len(self._batches):  # else the epoch's own checkpoint follows at once
            progress.sums = self._accelerator.reduce(self._losses.sums.clone()).tolist()
            self._save(progress)

    def _save(self, progress: Progress) -> None:
        with self._folder.writing():
            self._accelerator.save_state(str(self._folder.draft_of(progress)))
            self._accelerator.wait_for_everyone()
            if self._accelerator.is_main_process:
                self._folder.commit(progress)
        self._accelerator.wait_for_everyone()


def _as_it_is(batch: Any) -> Any:
    return batch
