"""How reports are compared and checked, how their tables look, and what may be replaced where they are written."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from oochub.settings.option import Settings, option, parse_path, parse_paths
from oochub.stats import RESAMPLES

_REPORTS, _PREDICTIONS = "Reports", "Predictions"


TableStyle = Literal["compact", "full"]


@dataclass(frozen=True, kw_only=True)
class ComparisonSettings(Settings):
    """The settings of `oochub.compare`.

    >>> ComparisonSettings(metric=["auc", "ece"]).words()
    ('--metric', 'auc', '--metric', 'ece')
    """

    metric: Any = option(
        None,
        help="Metrics to compare, one table each (default: the primary metric).",
        more="For predictions also the benchmark's other metrics that are means over rows.",
        panel="Metrics",
        common=True,
        typed=list[str] | None,
    )
    slice: Any = option(
        None,
        help="Slices to show for reports, or for 3 or more prediction files, such as hard, easy or all (default: out "
        "of context).",
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
        None, help="Reports only: add the paper's numbers from this table, such as 3 or ce.", panel=_REPORTS
    )
    version: str | None = option(
        None,
        help="Reports only: version of the paper, if two number their tables differently: appendix or checklist.",
        panel=_REPORTS,
    )
    rows: Literal["tasks", "methods"] = option(
        "tasks", help="Reports only: use tasks or methods as table rows.", panel=_REPORTS, noun="kind of rows"
    )
    task: str | None = option(
        None, help="Predictions for nooch/all only: the task, such as ce_car.", panel=_PREDICTIONS, common=True
    )
    resamples: int = option(
        RESAMPLES,
        help="Predictions only: number of bootstrap resamples, for bootstrapped differences.",
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


@dataclass(frozen=True, kw_only=True)
class TableSettings(Settings):
    """The settings of `to_latex` of a report, of a comparison and of a sweep.

    >>> TableSettings(style="full").words()
    ('--style', 'full')
    """

    style: TableStyle = option(
        "compact",
        help="LaTeX tables: compact (for a paper) or full (every number).",
        more="A compact table has models or methods as rows, and in context, out of context and the gap as columns.",
        panel="Output",
        noun="style of LaTeX tables",
    )


@dataclass(frozen=True, kw_only=True)
class CheckSettings(Settings):
    """The baseline, what an undecided rule counts as, and the margin of suggested rules.

    >>> CheckSettings(undecided="fail").words()
    ('--undecided', 'fail')
    """

    baseline: Any = option(
        None,
        help="Report of the old model, for rules with at_most_worse.",
        more="A Report, or the path of one. The comparison is paired if the predictions of both reports are found "
        "beside them.",
        panel="Rules",
        common=True,
        typed=Path | None,
        parse=parse_path,
    )
    undecided: Literal["pass", "fail"] | None = option(
        None,
        help="How to count a rule that is undecided because there are too few rows: pass or fail.",
        more="By default the check is then undecided, unless a rule fails.",
        panel="Rules",
        common=True,
        noun="outcome of undecided rules",
    )
    anytime: bool = option(
        False,
        help="Use intervals that hold at every look, for a set that is checked again as rows are added.",
        more='They are 1.6 to 1.8 times as wide; `looks = "any"` in the rules does the same.',
        panel="Rules",
        flag="--anytime",
    )
    earlier: Any = option(
        (),
        help="Earlier report of the model on fewer of these rows: the check says what its promise is then.",
        more="A list of reports, or their paths.",
        panel="Rules",
        typed=list[Path] | None,
        parse=parse_paths,
    )
    margin: float = option(
        2.0,
        help="With --suggest: margin between the current values and the suggested bounds, in percentage points.",
        panel="Rules",
        common=True,
        least=0,
        most=100,
        python=False,
    )


@dataclass(frozen=True, kw_only=True)
class OutputSettings(Settings):
    """The settings of every command that writes; see `oochub.storage.ownership`.

    >>> OutputSettings(overwrite=True).words()
    ('--overwrite',)
    """

    overwrite: bool = option(
        False,
        help="Overwrite files that oochub did not write, or that were edited since.",
        panel="Output",
        flag="--overwrite",
        python=False,
        is_keyed=False,
    )
