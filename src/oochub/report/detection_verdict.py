"""The verdict on a report of detectors alone, of predictions without a row out of context: what they tell apart."""

from typing import TYPE_CHECKING

from oochub.records.finding_records import DetectionRow
from oochub.records.report_records import Fact, Verdict
from oochub.report import numbers, wording
from oochub.report.detector_words import (
    NEW_CLASS,
    PairRows,
    counts_words,
    detection_pairs,
    failure_words,
    goal_estimate,
    new_class_words,
)
from oochub.report.footnotes import interval_words
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.report.report import Report

_GUESSING = 0.5


def detection_verdict(report: "Report") -> Verdict:
    """Puts the numbers of detectors into a verdict; nothing is said of context, of which there is nothing to say.

    The headline names the detector with the highest AUROC for new classes, and says so where it is not shown to be
    above guessing; with several pairs of sets the range of the best of each.

    Args:
        report: With `detection`.
    """
    pairs = detection_pairs(report)
    first = pairs[0]
    seeds = numbers.seeds(report.model.seeds, wording.name(report.benchmark.words.example))
    said = failure_words(first.rows).partition(": ")[2]
    where = f" ({first.title(' against ')})" if len(pairs) > 1 else ""
    return Verdict(
        case="detection",
        headline=_headline(pairs),
        rest="",
        lead=f"{first.title(' against ')}: {counts_words(first.rows)}",
        how_much=_how_much(first),
        on_what=Fact("Failures", said or "They were not compared with msp.", where if said else ""),
        how_sure=Fact(
            "How sure", "Differences of detectors are tested on the same rows.", f" {wording.sentence_case(seeds)}."
        ),
    )


def _headline(pairs: list[PairRows[DetectionRow]]) -> str:
    best = [estimate for pair in pairs if not numbers.is_undefined(estimate := _best(pair))]
    if not best:
        return "Whether new classes are found could not be measured."
    if not any(estimate.low > _GUESSING for estimate in best):
        return "No detector is shown to find new classes better than guessing."
    if len(pairs) == 1:
        return new_class_words(pairs[0].rows)
    low, high = (numbers.fraction(end) for end in (min(best), max(best)))
    return (
        f"New classes are found with AUROC {low} to {high}, by the best detector of each of {len(pairs)} pairs of sets."
    )


def _best(pair: PairRows[DetectionRow]) -> Estimate:
    """The highest AUROC for new classes: `detection_pairs` puts it first."""
    return goal_estimate(pair.rows[0], NEW_CLASS)


def _how_much(pair: PairRows[DetectionRow]) -> Fact:
    row, best = pair.rows[0], _best(pair)
    if numbers.is_undefined(best):
        return Fact("How much", numbers.UNDEFINED, f": {wording.clean(best.reason or 'unknown')}.")
    sets = f"{numbers.count(row.n_id)} examples against {numbers.count(row.n_ood)} of {wording.name(row.ood_set, 60)}"
    return Fact(
        "How much",
        f"AUROC {numbers.fraction(best)}",
        f" by {wording.name(row.detector, 60)} ({interval_words(best)}), {sets}; 50 is guessing.",
    )
