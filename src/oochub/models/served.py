"""Which models of pictures are served by which mode, from what transformers itself says that it has."""

from collections.abc import Iterable
from dataclasses import dataclass

from oochub import catalog

_AUTO_MODELS = (
    "AutoModelForImageClassification",
    "AutoModelForZeroShotImageClassification",
    "AutoModelForObjectDetection",
    "AutoModelForSemanticSegmentation",
    "AutoModelForUniversalSegmentation",
    "AutoModelForInstanceSegmentation",
)
_ENCODERS = "AutoModel"

_NOT_SERVED = {
    ("head", "dinat"): "it needs the package natten",
    ("head", "pp_lcnet"): "its output has no logits",
    ("head", "shieldgemma2"): "it answers yes or no to a policy in words beside the picture",
    ("head", "timm_wrapper"): "it needs the package timm",
    ("presence", "oneformer"): "it asks for its task in words beside the picture",
    ("presence", "videomt"): "it reads films",
    ("zero_shot", "blip-2"): "it compares a text with many embeddings of a picture, and answers by the nearest",
    ("zero_shot", "videoprism"): "it reads films",
    ("linear_probe", "dinat"): "it needs the package natten",
    ("linear_probe", "mllama"): "it reads words beside the picture",
    ("linear_probe", "timesformer"): "it reads films",
    ("linear_probe", "timm_backbone"): "it needs the package timm",
    ("linear_probe", "timm_wrapper"): "it needs the package timm",
    ("linear_probe", "videomae"): "it reads films",
    ("linear_probe", "videoprism_vision_model"): "it reads films",
}
"""Why a mode does not serve a type although transformers has the class; a test holds each against what happens."""


@dataclass(frozen=True, kw_only=True)
class ServedModel:
    """A type of model.

    Attributes:
        model_type: As its config.json says.
        modes: The modes that serve it, by name; none where nothing serves it.
        reason: Why a mode that is made for such models does not serve it; "" where all do.
    """

    model_type: str
    modes: tuple[str, ...]
    reason: str = ""


def served_models() -> list[ServedModel]:
    """Every type of picture model of the installed transformers, by name.

    >>> {each.model_type: each.modes for each in served_models()}["resnet"][0]
    'head'
    >>> [each.reason for each in served_models() if each.model_type == "pp_lcnet"]
    ['head: its output has no logits']
    """
    modes = {name: _types(catalog.get("mode", name).auto_models) for name in catalog.names("mode")}
    every = _types((*_AUTO_MODELS, _ENCODERS))
    return [_served(model_type, [name for name, types in modes.items() if model_type in types]) for model_type in every]


def _served(model_type: str, modes: list[str]) -> ServedModel:
    refused = {mode: _NOT_SERVED[mode, model_type] for mode in modes if (mode, model_type) in _NOT_SERVED}
    served = tuple(mode for mode in modes if mode not in refused)
    reasons = [f"{mode}: {why}" for mode, why in refused.items()]
    if not modes:
        reasons.append("no mode answers with its output")
    elif served and _needs_torchvision(model_type):
        served = ()
        reasons.append("its image processor needs the package torchvision")
    return ServedModel(model_type=model_type, modes=served, reason="; ".join(reasons))


def _needs_torchvision(model_type: str) -> bool:
    from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES
    from transformers.utils import is_torchvision_available

    backends = IMAGE_PROCESSOR_MAPPING_NAMES.get(model_type, {"pil": ""})
    return "pil" not in backends and not is_torchvision_available()


def _types(auto_models: Iterable[str]) -> list[str]:
    """The types of pictures that these classes of transformers open."""
    import transformers
    from transformers.models.auto import modeling_auto

    types: set[str] = set()
    for name in auto_models:
        if name in _AUTO_MODELS:
            types.update(getattr(transformers, name)._model_mapping._model_mapping)
        elif name == _ENCODERS:
            types.update(modeling_auto.MODEL_FOR_IMAGE_MAPPING_NAMES)
            classifiers = {*modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES}
            types.update(classifiers & {*modeling_auto.MODEL_MAPPING_NAMES})
    return sorted(types)
