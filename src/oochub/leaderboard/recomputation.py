"""The numbers of a report computed again from its predictions, and compared with those that were sent."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from oochub.comparison.methods_over_seeds import leave_groups_out
from oochub.comparison.model_difference import list_primary_values
from oochub.data.declaration import find_declaration
from oochub.errors import OochubError
from oochub.evaluation.evaluate import evaluate
from oochub.evaluation.evaluation_rows import EvaluationRows, make_evaluation_rows
from oochub.evaluation.slices import RowSet, make_row_sets
from oochub.leaderboard.compared_rows import digest_compared_rows, order_compared_rows
from oochub.prediction.check_predictions import check_answers
from oochub.prediction.predictions import Predictions, concatenate_predictions
from oochub.records.schema import to_json
from oochub.report.report import Report
from oochub.report.report_record import check_all_rows
from oochub.stats import RESAMPLES
from oochub.stats.paired_values import PairedValues
from oochub.stats.seeded_difference import SeededNumbers

if TYPE_CHECKING:
    from oochub.leaderboard.benchmark_rows import BenchmarkRows

ROUNDING = 1e-9
"""How far a number may lie from the one that was sent, of 1 or of its own size: other versions of numpy round so."""
SEED = 0
"""Settings of every interval on a board, whatever was sent: nobody looks for a seed that flatters."""
_PRESENT = re.compile(r"--classes[ =]present")


@dataclass(frozen=True, kw_only=True)
class Recomputation:
    """What came of it.

    Attributes:
        report: Report with the numbers that the predictions give; None if they give none.
        reason: Why the sent numbers are not verified, in words; "" where they are.
        difference: The largest difference between a number that was sent and the same computed again.
        numbers: How many numbers were compared.
        rows: A digest of the examples, labels, sides and groups that the numbers are of.
        own_intervals: Why the intervals that were sent are not compared, in words; "" where they are.
    """

    report: Report | None = None
    reason: str = ""
    difference: float = 0.0
    numbers: int = 0
    rows: str = ""
    own_intervals: str = ""


class Recomputed(NamedTuple):
    """The outcome, and what the entry contributes to the tests of its number out of context; None if it has none."""

    outcome: Recomputation
    values: PairedValues | None = None


def recompute_report(sent: Report, predictions: Sequence[Path], own: "BenchmarkRows | None" = None) -> Recomputed:
    """Scores the predictions with the metrics of the report and the board's seed, and compares every number.

    What a file says of its own answers, a stored summary or digest, is not read: all follows from the answers.

    Args:
        sent: The report as it was sent.
        predictions: The files that it was made of, in its order.
        own: The benchmark's own rows, which then take the place of those in the files; None believes the files.

    Returns:
        The outcome, whatever is wrong with report or predictions being its `reason`; of one that is verified also what
        its number out of context is made of.
    """
    try:
        _check_report(sent)
        opened = open_answers(predictions, own)
        report = _evaluate_again(sent, opened)
        rows = digest_compared_rows(opened)
    except OochubError as error:
        return Recomputed(Recomputation(reason=_strip_folders(str(error), predictions)))
    other = next(
        (f"its report says {what} {was or 'none'}, but its predictions say {now or 'none'}"
         for what, was, now in _list_origins(sent, report) if was != now),
        "",
    )  # fmt: skip
    if other:
        return Recomputed(Recomputation(report=report, reason=other, rows=rows))
    outcome = replace(_compare_numbers(sent, report), rows=rows)
    return Recomputed(outcome, None if outcome.reason else _list_values(opened, report))


def _list_values(opened: Predictions, found: Report) -> PairedValues | None:
    """What the primary metric out of context is made of, its rows in the order that all entries share."""
    number = found.headline("out")
    if number is None or math.isnan(number.value):
        return None
    evaluated, rows = _evaluate_outside(opened)
    order = order_compared_rows(opened, evaluated.benchmark)
    return list_primary_values(rows, order[rows.mask[order]], evaluated, number)


def measure_seed(predictions: Sequence[Path], own: "BenchmarkRows | None" = None) -> SeededNumbers:
    """What an entry that is one seed of a method contributes to the tests of methods: see `SeededNumbers`.

    Args:
        predictions: Its files, in their order.
        own: See `recompute_report`.

    Raises:
        OochubError: The files cannot be read.
    """
    evaluated, rows = _evaluate_outside(open_answers(predictions, own))
    return leave_groups_out(evaluated, rows, evaluated.benchmark.primary_metric)


def _evaluate_outside(opened: Predictions) -> tuple[EvaluationRows, RowSet]:
    """The rows as an evaluation sees them, and those out of context."""
    sampling = {"resamples": RESAMPLES, "seed": SEED}
    evaluated, _ = make_evaluation_rows(opened, find_declaration(opened), sampling=sampling)
    return evaluated, next(part for part in make_row_sets(evaluated) if part.role == "out")


def open_answers(predictions: Sequence[Path], own: "BenchmarkRows | None" = None) -> Predictions:
    """The answers of an entry, on the benchmark's own rows if these are known; see `recompute_report`."""
    opened = concatenate_predictions([_open_unbelieving(path) for path in predictions])
    return opened if own is None else own.under(opened)


def _open_unbelieving(path: Path) -> Predictions:
    """The predictions of a file without what it says of them: their answers are checked and scored anew."""
    loaded = replace(Predictions.load(path))  # what was remembered of the file stays behind
    check_answers(loaded.rows, loaded.metadata)
    return loaded


def _check_report(sent: Report) -> None:
    check_all_rows(sent, "its report", why="A board has numbers of a whole split")
    if sent.detection or sent.probes:
        raise OochubError("it has numbers of detectors, which need predictions for other sets")
    unsaid = sorted({name for part in sent.slices for name in part.metrics} - set(sent.metrics))
    if unsaid:
        raise OochubError(f"it does not say what its numbers for {', '.join(unsaid)} mean")
    if _PRESENT.search(sent.provenance.command):
        raise OochubError(
            "its answers are among the classes present in the set, but those of the board among all: evaluate "
            "without --classes present"
        )


def _evaluate_again(sent: Report, opened: Predictions) -> Report:
    """The report of the predictions; what made it, and when, is that of the sent one."""
    metrics = dict.fromkeys(
        [name.partition(".")[0] for name in sent.metrics] + [find_declaration(opened).primary_metric]
    )
    report = evaluate(
        opened,
        metrics=list(metrics),
        match=sent.matched_gap.column if sent.matched_gap else None,
        resamples=RESAMPLES,
        seed=SEED,
    )
    provenance = report.provenance
    source = replace(provenance.predictions, file=sent.provenance.predictions.file)
    origin = replace(
        sent.provenance,
        predictions=source,
        training=provenance.training,
        prediction=provenance.prediction,
        seed=provenance.seed,
        resamples=provenance.resamples,
    )
    return replace(report, provenance=origin)


def _list_origins(sent: Report, found: Report) -> Iterator[tuple[str, Any, Any]]:
    """What report and predictions must say alike: what it is, as sent, as found."""
    for what in ("name", "config", "version", "primary_metric"):
        yield f"benchmark {what}".replace("_", " "), getattr(sent.benchmark, what), getattr(found.benchmark, what)
    for what in ("id", "revision", "objective", "seeds"):
        yield f"model {what}", getattr(sent.model, what), getattr(found.model, what)
    for what in ("rows", "fingerprint", "sha256"):
        was, now = (getattr(report.provenance.predictions, what) for report in (sent, found))
        yield f"{what} of the data" if what != "sha256" else what, was, now


def _compare_numbers(sent: Report, found: Report) -> Recomputation:
    drawn = (sent.provenance.resamples, sent.provenance.seed)
    own = "" if drawn == (RESAMPLES, SEED) else f"those that were sent are of {drawn[0]:,} resamples, seed {drawn[1]}"
    ends = ("/low", "/high") if own else ()
    here, there = (
        {place: was for place, was in _list_numbers(sent) if not place.endswith(ends)},
        dict(_list_numbers(found)),
    )
    wrong: list[str] = []
    largest = 0.0
    for place, was in here.items():
        now = there.get(place, math.nan)
        off = 0.0 if math.isnan(was) and math.isnan(now) and place in there else abs(was - now)
        if off <= ROUNDING * max(1.0, abs(now)):
            largest = max(largest, off)
        else:
            finding = "it cannot be computed" if math.isnan(now) else f"its predictions give {now:.6g}"
            wrong.append(f"{place} was sent as {was:.6g}, {finding}")
    if not wrong:
        return Recomputation(report=found, difference=largest, numbers=len(here), own_intervals=own)
    more = f" (and {len(wrong) - 1:,} more of {len(here):,} numbers)" if len(wrong) > 1 else ""
    return Recomputation(report=found, reason=wrong[0] + more, numbers=len(here), own_intervals=own)


def _list_numbers(report: Report) -> Iterator[tuple[str, float]]:
    """Every number that was measured, by where it stands; null is nan."""
    parts: Mapping[str, Any] = {
        "gap": report.gap,
        "slices": {part.name: part for part in report.slices},
        "matched_gap": report.matched_gap,
        "worst_group": report.worst_group,
        "groups": {f"{row.split}/{row.group}/{row.role}": row for row in report.group_rows},
        "errors": report.errors,
        "calibration": report.calibration,
        "mistakes": {f"{mistake.split}/{mistake.example_id}": mistake for mistake in report.mistakes},
    }
    yield from _flatten_json(to_json(parts), "")


def _flatten_json(value: Any, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flatten_json(item, f"{place}/{key}" if place else key)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _flatten_json(item, f"{place}/{number}")
    elif isinstance(value, int | float):
        yield place, float(value)
    elif value is None and place.endswith(("/value", "/low", "/high")):
        yield place, math.nan


def _strip_folders(words: str, predictions: Sequence[Path]) -> str:
    """The words without the folders of this machine, on one line."""
    for path in predictions:
        words = words.replace(f"{path.parent}/", "")
    return " ".join(words.split())
