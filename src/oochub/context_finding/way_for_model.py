"""The way to find contexts for a model: one that looks with features may look with those of the model itself."""

from pathlib import Path
from typing import Any

from oochub import catalog
from oochub.context_finder import ContextWay
from oochub.context_finding.context_columns import make_way
from oochub.errors import OochubError, choose_wording
from oochub.models.callable_model import CallableModel
from oochub.settings.context_settings import ContextSettings
from oochub.settings.model_settings import ModelSettings


def make_way_for_model(found: ContextSettings, model: Any, how: ModelSettings) -> ContextWay:
    """The way with its settings; one that can look with the audited model does so if no other is named.

    Args:
        found: How contexts are found.
        model: Model that is audited or repaired.
        how: How it answers.

    Raises:
        OochubError: An unknown way or setting, or a model without features for a way that looks with it.
    """
    settings = found.of_way
    kind = catalog.get("context", found.contexts) if found.contexts in catalog.names("context") else None
    if kind is None or not kind.looks_with_audited_model or "model" in settings:
        return make_way(found.contexts, settings)
    if isinstance(model, CallableModel) or (not isinstance(model, str | Path) and not hasattr(model, "config")):
        option = choose_wording('context_settings={"model": ...}', "--context-model")
        raise OochubError(
            f"The way {found.contexts} looks with the features of a model, and this one, a {type(model).__name__}, has "
            f"none that can be found. Name another one: {option}."
        )
    processor = {} if how.image_processor is None else {"image_processor": how.image_processor}
    return make_way(found.contexts, {"model": model, **processor, **settings})
