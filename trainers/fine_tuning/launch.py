"""Prepares the devices, processes, precision and shards of a run, which are Accelerate's; compilation; determinism."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedType
from torch import nn

from oochub.errors import OochubError
from oochub.process.ranks import leave_at_the_end
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.objective import Objective
from oochub.trainers.recipe import name_objective

_SHARDED = (DistributedType.FSDP, DistributedType.DEEPSPEED)


def make_accelerator(args: RobustTrainingArguments, folder: Path) -> Accelerator:
    """The Accelerator of a run; what the arguments say holds over a configuration file of `accelerate launch`.

    Args:
        args: The settings.
        folder: Folder of the run.
    """
    if AcceleratorState._shared_state and AcceleratorState().mixed_precision != args.mixed_precision:
        AcceleratorState._reset_state()  # as transformers does; else no run of this process may have another precision
    accelerator = Accelerator(
        # without being told, Accelerate would run each of several processes without a GPU as the only one
        cpu=int(os.environ.get("WORLD_SIZE", "1")) > 1 and not torch.cuda.is_available(),
        mixed_precision=args.mixed_precision,
        gradient_accumulation_steps=args.gradient_accumulation_steps,
        log_with=None if args.report_to == "none" else args.report_to,
        project_dir=folder,
    )
    leave_at_the_end()
    if accelerator.distributed_type == DistributedType.DEEPSPEED:  # it steps by itself, so it must know
        accelerator.state.deepspeed_plugin.deepspeed_config |= {
            "train_micro_batch_size_per_gpu": args.per_device_train_batch_size,
            "gradient_accumulation_steps": args.gradient_accumulation_steps,
            "gradient_clipping": args.max_grad_norm,  # left on "auto", Accelerate would clip at 1
        }
    return accelerator


def check_shards(kind: DistributedType, objective: Objective, args: RobustTrainingArguments) -> None:
    """Checks that a run which reaches for single weights has them whole.

    Args:
        kind: How Accelerate distributes the model.
        objective: Objective of the run.
        args: The settings.

    Raises:
        OochubError: FSDP or DeepSpeed with an objective that moves weights itself, a second head, LoRA or averaged
            weights.

    >>> from oochub.trainers.objectives.fish import Fish
    >>> check_shards(DistributedType.FSDP, Fish(), RobustTrainingArguments(output_dir="x"))
    Traceback (most recent call last):
    oochub.errors.OochubError: fish needs the whole model in each process, but fsdp keeps it in shards. Use torchrun.
    """
    if kind not in _SHARDED:
        return
    own = any(getattr(type(objective), name) is not getattr(Objective, name) for name in ("take_step", "next_stage"))
    given = {"auxiliary_column": args.auxiliary_column, "peft": args.peft, "average": args.average != "none"}
    names = [name_objective(objective)] if own else [name for name, value in given.items() if value]
    if names:
        name = names[0]
        raise OochubError(
            f"{name} needs the whole model in each process, but {kind.value.lower()} keeps it in shards. Use torchrun."
        )


def prepare_arithmetic(model: nn.Module, args: RobustTrainingArguments) -> None:
    """Changes in place how the model computes, as far as the arguments ask: its memory format, and compilation.

    Args:
        model: The model, on its device or not; its weights and their names stay what they are.
        args: The settings.

    Raises:
        OochubError: `channels_last` for a model without two-dimensional convolutions; `torch_compile` where torch's
            inductor cannot compile.

    >>> args = RobustTrainingArguments(output_dir="x", channels_last=True)
    >>> prepare_arithmetic(nn.Linear(2, 2), args)
    Traceback (most recent call last):
    oochub.errors.OochubError: channels_last is for models with two-dimensional convolutions, and Linear has none. ...
    """
    if args.channels_last:
        convolutions = [layer for layer in model.modules() if isinstance(layer, nn.Conv2d)]
        if not convolutions:
            raise OochubError(
                f"channels_last is for models with two-dimensional convolutions, and {type(model).__name__} has "
                "none. Remove it."
            )
        for layer in convolutions:
            layer.weight.data = layer.weight.data.contiguous(memory_format=torch.channels_last)
    if args.torch_compile:
        try:
            torch.compile(torch.neg)(torch.zeros(2))
        except RuntimeError as error:
            raise OochubError(
                f"torch_compile=True does not work on this machine ({str(error).splitlines()[0]}). Install a C++ "
                "compiler, such as g++, or remove torch_compile."
            ) from error
        model.compile()


@contextmanager
def use_deterministic_algorithms(wanted: bool) -> Iterator[None]:
    """Asks torch for deterministic algorithms, with a warning from those that have none, and restores what was.

    >>> with use_deterministic_algorithms(True):
    ...     torch.are_deterministic_algorithms_enabled()
    True
    """
    if not wanted:
        yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS needs for it
    before = (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled())
    memory: Any = torch.utils.deterministic
    filled = memory.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    memory.fill_uninitialized_memory = False  # it costs time and finds only bugs
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        memory.fill_uninitialized_memory = filled
