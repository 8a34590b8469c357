"""Which models a mode serves, and which class opens one, from what transformers itself says that it has."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from oochub import catalog
from oochub.errors import OochubError
from oochub.inputs.pictures.image_processor import FloatProcessor
from oochub.models.model_source import ModelSource

_AUTO_MODELS = (
    "AutoModelForImageClassification",
    "AutoModelForZeroShotImageClassification",
    "AutoModelForObjectDetection",
    "AutoModelForSemanticSegmentation",
    "AutoModelForUniversalSegmentation",
    "AutoModelForInstanceSegmentation",
    "AutoModelForImageTextToText",
)
_ENCODERS = "AutoModel"

_NOT_SERVED = {
    ("head", "dinat"): "it needs the package natten",
    ("head", "shieldgemma2"): "it answers yes or no to a policy in words beside the image",
    ("presence", "oneformer"): "it asks for its task in words beside the image",
    ("presence", "videomt"): "it reads films",
    ("zero_shot", "blip-2"): "it compares a text with many embeddings of an image, and answers by the nearest",
    ("zero_shot", "videoprism"): "it reads films",
    ("linear_probe", "dinat"): "it needs the package natten",
    ("linear_probe", "mllama"): "it reads words beside the image",
    ("linear_probe", "cohere2_vision"): "it reads words beside the image",
    ("linear_probe", "llama4"): "it reads words beside the image",
}
"""Why a mode does not serve a type although transformers has the class; a test holds each against what happens."""

_UNTRIED = "no tiny model of it could be made to compare it with"
_NOT_ASKED = {
    "diffusion_gemma": "it writes many words at a time by diffusion",
    "evolla": "it reads proteins",
    "fuyu": _UNTRIED,
    "gemma3n": _UNTRIED,
    "instructblipvideo": "it reads films",
    "mistral4": "it reads no images",
    "nemotron_h_omni": _UNTRIED,
    "pi0": "it answers with the actions of a robot",
    "pp_formulanet": "it reads no prompt",
    "shieldgemma2": "it is a classifier with the weights of ShieldGemma2ForImageClassification",
    "unlimited_ocr": "its processor gives lists of numbers beside tensors",
    "udop": "it reads words and boxes that text recognition found",
    "vision-encoder-decoder": "it reads no prompt",
}
"""The same for the modes that ask in words."""

_BOTH = ("timm", "torchvision")
_NEEDS = {
    **dict.fromkeys(("timm_wrapper", "timm_backbone", "fast_vlm", "perception_lm"), _BOTH),
    **dict.fromkeys(("mistral3", "mistral_large4"), ("torchvision",)),
}
"""Packages without which transformers does not open a type, whatever its image processor; of the extra `vision`."""


@dataclass(frozen=True, kw_only=True)
class SupportedModel:
    """A type of model.

    Attributes:
        model_type: Type of the model, as its config.json says.
        modes: The modes that serve it, by name; none where nothing serves it.
        reason: Why a mode that is made for such models does not serve it; "" where all do.
    """

    model_type: str
    modes: tuple[str, ...]
    reason: str = ""


def list_supported_models() -> list[SupportedModel]:
    """Every type of image model of the installed transformers, by name.

    >>> {each.model_type: each.modes for each in list_supported_models()}["resnet"][0]
    'head'
    >>> [each.reason for each in list_supported_models() if each.model_type == "videomt"]
    ['presence: it reads films']
    """
    modes = {name: _list_types(catalog.get("mode", name).auto_models) for name in catalog.names("mode")}
    every = _list_types((*_AUTO_MODELS, _ENCODERS))
    return [
        _list_served(model_type, [name for name, types in modes.items() if model_type in types]) for model_type in every
    ]


def _list_served(model_type: str, modes: list[str]) -> SupportedModel:
    refused: dict[str, list[str]] = {}
    for mode in modes:
        reason = _find_reason(mode, model_type)
        if reason is not None:
            refused.setdefault(reason, []).append(mode)
    served = tuple(mode for mode in modes if _find_reason(mode, model_type) is None)
    reasons = [f"{', '.join(several)}: {why}" for why, several in refused.items()]
    lacking = [name for name in _NEEDS.get(model_type, ()) if find_spec(name) is None]
    if "torchvision" not in lacking and _needs_torchvision(model_type):
        lacking.append("torchvision")
    if not modes:
        reasons.append("no mode answers with its output")
    elif served and lacking:
        served = ()
        reasons.append(f"it needs {' and '.join(lacking)}: pip install 'oochub[vision]'")
    return SupportedModel(model_type=model_type, modes=served, reason="; ".join(reasons))


def _find_reason(mode: str, model_type: str) -> str | None:
    """Why a mode that is made for models of its class does not serve a type; None if it does."""
    is_mode = mode in catalog.names("mode")  # and no way to find contexts
    asks = is_mode and "AutoModelForImageTextToText" in catalog.get("mode", mode).auto_models
    return _NOT_ASKED.get(model_type) if asks else _NOT_SERVED.get((mode, model_type))


def _needs_torchvision(model_type: str) -> bool:
    from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES
    from transformers.utils import is_torchvision_available

    backends = IMAGE_PROCESSOR_MAPPING_NAMES.get(model_type, {"pil": ""})
    is_read = backends.get("torchvision") in FloatProcessor.names
    return "pil" not in backends and not is_read and not is_torchvision_available()


def _list_types(auto_models: Iterable[str]) -> list[str]:
    """The types of images that these classes of transformers open."""
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


def choose_auto_model(source: ModelSource, among: Sequence[str], *, mode: str) -> str:
    """The Auto class that opens the model.

    Args:
        source: The model; an object is of one of the classes that they make.
        among: Names of Auto classes, those that a mode serves.
        mode: Name of the mode, or of another user of the model.

    Raises:
        OochubError: None of them does.

    >>> from transformers import ResNetConfig, ResNetForImageClassification
    >>> model = ResNetForImageClassification(ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1]))
    >>> choose_auto_model(ModelSource(model), ["AutoModelForImageClassification"], mode="head")
    'AutoModelForImageClassification'
    """
    import transformers

    served: set[str] = set()
    for name in among:
        mapping: Any = getattr(transformers, name)._model_mapping
        served |= {kind.model_type for kind in mapping if _find_reason(mode, kind.model_type) is None}
        if type(source.config) in mapping:
            classes = mapping[type(source.config)]
            classes = classes if isinstance(classes, tuple) else (classes,)
            if isinstance(source.given, classes) or source.architecture in ("", *(cls.__name__ for cls in classes)):
                return name
    raise OochubError(
        f"The mode {mode} serves models of {', '.join(sorted(served))}, but this one is a {source.architecture}. "
        'Omit the mode or use "auto" to select the mode for this model.'
    )


def list_architectures(auto_model: str) -> frozenset[str]:
    """Names as config.json has them in `architectures`, also of classes that this process registered; imports none.

    Args:
        auto_model: The Auto class, such as "AutoModelForImageClassification".

    >>> "ResNetForImageClassification" in list_architectures("AutoModelForImageClassification")
    True
    """
    import transformers

    mapping = getattr(transformers, auto_model)._model_mapping
    names = {kind.__name__ for kind in mapping._extra_content.values()}
    for kinds in mapping._model_mapping.values():  # a name, or several with None for those that are not there
        names.update([kinds] if isinstance(kinds, str) else filter(None, kinds))
    return frozenset(names)
