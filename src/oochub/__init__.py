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
    from oochub.evaluation import evaluate
    from oochub.prediction import predict
    from oochub.predictions import Predictions
    from oochub.report import Report
    from oochub.suite.tasks import task

__all__ = ["OochubError", "Predictions", "Report", "evaluate", "get", "names", "predict", "task"]
__version__ = version("oochub")

_LAZY = {
    "evaluate": "oochub.evaluation",
    "predict": "oochub.prediction",
    "Predictions": "oochub.predictions",
    "Report": "oochub.report",
    "task": "oochub.suite.tasks",
}

register()


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'oochub' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
