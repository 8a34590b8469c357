"""The dataset and evaluation hub for models that must work out of context.

`import oochub` registers the benchmarks with `datasets`, so that `load_dataset("nooch", "ce_car")` works.
It imports neither torch nor transformers; `predict` and `evaluate` are loaded at their first use.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from oochub.catalog import get, names
from oochub.errors import OochubError
from oochub.registration import register

if TYPE_CHECKING:
    from oochub.data.tasks import task
    from oochub.evaluation.evaluate import evaluate
    from oochub.prediction.predict import predict
    from oochub.prediction.predictions import Predictions
    from oochub.report.report import Report

__all__ = ["OochubError", "Predictions", "Report", "evaluate", "get", "names", "predict", "task"]
__version__ = version("oochub")

_LAZY = {
    "evaluate": "oochub.evaluation.evaluate",
    "predict": "oochub.prediction.predict",
    "Predictions": "oochub.prediction.predictions",
    "Report": "oochub.report.report",
    "task": "oochub.data.tasks",
}

register()


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'oochub' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
