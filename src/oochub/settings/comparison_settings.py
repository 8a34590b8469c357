"""How reports are set side by side, or two predictions of the same examples."""

from dataclasses import dataclass
from typing import Any, Literal

from oochub.settings.option import Settings, option

_REPORTS, _PREDICTIONS = "Reports", "Predictions"


@dataclass(frozen=True, kw_only=True)
class ComparisonSettings(Settings):
    """The settings of `oochub.compare`.

    >>> ComparisonSettings(metric=["auc", "ece"]).words()
    ('--metric', 'auc', '--metric', 'ece')
    """

    metric: Any = option(
        None,
        help="Names of metrics, one table each; default the primary metric.",
        more="For predictions also the benchmark's other metrics that are means over rows.",
        panel="Metrics",
        common=True,
        typed=list[str] | None,
    )
    slice: Any = option(
        None,
        help="Reports, or 3 or more predictions: slices to show, such as hard, easy, all; default out of context.",
        panel=_REPORTS,
        common=True,
        typed=list[str] | None,
    )
    reported: bool = option(
        False,
        help="Reports only: add the paper's numbers for the model that was trained.",
        panel=_REPORTS,
        flag="--reported",
    )
    table: str | None = option(
        None, help="Reports only: add the paper's numbers from this table, such as 3.", panel=_REPORTS
    )
    rows: Literal["tasks", "methods"] = option(
        "tasks", help="Reports only: what a row is, tasks or methods.", panel=_REPORTS, noun="kind of rows"
    )
    task: str | None = option(
        None, help="Predictions for nooch/all only: the task, such as ce_car.", panel=_PREDICTIONS, common=True
    )
    resamples: int = option(
        1000,
        help="Predictions only: bootstrap replicates, for differences that are bootstrapped.",
        panel="Intervals",
        commands=(),
    )
    seed: int = option(
        0,
        help="Predictions only: random seed for the bootstrap and for random signs.",
        panel="Intervals",
        commands=(),
    )

    def __post_init__(self) -> None:
        from oochub.stats.estimate import Sampling

        super().__post_init__()
        Sampling(resamples=self.resamples, seed=self.seed)
