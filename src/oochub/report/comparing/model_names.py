"""What the models of several reports go by, where each must be told from the others."""

from collections import Counter
from collections.abc import Sequence

from oochub.report import wording
from oochub.report.comparing.trained_models import trained_models
from oochub.report.report import Report


def model_names(reports: Sequence[Report]) -> list[str]:
    """A name for each report: its training objective, or the model's id.

    With what was trained where reports of a benchmark differ in it, and with its seed where others share the name.

    Args:
        reports: Any reports.

    >>> model_names([])
    []
    """
    bare = [
        wording.name(f"{report.model.objective or wording.model_words(report.model)}{trained}", 60)
        for report, trained in zip(reports, trained_models(reports), strict=True)
    ]
    places = [
        (name, report.benchmark.name, report.benchmark.config) for name, report in zip(bare, reports, strict=True)
    ]
    shared = {place[0] for place, count in Counter(places).items() if count > 1}
    return [
        f"{name}, seed {', '.join(map(str, report.model.seeds))}" if name in shared and report.model.seeds else name
        for name, report in zip(bare, reports, strict=True)
    ]
