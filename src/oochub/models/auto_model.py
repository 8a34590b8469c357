"""Which class of transformers opens a model, among those that a mode serves."""

from collections.abc import Sequence
from typing import Any

from oochub.errors import OochubError
from oochub.models.model_source import ModelSource


def auto_model(source: ModelSource, among: Sequence[str], *, mode: str) -> str:
    """The Auto class that opens the model.

    Args:
        source: The model; an object is of one of the classes that they make.
        among: Names of Auto classes, those that a mode serves.
        mode: Its name.

    Raises:
        OochubError: None of them does.

    >>> from transformers import ResNetConfig, ResNetForImageClassification
    >>> model = ResNetForImageClassification(ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1]))
    >>> auto_model(ModelSource(model), ["AutoModelForImageClassification"], mode="head")
    'AutoModelForImageClassification'
    """
    import transformers

    served: set[str] = set()
    for name in among:
        mapping: Any = getattr(transformers, name)._model_mapping
        served |= {kind.model_type for kind in mapping}
        if type(source.config) in mapping:
            classes = mapping[type(source.config)]
            classes = classes if isinstance(classes, tuple) else (classes,)
            if isinstance(source.given, classes) or source.architecture in ("", *(each.__name__ for each in classes)):
                return name
    raise OochubError(
        f"The mode {mode} serves models of {', '.join(sorted(served))}, and this one is a {source.architecture}. "
        'Leave mode out, or "auto", to take the one that the model is made for.'
    )
