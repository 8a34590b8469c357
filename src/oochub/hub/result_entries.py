"""The numbers of a report as entries of `.eval_results/*.yaml`, which the Hub shows beside a model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from oochub.hub.task_id import task_id
from oochub.records.report_records import Role
from oochub.report.report import Report
from oochub.stats.estimate import Estimate

_PROGRAM = "oochub"
_DIGITS = 12  # of a digest


@dataclass(frozen=True, kw_only=True)
class ResultEntries:
    """What of a report can stand on the Hub, and what cannot.

    Attributes:
        entries: Of `huggingface_hub.EvalResultEntry`, one for each number.
        left_out: Why a number has none, by its task id.
    """

    entries: tuple[Any, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


def result_entries(report: Report, *, dataset: str, revision: str | None, source: str) -> ResultEntries:
    """One entry for each task and number of a report; nothing in it is claimed to be verified.

    These are the metrics on all rows of the evaluation split, and the headline metric on either side of the comparison;
    the id of each is that of `oochub.hub.task_id`: `ce_car_auc_hard`, `ce_car_auc_out_of_context`. The value is the
    report's, unrounded; n, the 95% interval, the caveats of the data, the model's revision and a digest of the
    predictions stand in the notes.

    A leaderboard of the Hub ranks by higher is better, so numbers of which lower is better (error rate, NLL, ECE) are
    left out, and so is what is undefined (nan); `left_out` says which. Numbers of detectors are of a model and a
    detector together, and stay in the report.

    Args:
        report: Of one benchmark and config, or of one task of `nooch/all`.
        dataset: The data set's id on the Hub.
        revision: The commit that the predictions were made of; None if unknown.
        source: The address of a page that says where the numbers come from.
    """
    from huggingface_hub import EvalResultEntry

    config, entries, left_out = report.benchmark.config, [], {}
    for metric, role, estimate in _numbers(report):
        task = task_id(config, metric, role)
        direction = report.description(metric).direction
        if isnan(estimate):
            left_out[task] = f"undefined: {estimate.reason or 'nan'}"
        elif direction != "higher":
            left_out[task] = f"{direction} is better, and the Hub ranks by higher"
        else:
            entries.append(
                EvalResultEntry(
                    dataset_id=dataset,
                    task_id=task,
                    value=estimate.value,
                    dataset_revision=revision,
                    date=report.provenance.when.get("created"),
                    source_url=source,
                    source_name=_PROGRAM,
                    notes=_notes(report, estimate),
                )
            )
    return ResultEntries(entries=tuple(entries), left_out=left_out)


def _numbers(report: Report) -> Iterator[tuple[str, Role, Estimate]]:
    every = report.slice_of("all")
    for metric, estimate in (every.metrics if every else {}).items():
        yield metric, "all", estimate
    roles: tuple[Role, ...] = ("in", "out")
    for role in roles:
        headline = report.headline(role)
        if headline is not None:
            yield report.benchmark.primary_metric, role, headline


def _notes(report: Report, estimate: Estimate) -> str:
    has_interval = not (isnan(estimate.low) or isnan(estimate.high))
    interval = f", 95% interval [{estimate.low:.6g}, {estimate.high:.6g}]" if has_interval else ""
    origin = [
        f"{report.benchmark.name} {report.benchmark.version}",
        f"model {report.model.revision}" if report.model.revision else "",
        f"predictions sha256 {report.provenance.predictions.sha256[:_DIGITS]}",
        f"{_PROGRAM} {report.provenance.oochub}",
    ]
    return "; ".join([f"n={estimate.n}{interval}", *report.caveats, *filter(None, origin)])
