"""What each field of transformers' TrainingArguments is called here; one error names all unknown fields at once."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar

from oochub.errors import OochubError, did_you_mean, unknown_name

_Class = TypeVar("_Class", bound=type)


def _same(text: str, *names: str) -> Iterator[tuple[str, str]]:
    yield from ((name, text) for group in names for name in group.split())


_NOTHING = "Remove it: there is no such setting here."
_EPOCH = "Remove it: a run is validated, saved and logged once an epoch."
_PLACE = "Start the script with torchrun or `accelerate launch`, whose configuration says it."
_PUSH = 'Push the folder of the finished run: oochub.push(folder, "user/model").'
_BATCHES = "Remove it: batches are decoded once into a cache (cache='uint8')."
_COMPUTE = "Change the model object before you give it to RobustTrainer."
_ROWS = "Remove it: the columns are found by their names and kinds."

EQUIVALENTS: Mapping[str, str] = dict(
    [
        ("bf16", 'Use mixed_precision="bf16".'),
        ("fp16", 'Use mixed_precision="fp16".'),
        *_same('Remove it: validation has the precision of training, mixed_precision="bf16".', "bf16_full_eval"),
        *_same('Remove it: validation has the precision of training, mixed_precision="fp16".', "fp16_full_eval"),
        ("tf32", "Set torch.backends.cuda.matmul.allow_tf32 before the run."),
        ("warmup_steps", "Use warmup_ratio, a fraction of all steps."),
        ("lr_scheduler_kwargs", "Use lr_decay, of the exponential schedule, or warmup_ratio."),
        ("optim_args", "Use momentum, of sgd, and weight_decay."),
        *_same("Remove it: the optimizers have torch's own values.", "adam_beta1 adam_beta2 adam_epsilon"),
        ("optim_target_modules", "Set requires_grad of the model's parameters before the run."),
        ("label_smoothing_factor", "Write it into an objective: `oochub list objective` has those that are there."),
        ("train_sampling_strategy", 'Use sampler, such as "group_balanced"; "uniform" is their "random".'),
        *_same('Remove it, or use sampler; "uniform" draws rows at random.', "length_column_name group_by_length"),
        ("data_seed", "Use seed, which also orders the rows."),
        ("use_cpu", "Set ACCELERATE_USE_CPU=true in the environment."),
        *_same(
            "Call model.gradient_checkpointing_enable() before you give the model to RobustTrainer.",
            "activation_checkpointing activation_checkpointing_kwargs",
            "gradient_checkpointing gradient_checkpointing_kwargs",
        ),
        *_same("Use torch_compile=True, which takes torch's own default.", "torch_compile_backend torch_compile_mode"),
        *_same(_COMPUTE, "use_liger_kernel liger_kernel_config neftune_noise_alpha use_cache"),
        *_same(_EPOCH, "logging_strategy logging_steps logging_first_step eval_steps eval_delay eval_on_start"),
        ("evaluation_strategy", "Use eval_strategy."),
        ("logging_nan_inf_filter", "Remove it: a loss that is not finite ends the run with an error."),
        ("logging_dir", "Remove it: logs are in output_dir."),
        *_same("Use Python's logging, or the settings of transformers.", "log_level log_level_replica"),
        *_same("Remove it: the main process logs.", "log_on_each_node"),
        *_same("Remove it: a bar shows the steps in a terminal.", "disable_tqdm"),
        *_same("Remove it: the tracker of report_to has the project oochub.", "run_name project"),
        *_same("Set it in the environment of the tracker.", "trackio_space_id trackio_bucket_id"),
        *_same("Set it in the environment of the tracker.", "trackio_static_space_id"),
        ("prediction_loss_only", "Remove it, and compute_metrics of RobustTrainer with it."),
        *_same("Remove it: compute_metrics gets logits and labels of the whole split.", "include_for_metrics"),
        *_same("Remove it: compute_metrics gets logits and labels of the whole split.", "batch_eval_metrics"),
        *_same(_NOTHING, "eval_do_concat_batches eval_use_gather_object eval_accumulation_steps"),
        *_same(_NOTHING, "include_num_input_tokens_seen average_tokens_across_devices torch_empty_cache_steps"),
        *_same(_NOTHING, "skip_memory_metrics debug save_on_each_node enable_jit_checkpoint"),
        *_same("Remove it: training can resume from every checkpoint.", "save_only_model"),
        *_same("Remove it: the last checkpoint and the best one are kept.", "save_total_limit"),
        *_same(
            "Remove it: an unfinished run in output_dir resumes by itself.",
            "resume_from_checkpoint ignore_data_skip restore_callback_states_from_checkpoint",
        ),
        *_same(_PUSH, "push_to_hub hub_model_id hub_strategy hub_private_repo hub_always_push hub_revision"),
        ("hub_token", "Log in with `hf auth login`, or set HF_TOKEN."),
        *_same(_PLACE, "accelerator_config parallelism_config fsdp fsdp_config deepspeed local_rank"),
        *_same(_PLACE, "ddp_find_unused_parameters ddp_bucket_cap_mb ddp_broadcast_buffers ddp_static_graph"),
        *_same(_PLACE, "ddp_backend ddp_timeout"),
        ("no_cuda", "Set ACCELERATE_USE_CPU=true in the environment."),
        ("dataloader_drop_last", "Remove it: the last batch of an epoch may be smaller."),
        *_same(_BATCHES, "dataloader_pin_memory dataloader_persistent_workers dataloader_prefetch_factor"),
        *_same(_BATCHES, "dataloader_multiprocessing_context dataloader_in_order"),
        *_same(_ROWS, "remove_unused_columns label_names"),
        ("auto_find_batch_size", "Use per_device_train_batch_size, with gradient_accumulation_steps."),
        *_same("Remove it: call train(), then oochub.predict and oochub.evaluate.", "do_train do_eval do_predict"),
        ("adafactor", 'Use optim: "adamw", "adam" or "sgd".'),
    ]
)
"""Fields of TrainingArguments that RobustTrainingArguments does not have, also some of older versions: what to do."""


def explain_unknown_fields(kind: _Class) -> _Class:
    """A decorator of a dataclass: a keyword that is no field raises the error of `check_fields`."""
    initialize: Callable[..., None] = kind.__init__  # type: ignore[misc]  # it is the dataclass's own

    @wraps(initialize)
    def checked(self: Any, *args: Any, **given: Any) -> None:
        check_fields(given, [field.name for field in fields(kind)])
        initialize(self, *args, **given)

    kind.__init__ = checked  # type: ignore[misc]
    return kind


def check_fields(given: Iterable[str], allowed: Collection[str]) -> None:
    """Checks the names of training arguments.

    Args:
        given: The names that were given.
        allowed: The names that there are.

    Raises:
        OochubError: Names that are not allowed: all of them at once, each with its equivalent here.

    >>> check_fields(["seed", "bf16", "warmup_steps", "sede"], ["seed", "mixed_precision"])
    Traceback (most recent call last):
    oochub.errors.OochubError: RobustTrainingArguments lacks 3 of the fields that are given:
      bf16: Use mixed_precision="bf16".
      warmup_steps: Use warmup_ratio, a fraction of all steps.
      sede: No such field. Did you mean 'seed'?
    The documentation of RobustTrainingArguments lists the fields.
    """
    unknown = [name for name in given if name not in allowed]
    if len(unknown) == 1 and unknown[0] not in EQUIVALENTS:
        raise unknown_name("training argument", unknown[0], allowed)
    if unknown:
        lines = [
            f"  {name}: {EQUIVALENTS.get(name) or f'No such field.{did_you_mean(name, allowed)}'}" for name in unknown
        ]
        count = "one" if len(unknown) == 1 else str(len(unknown))
        raise OochubError(
            "\n".join(
                [
                    f"RobustTrainingArguments lacks {count} of the fields that are given:",
                    *lines,
                    "The documentation of RobustTrainingArguments lists the fields.",
                ]
            )
        )
