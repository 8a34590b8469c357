"""Which weights a run trains: all of them, those that are not frozen, or LoRA's small matrices beside them."""

from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from oochub.errors import OochubError, check_installed, unknown_name
from oochub.trainers.arguments import RobustTrainingArguments

_Model = TypeVar("_Model", bound=nn.Module)
_BACKBONE = "backbone"
_ATTENTION = ("q_proj", "v_proj", "q_lin", "v_lin", "query", "value")
"""The layers that LoRA's paper adapts, as models of transformers name them."""
_RENAMED = {"query": "q_proj", "key": "k_proj", "value": "v_proj"}


def choose_trained(model: nn.Module, args: RobustTrainingArguments, head: Sequence[nn.Module]) -> None:
    """Freezes what `args.freeze` names, or adds LoRA's matrices; without either the model stays as it is.

    A frozen BatchNorm keeps its statistics and uses them in training too.

    Args:
        model: The model; it is changed.
        args: The settings.
        head: Its last layers.

    Raises:
        OochubError: A name that no module has, more stages than there are, nothing left to train, peft is missing.

    >>> from oochub.trainers.backbone import open_backbone
    >>> model, _ = open_backbone("resnet-tiny", class_names=["cat", "dog"])
    >>> choose_trained(model, RobustTrainingArguments(output_dir="x", freeze="backbone"), [model.classifier[-1]])
    >>> [name for name, weight in model.named_parameters() if weight.requires_grad]
    ['classifier.1.weight', 'classifier.1.bias']
    """
    if args.peft is not None:
        _add_lora(model, args, head)
    elif args.freeze is not None:
        frozen = _list_frozen(model, args.freeze, head)
        for name, weight in model.named_parameters():
            weight.requires_grad_(name not in frozen)
        if not any(weight.requires_grad for weight in model.parameters()):
            raise OochubError(f"freeze={args.freeze!r} leaves nothing to train. Freeze less.")
    else:
        return
    still = [module for module in model.modules() if isinstance(module, _BatchNorm) and not _is_trained(module)]
    if still and args.average != "none":
        raise OochubError(
            f"average={args.average!r} computes the statistics of BatchNorm anew, but {len(still)} of them are frozen. "
            "Remove one of both."
        )
    for module in still:
        module.register_forward_pre_hook(_keep_statistics)


def merge_adapters(model: _Model) -> _Model:
    """The same model with LoRA's matrices added to the weights beside which they stand: one of transformers again."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    for name, layer in list(model.named_modules()):
        if isinstance(layer, BaseTunerLayer):
            layer.merge()
            above, _, own = name.rpartition(".")
            setattr(model.get_submodule(above), own, layer.get_base_layer())
    if hasattr(model, "peft_config"):
        del model.peft_config
    return model.requires_grad_(True)


def _keep_statistics(layer: nn.Module, _: object) -> None:
    layer.eval()


def _is_trained(layer: nn.Module) -> bool:
    return any(weight.requires_grad for weight in layer.parameters())


def _list_frozen(model: nn.Module, freeze: str | int | Sequence[str], head: Sequence[nn.Module]) -> set[str]:
    """The names of the parameters that are not trained."""
    names = [name for name, _ in model.named_parameters()]
    if freeze == _BACKBONE:
        own = {id(weight) for layer in head for weight in layer.parameters()}
        return {name for name, weight in model.named_parameters() if id(weight) not in own}
    if isinstance(freeze, int):
        stages = _find_stages(model)
        if freeze > len(stages):
            raise OochubError(f"freeze={freeze} is more than the {len(stages)} stages that the model has.")
        last = {id(weight) for weight in stages[freeze - 1].parameters()}
        places = [place for place, (_, weight) in enumerate(model.named_parameters()) if id(weight) in last]
        return set(names[: max(places) + 1])  # with what stands before the stages
    wanted = [freeze] if isinstance(freeze, str) else freeze
    modules = [name for name, layer in model.named_modules() if name and any(True for _ in layer.parameters())]
    for name in wanted:
        if name not in (*modules, *names):
            hint = "The model's modules have these names; freeze=backbone and freeze=2, two stages, need none."
            raise unknown_name("module to freeze", name, [_BACKBONE, *modules], hint)
    return {name for name in names if any(name == one or name.startswith(f"{one}.") for one in wanted)}


def _find_stages(model: nn.Module) -> Sequence[nn.Module]:
    """The stages or layers of a network: the list of modules that holds most of its parameters."""
    lists = [
        module for module in model.modules() if isinstance(module, nn.ModuleList | nn.Sequential) and len(module) > 1
    ]
    if not lists:
        raise OochubError("The model has no list of stages. Name the modules to freeze.")
    most = max(lists, key=lambda each: sum(weight.numel() for weight in each.parameters()))
    return [block for block in most if any(True for _ in block.parameters())]


def _add_lora(model: nn.Module, args: RobustTrainingArguments, head: Sequence[nn.Module]) -> None:
    check_installed("peft", "peft", "LoRA")
    from peft import LoraConfig, inject_adapter_in_model

    config = LoraConfig(
        r=args.lora_rank,
        lora_alpha=args.lora_alpha,
        lora_dropout=args.lora_dropout,
        target_modules=_list_targets(model, args.lora_targets, head),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(args.seed)
        inject_adapter_in_model(config, model)
    for layer in head:
        layer.requires_grad_(True)


def _list_targets(model: nn.Module, wanted: str | Sequence[str] | None, head: Sequence[nn.Module]) -> list[str]:
    """The names of the layers that get matrices; never the last layer, which is trained whole."""
    layers = [
        name
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear | nn.Conv2d) and not any(layer is one for one in head)
    ]
    if wanted is None:
        attention = [name for name in layers if name.rpartition(".")[2] in _ATTENTION]
        return attention or layers
    chosen = []
    for target in [wanted] if isinstance(wanted, str) else wanted:
        matching = [name for name in layers if name == target or name.endswith(f".{target}")]
        if not matching:
            now = _RENAMED.get(target)
            hint = f"transformers 5 calls {target} {now}. " if now else ""
            raise unknown_name(
                "layer for lora_targets",
                target,
                dict.fromkeys(name.rpartition(".")[2] for name in layers),
                f"{hint}These are the ends of the names of its layers.",
            )
        chosen += matching
    return list(dict.fromkeys(chosen))
