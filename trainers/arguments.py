"""The settings of a training run, under the names of transformers' TrainingArguments."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from oochub.errors import OochubError, unknown_name
from oochub.inputs.pictures.augmentation import split_augmentation
from oochub.records.typed_values import Bounds, NotNegative, Positive, check_values, read_hints
from oochub.trainers.samplers import SamplerName
from oochub.trainers.transformers_arguments import explain_unknown_fields

_STRATEGIES = {"eval_strategy": ("epoch", "no"), "save_strategy": ("epoch", "steps")}
_STRATEGY_HINTS = {
    "eval_strategy": "The validation split is measured once an epoch, or not at all.",
    "save_strategy": "A checkpoint is written at the end of each epoch, and with save_steps within it too.",
}
_FromOne = Annotated[int, Bounds(1)]
_FromZero = Annotated[int, Bounds(0)]
_BelowOne = Annotated[float, Bounds(0, 1, below=True)]
_WITHOUT_EFFECT = {"output_dir", "overwrite_output_dir", "save_steps", "cache", "cache_dir", "dataloader_num_workers"}
_WITHOUT_EFFECT |= {"report_to", "save_strategy"}
_WITHOUT_EFFECT |= {"eval_strategy", "load_best_model_at_end"}  # by the splits of the run, and where it is False
# Named where they are set, so that runs without them are the runs of earlier versions
_NAMED_IF_SET = ("torch_compile", "channels_last", "freeze", "peft")
_LARGEST_SEED = 2**32 - 1  # of numpy and torch alike
_OF_AVERAGE = {  # what each kind of average reads
    "uniform": ("average_start",),
    "ema": ("average_decay",),
    "swad": ("swad_start_patience", "swad_end_patience", "swad_ratio"),
}
_OF_LORA = ("lora_rank", "lora_alpha", "lora_dropout", "lora_targets")
_DECAY = 0.96  # an epoch, WILDS' of FMoW and PovertyMap


@explain_unknown_fields
@dataclass(frozen=True, kw_only=True)
class RobustTrainingArguments:
    """How to train; every value is checked here, before the first slow step.

    Output:
        output_dir: Folder of the run. An unfinished run with equal arguments in it is continued.
        overwrite_output_dir: Throw away an earlier run in `output_dir` that had other arguments.
        save_steps: Optimizer steps between checkpoints within an epoch; 0 for one at the end of each epoch only.
        save_strategy: "epoch" writes a checkpoint at the end of each epoch, and save_steps is not read; "steps" every
            `save_steps` too; None goes by `save_steps`. An unfinished run goes on from its last checkpoint.
        report_to: A tracker of Accelerate ("tensorboard", "wandb", ...), or "none".

    How long:
        num_train_epochs: Passes over the training set, at most.
        max_steps: Optimizer steps, at most; -1 for no limit other than the epochs.
        early_stopping_patience: Epochs without a better `metric_for_best_model` before training stops; 0 never stops.
        metric_for_best_model: What chooses the epoch whose weights are kept, and stops early: "loss", the mean loss on
            the validation split; "hard_loss", the larger of its means over hard positives and hard negatives (NOOCH's
            rule); another number of `Validation`, or a metric of the hub; of one with several, "worst_group.nll".
        greater_is_better: Its direction; None takes the metric's own.
        eval_strategy: "epoch" measures the validation split after each epoch, and the trainer needs one; "no" leaves it
            out; None is "epoch" if there is one.
        load_best_model_at_end: True keeps the weights of the epoch that `metric_for_best_model` finds best, and the
            trainer needs a validation split; False those of the last epoch; None is True if there is such a split.

    Batches:
        per_device_train_batch_size: Rows of a training batch in one process.
        per_device_eval_batch_size: Rows of a validation batch in one process.
        gradient_accumulation_steps: Batches whose gradients are averaged into one optimizer step.
        sampler: "uniform", every row once per epoch. With replacement, as many draws as rows: "class_balanced",
            "environment_balanced", "group_balanced" (by pairs of class and environment). "environments": equally many
            rows of `environments_per_batch` environments in each batch.
        sampler_power: Only for the balanced ones: a row's probability is proportional to (1 / share of its kind)^power.
        environments_per_batch: Only for the sampler "environments"; 0 for all.
        forward: "joint", one forward pass per batch; "per_environment", one for each of its environments, as DomainBed
            does: BatchNorm then normalizes by the rows of one environment. In one process only.
        environment_column: Column of the training environments; None takes "environment" where there is one.

    Images:
        normalize: Subtract the image processor's mean and divide by its deviation; False leaves pixels in [0, 1].
        augment: "none", or of "flip", "shift", "crop" and "color" those wanted, joined: "flip_crop_color"; drawn for
            each image, see `augment_images`.

    Model:
        freeze: What keeps its weights: "backbone", all but the last layer; a whole number k, the first k stages (layers
            of a transformer) and what stands before them; names of modules, such as "resnet.embedder"; None for none.
        peft: "lora" trains small matrices beside the weights (Hu et al. 2021) and the last layer, by the package peft;
            the saved model has them added to its weights and is an ordinary one. None for none.
        lora_rank: Only for lora: rank of the matrices, peft's r.
        lora_alpha: Only for lora: the product of the matrices is multiplied by lora_alpha / lora_rank.
        lora_dropout: Only for lora: dropout probability for what the matrices see.
        lora_targets: Only for lora: ends of the names of the layers that get matrices, such as "q_proj"; None takes the
            queries and values of attention, or, in a model without such names, each linear layer and convolution.
        affine_after_blocks: A scale and a shift of every channel, learned, after each block of a ResNet (NOOCH,
            Appendix A, "adaptive parameters"); see `oochub.models.affine_resnet`.
        auxiliary_column: What a second head is to predict from the features (NOOCH, Appendix A, "auxiliary
            prediction"): a column of names or whole numbers, each a class, or of numbers or lists of them, each present
            where it is above 0. "context_area.0" is the first of each list, NOOCH's context of the highest alpha. None
            for no second head; the saved model has none.
        auxiliary_weight: Weight of the second head's mean loss, which is added to the objective.

    Optimizer:
        optim: "adamw", "adam", or "sgd" with momentum.
        learning_rate: The largest learning rate of the schedule.
        weight_decay: Weight decay of every parameter, decoupled in adamw, L2 in adam and sgd.
        momentum: Momentum of sgd.
        dropout: Dropout probability for the features that the model's last layer sees.
        max_grad_norm: Gradients are clipped to this norm; 0 does not clip.
        lr_scheduler_type: "constant", "linear" or "cosine" (to zero), "exponential" or "onecycle".
        lr_decay: Only for exponential: the rate is multiplied by it after each epoch.
        warmup_ratio: Fraction of all steps in which the rate rises from zero; in onecycle, to its peak (0 is 0.3).

    Average:
        average: Weights that are kept: "none", those of an epoch (`load_best_model_at_end`); "uniform", their mean
            after each step from `average_start` on; "ema", their exponential moving average; "swad", their mean over a
            valley of the validation loss (Cha et al. 2021), after which the run stops; see `WeightAverage`. BatchNorm's
            statistics are then computed anew on the training rows.
        average_start: Only for uniform: share of the steps after which the mean begins.
        average_decay: Only for ema: what the average keeps of itself in each step.
        swad_start_patience: Only for swad: N_s, epochs of which the first must have the lowest loss to begin.
        swad_end_patience: Only for swad: N_e, epochs that must all be above the limit to end.
        swad_ratio: Only for swad: r; the limit is so many times the mean loss of the first N_s epochs of the valley.

    Machine:
        seed: Random seed for the order of rows and the augmentation. Equal seeds on one machine give equal weights.
        full_determinism: Ask torch for deterministic algorithms; those that have none give a warning.
        mixed_precision: "no", "bf16" or "fp16". Weights and their updates stay float32.
        torch_compile: Compile the model by torch's inductor before the first step. On a CPU this needs a C++ compiler.
        channels_last: Keep the weights of convolutions in torch's memory format channels_last, which images come in.
        cache: "uint8" decodes every image once into a memory-mapped file, "none" decodes in every epoch.
        cache_dir: Folder of that file; None is `pixels` in the folder of our caches, see docs/cache.md.
        dataloader_num_workers: Processes that decode when cache="none".

    Raises:
        OochubError: A value that is not allowed; it says which are.

    >>> RobustTrainingArguments(output_dir="runs/x", optim="adamax")
    Traceback (most recent call last):
    ...
    oochub.errors.OochubError: optim must be one of adamw, adam, sgd, got 'adamax'. Did you mean 'adam' or 'adamw'?
    """

    output_dir: str | Path
    overwrite_output_dir: bool = False
    save_steps: _FromZero = 0
    save_strategy: str | None = None
    report_to: str = "none"

    num_train_epochs: _FromOne = 10
    max_steps: Annotated[int, Bounds(-1)] = -1
    early_stopping_patience: _FromZero = 0
    metric_for_best_model: str = "loss"
    greater_is_better: bool | None = None
    eval_strategy: str | None = None
    load_best_model_at_end: bool | None = None

    per_device_train_batch_size: _FromOne = 64
    per_device_eval_batch_size: _FromOne = 256
    gradient_accumulation_steps: _FromOne = 1
    sampler: SamplerName = "uniform"
    sampler_power: NotNegative = 1.0
    environments_per_batch: _FromZero = 0
    forward: Literal["joint", "per_environment"] = "joint"
    environment_column: str | None = None

    normalize: bool = True
    augment: str = "none"

    freeze: str | _FromOne | tuple[str, ...] | None = None
    peft: Literal["lora"] | None = None
    lora_rank: _FromOne = 8
    lora_alpha: Positive = 16.0
    lora_dropout: _BelowOne = 0.0
    lora_targets: str | tuple[str, ...] | None = None
    affine_after_blocks: bool = False
    auxiliary_column: str | None = None
    auxiliary_weight: NotNegative = 1.0

    optim: Literal["adamw", "adam", "sgd"] = "adamw"
    learning_rate: Positive = 1e-3
    weight_decay: NotNegative = 1e-4
    momentum: _BelowOne = 0.9
    dropout: _BelowOne = 0.0
    max_grad_norm: NotNegative = 0.0
    lr_scheduler_type: Literal["constant", "linear", "cosine", "exponential", "onecycle"] = "constant"
    lr_decay: Positive = _DECAY
    warmup_ratio: _BelowOne = 0.0

    average: Literal["none", "uniform", "ema", "swad"] = "none"
    average_start: _BelowOne = 0.75
    average_decay: Annotated[float, Bounds(0, 1, above=True, below=True)] = 0.999
    swad_start_patience: _FromOne = 3
    swad_end_patience: _FromOne = 6
    swad_ratio: Positive = 1.3

    seed: Annotated[int, Bounds(0, _LARGEST_SEED)] = 0
    full_determinism: bool = True
    mixed_precision: Literal["no", "bf16", "fp16"] = "no"
    torch_compile: bool = False
    channels_last: bool = False
    cache: Literal["uint8", "none"] = "uint8"
    cache_dir: str | Path | None = None
    dataloader_num_workers: _FromZero = 0

    def __post_init__(self) -> None:
        if self.early_stopping_patience is None:  # TrainingArguments' way to say "off"
            object.__setattr__(self, "early_stopping_patience", 0)
        self._check_strategies()
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        kinds = read_hints(type(self))
        for name, value in check_values(given, kinds, kind="training argument", subject="{name}").items():
            if not isinstance(given[name], int):  # of NumPy's numbers it is Python's
                object.__setattr__(self, name, value)
        if not self.max_steps:
            raise OochubError("max_steps must be 1 or larger, or -1 for no limit, got 0.")
        self._check_average()
        self._check_trained_part()
        split_augmentation(self.augment)
        if self.auxiliary_weight != 1 and self.auxiliary_column is None:
            raise OochubError(
                f"auxiliary_weight={self.auxiliary_weight:g} is only for a second head. Set auxiliary_column or "
                "remove it."
            )
        if self.lr_decay != _DECAY and self.lr_scheduler_type != "exponential":
            raise OochubError(
                f"lr_decay={self.lr_decay:g} is only for lr_scheduler_type='exponential', got "
                f"{self.lr_scheduler_type!r}. Set that schedule, or remove it."
            )
        if self.environments_per_batch and self.sampler != "environments":
            raise OochubError(
                f"environments_per_batch={self.environments_per_batch} is for sampler='environments', got "
                f"sampler={self.sampler!r}. Set that sampler, or remove it."
            )
        if not str(self.output_dir):
            raise OochubError("output_dir is empty. Pass the folder of the run, for example runs/erm.")

    def _check_strategies(self) -> None:
        """Checks when the run is validated and saved, and what is kept at its end."""
        for name, allowed in _STRATEGIES.items():
            value = getattr(getattr(self, name), "value", getattr(self, name))  # of an enum of transformers its text
            if value is not None and value not in allowed:
                raise unknown_name(name, str(value), allowed, _STRATEGY_HINTS[name])
            object.__setattr__(self, name, value)
        if self.save_strategy == "steps" and not self.save_steps:
            raise OochubError("save_strategy='steps' needs the number of steps. Set save_steps, for example 500.")
        if self.save_strategy == "epoch":  # as for TrainingArguments, which then do not read it
            object.__setattr__(self, "save_steps", 0)
        if self.eval_strategy == "no" and (self.load_best_model_at_end or self.early_stopping_patience):
            name = "load_best_model_at_end" if self.load_best_model_at_end else "early_stopping_patience"
            raise OochubError(
                f"{name}={getattr(self, name)} needs a number on the validation split for each epoch, but "
                "eval_strategy='no' measures none. Set eval_strategy='epoch'."
            )

    def _check_average(self) -> None:
        for kind, names in _OF_AVERAGE.items():
            changed = [name for name in names if getattr(self, name) != getattr(type(self), name)]
            if changed and self.average != kind:
                raise OochubError(
                    f"{changed[0]}={getattr(self, changed[0])} is only for average={kind!r}, got {self.average!r}. "
                    "Set that average, or remove it."
                )
        if self.average != "none" and self.load_best_model_at_end:
            raise OochubError(
                f"average={self.average!r} keeps averaged weights, and load_best_model_at_end=True those of an "
                "epoch. Remove one of them."
            )
        if self.average == "swad" and self.eval_strategy == "no":
            raise OochubError(
                "average='swad' goes by the validation loss, but eval_strategy='no' measures none. Set "
                "eval_strategy='epoch'."
            )

    def _check_trained_part(self) -> None:
        if self.freeze is not None and self.peft is not None:
            raise OochubError("peft='lora' freezes the model itself. Remove freeze.")
        changed = [name for name in _OF_LORA if getattr(self, name) != getattr(type(self), name)]
        if changed and self.peft is None:
            raise OochubError(
                f"{changed[0]}={getattr(self, changed[0])} is only for peft='lora'. Set it, or remove {changed[0]}."
            )

    @property
    def keeps_last(self) -> bool:
        """Whether the weights of the last epoch are kept, whatever the validation split says of the others."""
        return self.load_best_model_at_end is False

    @property
    def settings(self) -> dict[str, Any]:
        """What the trained weights depend on: all but where files go and how fast."""
        left_out = _WITHOUT_EFFECT | {name for name in _NAMED_IF_SET if not getattr(self, name)}
        left_out |= {name for kind, names in _OF_AVERAGE.items() for name in names if self.average != kind}
        left_out |= {"average"} if self.average == "none" else set()
        left_out |= set(_OF_LORA) if self.peft is None else set()
        names = [field.name for field in fields(self) if field.name not in left_out]
        values = {name: getattr(self, name) for name in names}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()} | (
            {"load_best_model_at_end": False} if self.keeps_last else {}
        )
