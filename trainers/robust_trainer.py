"""RobustTrainer: trains a classifier of transformers with an objective that sees the environments."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers
from datasets import ClassLabel

from oochub.errors import OochubError, unknown_name
from oochub.preprocessing import Preprocessing
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.examples import Examples
from oochub.trainers.loop import Loop
from oochub.trainers.model_card import model_card
from oochub.trainers.objective import Objective
from oochub.trainers.recipe import recipe, settings
from oochub.trainers.run_folder import Progress, RunFolder
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

    Attributes:
        model: The model; after `train`, with the kept weights.

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
        _check_tracker(args.report_to)
        self.model, self.args, self.objective, self.image_processor = model, args, objective, image_processor
        self._preprocessing = Preprocessing.from_processor(image_processor)
        self._column = _environment_column(environment_column or args.environment_column, train_dataset, objective)
        self._splits = {"train": train_dataset} | ({} if eval_dataset is None else {"validation": eval_dataset})
        self._classes = _class_names(model, train_dataset)
        self._train = self._examples("train", self._column)
        model.config.id2label = dict(enumerate(self._classes))
        model.config.label2id = {name: number for number, name in enumerate(self._classes)}
        self._eval = None if eval_dataset is None else self._examples("validation", None)
        self._validation = self._validated_by(tuple(metrics))
        self._environments = self._train.counts(self._train.environment, len(self._train.environment_names))
        objective.prepare(
            class_counts=self._train.counts(self._train.label, len(self._classes)),
            environment_counts=self._environments,
        )
        run = settings(model, image_processor, objective, args, self._splits)
        run |= {"environment_column": self._column, "metrics": list(metrics)}
        self._folder = RunFolder(args.output_dir, run, overwrite=args.overwrite_output_dir)

    def train(self) -> TrainResult:
        """Trains, or goes on from the last complete checkpoint, or returns the finished run in `output_dir`.

        Raises:
            OochubError: A picture that cannot be read, a loss that is not finite, or a folder that cannot be written.
        """
        folder = self._folder
        if not folder.finished:
            evaluation = (self._eval, self._validation) if self._eval and self._validation else None
            loop = Loop(self.model, self.objective, self.args, train=self._train, evaluation=evaluation, folder=folder)
            progress = loop.run()
            self.model, state, writes = loop.trained()
            if writes:
                self._write(progress, state)
            loop.wait()
        else:
            folder.clear()  # left over when the run was killed in its last moment
            self.model = type(self.model).from_pretrained(folder.path)
        selection, history = folder.recipe["selection"], folder.history
        return TrainResult(
            folder.path, selection["best_epoch"], selection["value"], history[-1]["global_step"], history
        )

    def save_model(self, folder: str | Path) -> Path:
        """Writes the model as it is now and its image processor, as transformers does; returns the folder."""
        self.model.save_pretrained(folder)
        self.image_processor.save_pretrained(folder)
        return Path(folder)

    def _write(self, progress: Progress, state: Mapping[str, Any]) -> None:
        names = self._train.environment_names
        made = recipe(
            self.model,
            self.objective,
            self.args,
            self._splits,
            classes=self._classes,
            environment_column=self._column,
            environments=dict(zip(names, self._environments, strict=True)) if self._column else {},
            selection=self._selection(progress),
        )
        with self._folder.finish(made, progress.history) as draft:
            self.model.save_pretrained(draft, state_dict=state)
            self.image_processor.save_pretrained(draft)
            citations = [self._splits["train"].info.citation, self.objective.citation]
            (draft / "README.md").write_text(model_card(made, citations=citations), "utf-8")
        self._folder.clear()

    def _selection(self, progress: Progress) -> dict[str, Any]:
        chosen: dict[str, Any] = {"metric": None, "greater_is_better": None}
        rule = f"the last epoch, {progress.epoch}"
        if self._validation is not None:
            metric, greater = self._validation.selection
            chosen = {"metric": metric, "greater_is_better": greater}
            rule = (
                f"epoch {progress.best_epoch} of {progress.epoch}, which has the {'highest' if greater else 'lowest'} "
                f"{metric} on the validation split ({progress.best_value:.4g})"
            )
        return chosen | {"rule": rule, "best_epoch": progress.best_epoch, "value": progress.best_value}

    def _examples(self, split: str, environment_column: str | None) -> Examples:
        return Examples(
            self._splits[split],
            self._preprocessing,
            split=split,
            class_names=self._classes,
            environment_column=environment_column,
        )

    def _validated_by(self, metrics: tuple[str, ...]) -> Validation | None:
        args = self.args
        if self._eval is not None:
            return Validation(
                self._splits["validation"],
                self._eval.label.numpy(),
                classes=len(self._classes),
                metrics=metrics,
                metric_for_best_model=args.metric_for_best_model,
                greater_is_better=args.greater_is_better,
                group_column=self._column,
            )
        if args.early_stopping_patience or args.metric_for_best_model != "loss" or metrics:
            raise OochubError("Metrics and early stopping need a validation split. Pass eval_dataset.")
        return None


def _environment_column(wanted: str | None, dataset: Any, objective: Objective) -> str | None:
    column = wanted or ("environment" if "environment" in dataset.column_names else None)
    if column is None and objective.needs_environments:
        raise OochubError(
            f"{type(objective).__name__} needs environments, and the training set has no column 'environment', only "
            f"{', '.join(dataset.column_names)}. Set environment_column to one of them."
        )
    return column


def _class_names(model: Any, dataset: Any) -> list[str]:
    feature = dataset.features.get("label")
    if isinstance(feature, ClassLabel) and feature.num_classes == model.config.num_labels:
        return list(feature.names)
    return [str(model.config.id2label[number]) for number in range(model.config.num_labels)]


def _check_tracker(name: str) -> None:
    allowed = ["none", *LOGGER_TYPE_TO_CLASS]
    if name not in allowed:
        raise unknown_name("tracker for report_to", name, allowed)
    if name != "none" and name not in map(str, get_available_trackers()):
        raise OochubError(f"report_to={name!r} needs its package, which is not installed: pip install {name}.")
