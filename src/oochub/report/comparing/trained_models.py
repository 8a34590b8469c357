"""What tells two runs of one method apart: the model that was trained."""

from collections.abc import Sequence

from oochub.report.report import Report


def trained_models(reports: Sequence[Report]) -> list[str]:
    """What follows the method's name of each report: "" where all reports of its benchmark trained the same.

    A model is named by what its first weights came from ("resnet-50"), or as its family "from scratch".

    Args:
        reports: Any reports; those of models that were not trained here, and reports of before, say nothing.

    >>> trained_models([])
    []
    """
    models = [_trained(report) for report in reports]
    of_benchmark: dict[str, set[str]] = {}
    for report, model in zip(reports, models, strict=True):
        of_benchmark.setdefault(report.benchmark.name, set()).update([model] if model else [])
    return [
        f", {model}" if model and len(of_benchmark[report.benchmark.name]) > 1 else ""
        for report, model in zip(reports, models, strict=True)
    ]


def _trained(report: Report) -> str:
    training = report.provenance.training
    if training is None or training.architecture is None or report.model.objective is None:
        return ""
    family = training.architecture.partition("For")[0]
    return str(training.base).rpartition("/")[2] if training.pretrained else f"{family} from scratch"
