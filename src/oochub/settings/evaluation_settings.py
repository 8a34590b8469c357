"""How predictions are scored, and how intervals and adjusted p values are found."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from oochub.errors import OochubError
from oochub.settings.option import Settings, option, parse_path
from oochub.stats import RESAMPLES

_SETS = "Detectors"


def parse_pairs(typed: Sequence[str] | None, flag: str) -> list[tuple[str, str]] | None:
    """The pairs of names of texts `in:out`; None of no text.

    Raises:
        OochubError: A text without one of both.

    >>> parse_pairs(["imagenet_1k:imagenet_ood"], "--pair")
    [('imagenet_1k', 'imagenet_ood')]
    """
    parsed = []
    for text in typed or ():
        inside, _, outside = text.partition(":")
        if not (inside and outside):
            raise OochubError(f"{flag} takes IN:OUT, as imagenet_1k:imagenet_ood, got {text!r}.")
        parsed.append((inside, outside))
    return parsed or None


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings(Settings):
    """The settings of `oochub.evaluate` besides the intervals, and the data of answers of another program.

    >>> EvaluationSettings(metrics=["auc"]).words()
    ('--metric', 'auc')
    """

    metrics: Any = option(
        None,
        help="Metrics to compute (default: those of the benchmark).",
        more="Names, or functions of columns such as `label` and `probability`. The headline metric is measured on "
        "both sides in any case, because the gap is made of it.",
        panel="Metrics",
        common=True,
        flag="--metric",
        typed=list[str] | None,
    )
    match: str | None = option(
        None,
        help="Also compute the gap matched on a column: equal values of the column (area), or equal class shares "
        "(label).",
        more="A column must be numeric and auxiliary; its values are spread alike on both sides "
        '(`report["matched_gap"]`, see `oochub.evaluation.matching`). With "label", the verdict goes by the '
        "matched gap.",
        panel="Metrics",
    )
    classes: Literal["all", "present"] = option(
        "all",
        help="Allowed predictions: all classes, or only the classes present in the set.",
        more="For example the 200 classes of ImageNet-R. This decides what is correct, in the metrics and for "
        "detectors; the report says which was used.",
        panel="Metrics",
    )
    detectors: Any = option(
        None,
        help="Also score this out-of-distribution detector.",
        more="Names, or detectors. `predictions` may then come from several configs, the in-distribution one first, "
        'and `report["msp/imagenet_1k/imagenet_ood/auroc_failure"]` is one number.',
        panel=_SETS,
        common=True,
        flag="--detector",
        typed=list[str] | None,
    )
    reference: Any = option(
        None,
        help="Predictions for the training split, to fit detectors.",
        more="They must have features.",
        panel=_SETS,
        common=True,
        typed=Path | None,
        parse=parse_path,
    )
    pairs: Any = option(
        None,
        help="Pair of configs to compare (default: every pair).",
        more="Pairs of names, (in distribution, out of it). Sets are never pooled.",
        form="IN:OUT",
        panel=_SETS,
        flag="--pair",
        typed=list[str] | None,
        parse=parse_pairs,
    )
    probes: Iterable[str] = option(
        (),
        help="zoom: measure how much detector scores change under a zoom that does not change the prediction.",
        more="For predictions made with `zoom`, see `oochub.detection.zoom_probe`.",
        panel=_SETS,
        flag="--probe",
    )
    rows: str | None = option(
        None,
        help="Evaluate only the rows listed in this file.",
        more="It has one SPLIT<tab>EXAMPLE_ID per line. The report says in every form that its rows were chosen, and "
        "is not compared with one on other rows. See `oochub.evaluation.row_selection`.",
        panel="Data",
        common=True,
        typed=Path | None,
        parse=parse_path,
        metavar="FILE",
    )
    unseen: bool = option(
        False,
        help="With --rows: test the rule in that file on rows that nobody has looked at.",
        more="The rule is the first comment of the file. It is tested on the half that the page kept back, or on other "
        "data: right answers where it holds against right answers elsewhere.",
        panel="Data",
        flag="--unseen",
    )
    benchmark: Any = option(
        None,
        help="Dataset that a CSV, Parquet or NPZ file of answers belongs to: spawrious/o2o_hard, or your own data.",
        more="A source of `oochub.load`, or the splits that it returned.",
        panel="Data",
        common=True,
        typed=str | None,
    )
    probabilities: bool = option(
        False,
        help="With --benchmark: read the numbers in the file as probabilities, whatever the columns are called.",
        more="The columns `logits`, `logit_<class>` and those named by the classes; by default these are logits.",
        panel="Data",
        flag="--probabilities",
    )
    model_name: str | None = option(
        None, help="With --benchmark: name of the model (default: the file name without its extension).", panel="Data"
    )


@dataclass(frozen=True, kw_only=True)
class IntervalSettings(Settings):
    """The bootstrap, and the correction over several tests.

    >>> IntervalSettings().resamples
    1000
    """

    correction: Literal["holm", "benjamini_hochberg"] = option(
        "holm",
        help="Multiple-testing correction over the found contexts.",
        more='"holm" keeps the chance of any false finding at 5%; "benjamini_hochberg" keeps the expected share of '
        "false ones among those shown at 5%.",
        panel="Intervals",
    )
    resamples: int = option(
        RESAMPLES,
        help="Number of bootstrap resamples, for bootstrapped intervals.",
        panel="Intervals",
        commands=(),
    )
    seed: int = option(
        0,
        help="Random seed for the bootstrap.",
        more="In an audit, also for the rows that a probe alters.",
        panel="Intervals",
        least=0,
        hint="The default is 0.",
    )

    def __post_init__(self) -> None:
        from oochub.stats.estimate import Sampling

        super().__post_init__()
        Sampling(resamples=self.resamples, seed=self.seed)
