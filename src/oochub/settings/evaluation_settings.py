"""How predictions are scored."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from oochub.errors import OochubError
from oochub.settings.option import Settings, option, parse_path

_SETS = "Detectors"


def parse_pairs(typed: Sequence[str] | None, flag: str) -> list[tuple[str, str]] | None:
    """The pairs of names of texts `in:out`; None of no text.

    Raises:
        OochubError: A text without one of both.

    >>> parse_pairs(["imagenet_1k:imagenet_ood"], "--pair")
    [('imagenet_1k', 'imagenet_ood')]
    """
    found = []
    for text in typed or ():
        inside, _, outside = text.partition(":")
        if not (inside and outside):
            raise OochubError(f"{flag} takes IN:OUT, as imagenet_1k:imagenet_ood, got {text!r}.")
        found.append((inside, outside))
    return found or None


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings(Settings):
    """The settings of `oochub.evaluate` besides the intervals, and the data of answers of another program.

    >>> EvaluationSettings(metrics=["auc"]).words()
    ('--metric', 'auc')
    """

    metrics: Iterable[str] | None = option(
        None, help="Names of metrics; default the benchmark's.", panel="Metrics", common=True, flag="--metric"
    )
    match: str | None = option(
        None,
        help="Also the gap at equal values of this column (area), or equal shares of classes (label).",
        more='The column is numeric and auxiliary: it is spread alike on both sides (`report["matched_gap"]`, see '
        '`oochub.evaluation.matching`). By the gap of "label" the verdict then goes.',
        panel="Metrics",
    )
    classes: Literal["all", "present"] = option(
        "all",
        help="What an answer may be: all classes, or those present in its set.",
        more="Such as the 200 of ImageNet-R. It decides what is correct, in the metrics and for detectors; the report "
        "says which.",
        panel="Metrics",
    )
    detectors: Any = option(
        None,
        help="Also this out-of-distribution detector.",
        more="Names, or detectors; `predictions` may then be of several configs, the one in distribution first, and "
        '`report["msp/imagenet_1k/imagenet_ood/auroc_failure"]` is one number.',
        panel=_SETS,
        common=True,
        flag="--detector",
        typed=list[str] | None,
    )
    reference: Any = option(
        None,
        help="Predictions of the training split, to fit detectors.",
        more="They have features.",
        panel=_SETS,
        common=True,
        typed=Path | None,
        parse=parse_path,
    )
    pairs: Any = option(
        None,
        help="Configs to set against each other; default all.",
        more="Pairs of names, (in distribution, out of it). Sets are never pooled.",
        form="IN:OUT",
        panel=_SETS,
        flag="--pair",
        typed=list[str] | None,
        parse=parse_pairs,
    )
    probes: Iterable[str] = option(
        (),
        help="zoom: how far a zoom that changes no answer moves the detectors' scores.",
        more="Of predictions made with `zoom`, see `oochub.evaluation.zoom_probe`.",
        panel=_SETS,
        flag="--probe",
    )
    benchmark: Any = option(
        None,
        help="What a CSV, Parquet or NPZ file of answers is of: spawrious/o2o_hard, or own data.",
        more="A source of `oochub.load`, or the splits that it gave.",
        panel="Data",
        common=True,
        typed=str | None,
    )
    model_name: str | None = option(
        None, help="What the report calls the model of such a file; default its stem.", panel="Data"
    )
