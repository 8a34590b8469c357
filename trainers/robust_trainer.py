"""RobustTrainer: trains a classifier of transformers with an objective that sees the environments.

How the kept weights were chosen among the epochs is said as a recipe says it.
"""

import copy
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import datasets
from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers

from oochub import catalog
from oochub.errors import OochubError, OochubWarning, unknown_name
from oochub.input import Input, check_changes, check_config, find_processor_kind
from oochub.models.open_model import open_pretrained
from oochub.prediction.image_copies import find_copies, number_digests, read_digests
from oochub.process.ranks import Ranks
from oochub.records.metadata import HeldOut
from oochub.records.schema import to_json
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning.auxiliary import attach, detach, drop_second_head, read_auxiliary, save_apart
from oochub.trainers.fine_tuning.callbacks import Callbacks
from oochub.trainers.fine_tuning.fitting import check_detector, check_objective, check_tokens, find_head_layers
from oochub.trainers.fine_tuning.loop import Loop, TrainingData
from oochub.trainers.fine_tuning.run_folder import AUXILIARY_HEAD, Progress, RunFolder
from oochub.trainers.fine_tuning.trained_part import choose_trained, merge_adapters
from oochub.trainers.fine_tuning.validation import RULES, Validation
from oochub.trainers.fine_tuning.weight_average import AveragedWeights
from oochub.trainers.model_card import write_model_card
from oochub.trainers.objective import Objective
from oochub.trainers.recipe import make_recipe, settings
from oochub.trainers.rows.examples import Examples
from oochub.trainers.rows.targets import BOXES, CLASSES, TOKENS, Task, find_task


class TrainResult(NamedTuple):
    """What a run gave.

    Attributes:
        output_dir: The folder, which the Auto classes of transformers open.
        best_epoch: The epoch, from 1, whose weights were kept.
        best_value: Its `metric_for_best_model`; None if the last epoch was kept whatever its number.
        global_step: Optimizer steps in all.
        history: One record per epoch: loss and loss_by_environment (mean loss of the batches as they were trained on;
            None without a row), objective, learning_rate, stage, and eval_<number> of the validation split, see
            `Validation`, with eval_accuracy_by_environment.
    """

    output_dir: Path
    best_epoch: int
    best_value: float | None
    global_step: int
    history: list[dict[str, Any]]


class RobustTrainer:
    """Trains a classifier of transformers, of images, texts, arrays or graphs, with an objective of the hub.

    Devices, mixed precision, several processes and trackers are Accelerate's; start several processes with `torchrun`.
    The order of rows, augmentation and dropout are functions of (seed, epoch, step), so a run that was killed goes on,
    when `train` is called again, to the same weights bit for bit.

    Labels are one class per row (column `label`), a number (`label`, float), or several labels (`labels`, a List of
    ClassLabel, those that hold, or of floats 0, 1 or nan, unknown); the model's config says which, as transformers does
    (`problem_type`). A causal language model learns the next tokens (`tokens`, -100 where nobody asks) of `input_ids`.

    Args:
        model: A classifier; `open_backbone` makes one.
        args: The settings.
        train_dataset: A `datasets.Dataset` with `image`, `text`, `array` or `graph`, labels and the environment column.
        eval_dataset: The validation split; without one the last epoch is kept.
        objective: An Objective of the catalog, made with its hyperparameters.
        image_processor: The processor of the model, for images.
        tokenizer: The tokenizer of the model, for texts.
        processor: Instead of these, what any kind of input has: an image processor, a tokenizer, or for arrays an
            `oochub.inputs.arrays.ArrayProcessor`.
        processing_class: The same, by the name that transformers' Trainer has for it.
        environment_column: Column of the environments; it takes precedence over that of the arguments.
        metrics: Names of metrics computed on the validation split after each epoch.
        compute_metrics: As transformers' Trainer takes it: an `EvalPrediction` of the logits and labels of the whole
            validation split to numbers by name. They stand in the history as eval_<name> and may choose the epoch
            (`metric_for_best_model`, with `greater_is_better`).
        callbacks: Callbacks of transformers, `TrainerCallback` or anything with such methods, see `Callbacks`.
        held_out: Which rows of the validation split `eval_dataset` does not have, so that a report is of these.

    Attributes:
        model: The model, with `affine_after_blocks` a larger copy of it; after `train`, with the kept weights.

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
        image_processor: Any = None,
        tokenizer: Any = None,
        processor: Any = None,
        processing_class: Any = None,
        environment_column: str | None = None,
        metrics: Iterable[str] = (),
        compute_metrics: Callable[[Any], Mapping[str, Any]] | None = None,
        callbacks: Sequence[Any] = (),
        held_out: HeldOut | None = None,
    ) -> None:
        _check_tracker(args.report_to)
        eval_dataset = _check_validation(args, eval_dataset, held_out)
        if args.affine_after_blocks:
            from oochub.models.affine_resnet import add_affine

            model = add_affine(model)
        self.model, self.args, self.objective, self._held_out = model, args, objective, held_out
        self._inputs = _make_inputs(
            args,
            image_processor=image_processor,
            tokenizer=tokenizer,
            processor=processor,
            processing_class=processing_class,
        )
        self._callbacks = tuple(callbacks)
        Callbacks(self._callbacks, args=args, main=True)  # something else is said now
        check_config(self._inputs, model.config)
        usual = "environment" if "environment" in (train_dataset.column_names or []) else None
        self._column = environment_column or args.environment_column or usual
        self._splits = {"train": train_dataset} | ({} if eval_dataset is None else {"validation": eval_dataset})
        self._task = find_task(train_dataset)
        self._names = _find_class_names(model, self._task)
        self._train = self._read_examples("train", self._column)
        if self._task.problem_type != TOKENS:
            model.config.problem_type = None if self._task.problem_type == BOXES else self._task.problem_type
            model.config.id2label = dict(enumerate(self._names))
            model.config.label2id = {name: number for number, name in enumerate(self._names)}
        evaluation = None if eval_dataset is None else self._read_examples("validation", None)
        if self._task.problem_type == TOKENS:
            splits = {"train": self._train} | ({} if evaluation is None else {"validation": evaluation})
            check_tokens(objective, model, args, splits)
        wanted = args.auxiliary_column
        auxiliary = None if wanted is None else read_auxiliary(train_dataset, wanted, args.auxiliary_weight)
        self._data = TrainingData(
            self._train, evaluation, self._make_validation(evaluation, tuple(metrics), compute_metrics), auxiliary
        )
        self._environments = self._train.counts(self._train.environment, len(self._train.environment_names))
        classes = self._task.problem_type == CLASSES
        objective.prepare(
            class_counts=self._train.counts(self._train.label, len(self._names)) if classes else None,
            environment_counts=self._environments,
        )
        device = next(model.parameters()).device
        probe = {name: values.to(device) for name, values in self._inputs.probe().items()}
        if self._task.problem_type == BOXES:
            check_detector(model, self._inputs.processor, args, probe=probe)
        self._head = find_head_layers(model, probe) if objective.needs_features or args.dropout or auxiliary else ()
        check_objective(objective, model, args, probe=probe, train=self._train, problem_type=self._task.problem_type)
        if args.freeze is not None or args.peft is not None:
            choose_trained(model, args, self._head or find_head_layers(model, probe))
        width = sum(cast("Any", layer.weight).flatten(1).shape[1] for layer in self._head)
        attach(model, auxiliary, width=width, seed=args.seed)
        run = settings(model, self._inputs, objective, args, self._splits)
        run |= {"environment_column": self._column, "metrics": list(metrics)}
        if compute_metrics is not None:
            run["compute_metrics"] = getattr(compute_metrics, "__qualname__", type(compute_metrics).__qualname__)
        self._folder = RunFolder(args.output_dir, run, overwrite=args.overwrite_output_dir)

    def train(self) -> TrainResult:
        """Trains, or goes on from the last complete checkpoint, or returns the finished run in `output_dir`.

        Raises:
            OochubError: A row that cannot be read, a loss that is not finite, a folder that cannot be written, or that
                another training is in.
        """
        folder = self._folder
        if not folder.is_finished:
            with folder.alone():
                self._warn_of_copies()
                loop = Loop(
                    self.model,
                    self.objective,
                    self.args,
                    data=self._data,
                    folder=folder,
                    head=self._head,
                    callbacks=self._callbacks,
                )
                progress = loop.run()
                self.model, state, writes = loop.trained()
                detach(self.model)
                if self.args.peft is not None:
                    second = {name: state[name] for name in state.keys() - drop_second_head(state).keys()}
                    self.model = merge_adapters(self.model)
                    state = {**self.model.state_dict(), **second}
                if writes:
                    self._write(progress, state, loop.averaged)
                loop.wait()
        else:
            folder.clear()  # left over when the run was killed in its last moment
            self.model = open_pretrained(type(self.model), str(folder.path), probe=self._inputs.probe).model
        selection, history = folder.recipe["selection"], folder.history
        return TrainResult(
            folder.path, selection["best_epoch"], selection["value"], history[-1]["global_step"], history
        )

    def _warn_of_copies(self) -> None:
        """Says how many images that choose the epoch are trained on."""
        parts = [*self._splits.values()]
        is_known = all(isinstance(part, datasets.Dataset) for part in parts) and self._inputs.column == "image"
        if len(parts) < 2 or not is_known or not Ranks.here().is_first:
            return
        digests = {split: read_digests(part) for split, part in self._splits.items()}
        for *_, copies in find_copies(number_digests(digests)):
            warnings.warn(
                f"The images of {copies:,} of {len(parts[1]):,} rows of validation also stand in train, byte for "
                "byte, so the epoch is chosen, and the model judged, on images that it is trained on. Remove them "
                "from one.",
                OochubWarning,
                stacklevel=3,
            )

    def save_model(self, folder: str | Path) -> Path:
        """Writes the model as it is now and its processor or tokenizer, as transformers does; returns the folder."""
        model = self.model if self.args.peft is None else merge_adapters(copy.deepcopy(self.model))
        model.save_pretrained(folder, state_dict=drop_second_head(model.state_dict()))
        self._inputs.processor.save_pretrained(folder)
        return Path(folder)

    def _write(
        self, progress: Progress, state: dict[str, Any], averaged: tuple[AveragedWeights, dict[str, float]] | None
    ) -> None:
        names = self._train.environment_names
        if averaged is not None:
            selection = _describe_average(*averaged, swad=self.args.average == "swad")
        else:
            chooses = None if self.args.keeps_last else self._data.validation
            selection = _describe_kept_epoch(progress, chooses, self._held_out)
        if self._held_out is not None:
            selection["held_out"] = to_json(self._held_out)
        content = make_recipe(
            self.model,
            self.objective,
            self.args,
            self._splits,
            names=self._names,
            problem_type=self._task.problem_type,
            environment_column=self._column,
            environments=dict(zip(names, self._environments, strict=True)) if self._column else {},
            selection=selection,
        )
        with self._folder.finish(content, progress.history) as draft:
            state = save_apart(state, self._data.auxiliary, self.args.auxiliary_column, draft / AUXILIARY_HEAD)
            self.model.save_pretrained(draft, state_dict=state)
            self._inputs.processor.save_pretrained(draft)
            citations = [self._splits["train"].info.citation, self.objective.citation]
            (draft / "README.md").write_text(write_model_card(content, citations=citations), "utf-8")
        self._folder.clear()

    def _read_examples(self, split: str, environment_column: str | None) -> Examples:
        return Examples(
            self._splits[split],
            self._inputs,
            split=split,
            task=self._task,
            names=self._names,
            environment_column=environment_column,
        )

    def _make_validation(
        self, evaluation: Examples | None, metrics: tuple[str, ...], compute_metrics: Any
    ) -> Validation | None:
        args = self.args
        if evaluation is not None:
            return Validation(
                evaluation,
                problem_type=self._task.problem_type,
                classes=len(self._names),
                metrics=metrics,
                metric_for_best_model=args.metric_for_best_model,
                greater_is_better=args.greater_is_better,
                environment_column=self._column,
                compute_metrics=compute_metrics,
            )
        if args.early_stopping_patience or args.metric_for_best_model != "loss" or metrics or compute_metrics:
            raise OochubError("Metrics and early stopping need a validation split. Pass eval_dataset.")
        return None


def _make_inputs(args: RobustTrainingArguments, **processors: Any) -> Input:
    given = {name: processor for name, processor in processors.items() if processor is not None}
    if len(given) != 1:
        raise OochubError(
            "Pass one of image_processor=, for a model of images, tokenizer=, for a model of texts, and processor= "
            "or processing_class=, for any."
        )
    ((name, own),) = given.items()
    usual = {"image_processor": "pictures", "tokenizer": "texts"}
    kind = catalog.get("input", usual[name]) if name in usual else find_processor_kind(own)
    check_changes(kind, augment=args.augment)
    inputs: Input = kind.of(own, normalize=args.normalize)
    return inputs


def _check_validation(args: RobustTrainingArguments, eval_dataset: Any, held_out: HeldOut | None) -> Any:
    """The validation split that is measured, None for none, as the arguments say."""
    takes_all = args.keeps_last or args.average in ("uniform", "ema")
    if held_out is not None and (args.eval_strategy == "no" or takes_all):
        name = "load_best_model_at_end=False" if args.average == "none" else f"average={args.average!r}"
        name = "eval_strategy='no'" if args.eval_strategy == "no" else name
        raise OochubError(f"hold_out keeps rows that choose the epoch, but {name} chooses none. Remove one of them.")
    if args.eval_strategy == "no":
        return None
    strategies = {
        "eval_strategy='epoch'": args.eval_strategy,
        "load_best_model_at_end=True": args.load_best_model_at_end,
    }
    strategies |= {"average='swad'": args.average == "swad"}
    wanted = [name for name, value in strategies.items() if value]
    if eval_dataset is None and wanted:
        raise OochubError(f"{wanted[0]} needs a validation split. Pass eval_dataset, or remove it.")
    return eval_dataset


def _find_class_names(model: Any, task: Task) -> list[str]:
    """The data set's names where the model has as many outputs, else the model's own; of tokens their column."""
    names = task.names
    if task.problem_type == TOKENS:
        return [task.column]
    if names is not None and len(names) == model.config.num_labels:
        return names
    return [str(model.config.id2label[number]) for number in range(model.config.num_labels)]


def _check_tracker(name: str) -> None:
    allowed = ["none", *LOGGER_TYPE_TO_CLASS]
    if name not in allowed:
        raise unknown_name("tracker for report_to", name, allowed)
    if name != "none" and name not in map(str, get_available_trackers()):
        raise OochubError(f"report_to={name!r} needs its package, which is not installed: pip install {name}.")


def _describe_average(kept: AveragedWeights, numbers: Mapping[str, float], *, swad: bool) -> dict[str, Any]:
    """What the kept weights are the average of, with their own numbers on the validation split."""
    return {
        "metric": "loss" if swad else None,
        "greater_is_better": False if swad else None,
        "rule": kept.words,
        "best_epoch": kept.last_epoch,
        "value": numbers["loss"] if swad else None,
        "numbers": dict(sorted(numbers.items())),
    }


def _describe_kept_epoch(progress: Progress, validation: Validation | None, held_out: HeldOut | None) -> dict[str, Any]:
    """How the kept weights were chosen, and their numbers on the rows that chose.

    Args:
        progress: Progress at the end of the training.
        validation: The validation that chose; None kept the last epoch.
        held_out: Which rows of the validation split chose; None for all of them.
    """
    metric, greater, value = None, None, None
    rule, best = f"the last epoch, {progress.epoch}", progress.epoch
    if validation is not None:
        (metric, greater), value, best = validation.selection, progress.best_value, progress.best_epoch
        meaning = f", {RULES[metric]}," if metric in RULES and metric != "loss" else ""
        rows = "" if held_out is None else f"{held_out.words} of "
        competed = [record["epoch"] for record in progress.history if record["stage"] == progress.stage + 1]
        among = f" among epochs {competed[0]} to {progress.epoch}, those of the last stage,"
        among = "" if len(competed) == progress.epoch else among
        ends = "highest" if greater else "lowest"
        rule = (
            f"epoch {best} of {progress.epoch}, which has the {ends} {metric}{meaning}{among} on {rows}"
            f"the validation split ({value:.4g})"
        )
        if len(competed) == 1 < progress.epoch:
            rule = (
                f"epoch {progress.epoch} of {progress.epoch}, the only one of the last stage: the validation split "
                f"chose nothing (its {metric} is {value:.4g})"
            )
    kept = progress.history[best - 1]
    numbers = {name[5:]: number for name, number in sorted(kept.items()) if name.startswith("eval_")}
    return {
        "metric": metric,
        "greater_is_better": greater,
        "rule": rule,
        "best_epoch": best,
        "value": value,
        "numbers": numbers,
    }
