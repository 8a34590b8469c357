"""The dataset and evaluation hub for models that must work out of context.

    audit       Check whether a model relies on context: predict, evaluate and report.
    load        Load a benchmark or your own data with a label and a context.
    train       Train a model with a robust objective.
    predict     Run a model on every example of the splits.
    evaluate    Evaluate predictions or answers: metrics with intervals, in and out of context.
    compare     Compare models on the same examples, or reports side by side.
    check       Check a report against rules.
    contexts    Find unlabeled contexts in images.
    repair      Retrain a model's last layer so that it relies less on context.
    task        Take one task of NOOCH's config "all", or of predictions of it.
    push        Push a benchmark, a model or results to the Hub.
    show        Open the page of a report in a browser.
    names, get  List what there is of a kind, and get one of them.
    use         Add a part of your own from a Python file.
    join_images Put your own images in the place of their digests.

`import oochub` registers the benchmarks with `datasets`, so that `load_dataset("nooch", "ce_car")` works, whichever of
the two is imported first. It imports neither `datasets` nor torch: what is named here is loaded at its first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from oochub.catalog import get, names, use
from oochub.errors import OochubError, check_models_extra
from oochub.registration import register

if TYPE_CHECKING:
    from oochub.auditing import audit
    from oochub.checking.check_report import check
    from oochub.comparison.compare import compare
    from oochub.context_finding.context_columns import contexts
    from oochub.data.load import load
    from oochub.evaluation.evaluate import evaluate
    from oochub.evaluation.tasks import task
    from oochub.hub.push import push
    from oochub.predicting import predict
    from oochub.prediction.predictions import Predictions
    from oochub.repairing import repair
    from oochub.repairs.repair import Repair
    from oochub.report.report import Report
    from oochub.repository.join_images import join_images
    from oochub.showing import show
    from oochub.trainers.arguments import RobustTrainingArguments
    from oochub.trainers.robust_trainer import RobustTrainer
    from oochub.training import train

    __version__: str

__all__ = [
    "OochubError",
    "Predictions",
    "Repair",
    "Report",
    "RobustTrainer",
    "RobustTrainingArguments",
    "audit",
    "check",
    "compare",
    "contexts",
    "evaluate",
    "get",
    "join_images",
    "load",
    "names",
    "predict",
    "push",
    "repair",
    "show",
    "task",
    "train",
    "use",
]

_LAZY = {
    "Predictions": "oochub.prediction.predictions",
    "Repair": "oochub.repairs.repair",
    "Report": "oochub.report.report",
    "RobustTrainer": "oochub.trainers.robust_trainer",
    "RobustTrainingArguments": "oochub.trainers.arguments",
    "audit": "oochub.auditing",
    "check": "oochub.checking.check_report",
    "compare": "oochub.comparison.compare",
    "contexts": "oochub.context_finding.context_columns",
    "evaluate": "oochub.evaluation.evaluate",
    "join_images": "oochub.repository.join_images",
    "load": "oochub.data.load",
    "predict": "oochub.predicting",
    "push": "oochub.hub.push",
    "repair": "oochub.repairing",
    "show": "oochub.showing",
    "task": "oochub.evaluation.tasks",
    "train": "oochub.training",
}

register()


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("oochub")
    if name not in _LAZY:
        raise AttributeError(f"module 'oochub' has no attribute {name!r}")
    try:
        return getattr(import_module(_LAZY[name]), name)
    except ModuleNotFoundError:
        check_models_extra(f"oochub.{name}")
        raise


def __dir__() -> list[str]:
    """What is public, and how the module describes itself: none of the names that it imports for its own use."""
    own = {name for name in globals() if name.startswith("__") and name.endswith("__")}
    return sorted({*own, *__all__, "__version__"})
