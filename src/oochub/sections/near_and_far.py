"""Detectors on groups of sets that a benchmark declares, near and far, with and without shifted known classes.

OpenOOD's rule: each set of a group stands against all rows in distribution, and the number of the group is the mean
over its sets, each counted alike. In the full spectrum the rows of shifted sets, whose classes are known, are pooled
with those in distribution. The sets of a group share rows; the interval of their mean allows for that.

Source: OpenOOD v1.5 (Zhang et al. 2023), `openood/evaluation_api/evaluator.py`, `eval_ood(fsood=True)`.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.process.follow import follow
from oochub.records.finding_records import GroupOfSetsRow, NearAndFarNumbers
from oochub.records.sides import Reading, Spectrum
from oochub.records.table import Table
from oochub.report import format_numbers, wording
from oochub.report.footnotes import Footnotes
from oochub.section import NamedNumber, Passage, Section
from oochub.stats.estimate import Estimate
from oochub.stats.estimation import estimate

if TYPE_CHECKING:
    from oochub.detection.detector_scores import ScoredSet
    from oochub.evaluation.evaluation import Evaluation
    from oochub.report.report_record import ReportRecord

_COLUMNS = {
    "auroc_new_class": "AUROC ↑",
    "fpr_at_tpr_ood": "FPR@95 ↓",
    "aupr_in": "AUPR in ↑",
    "aupr_out": "AUPR out ↑",
}
_READINGS = {"standard": "standard", "full_spectrum": "full spectrum"}
_AUROC = "auroc_new_class"
_METRICS: dict[str, tuple[str, dict[str, str]]] = {
    _AUROC: (_AUROC, {}),
    "fpr_at_tpr_ood": ("fpr_at_tpr", {"positive": "ood"}),
    "aupr_in": ("average_precision", {"positive": "id", "form": "trapezoid"}),
    "aupr_out": ("average_precision", {"positive": "ood", "form": "trapezoid"}),
}
"""The four of OpenOOD, each by its definition there."""


class NearAndFar(Section["ReportRecord"]):
    """Shows `report.findings["near_and_far"]`.

    The highest AUROC of a table is named, as a number and no more: detectors are compared by tests on each pair of
    sets, not on groups. How the full spectrum moves it is said without a test, too.
    """

    title, anchor, place = "Near and far", "near-and-far", 85
    record = NearAndFarNumbers

    def measure(self, evaluation: "Evaluation") -> NearAndFarNumbers | None:
        """Every detector on every declared group that has a set, in each reading that has rows in distribution.

        None without detectors, for a benchmark that declares no groups (`Benchmark.spectrum`), and where the known set
        or every group is missing. Sets without a place in the spectrum are passed over.
        """
        benchmark, spectrum = evaluation.predictions.metadata.benchmark, evaluation.rows.benchmark.spectrum
        own = [part for part in evaluation.scored_sets if part.predictions.metadata.benchmark == benchmark]
        return _measure_groups(own, spectrum, **evaluation.rows.sampling) if spectrum and own else None

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """A passage for each group and reading; below the last what the columns are and which sets are missing."""
        numbers = self.found(report)
        parts = _group(numbers.rows) if numbers else []
        for number, rows in enumerate(parts, 1):
            below = tuple(_write_legend(numbers)) if number == len(parts) else ()
            sentences = (_write_best(rows, parts), _write_counts(rows))
            yield Passage(title=_write_title(rows[0]), sentences=sentences, table=_build_table(rows), below=below)

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """Every number of each group, then the AUROC of each of its sets."""
        numbers = self.found(report)
        for row in numbers.rows if numbers else ():
            of = f"{row.detector}/{row.reading}/{row.group}"
            named = row.metrics | {f"{name}/{_AUROC}": auroc for name, auroc in row.of_sets.items()}
            for metric, number in named.items():
                yield NamedNumber(
                    f"{row.group} {_READINGS[row.reading]}", f"{row.detector}/{metric}", number, f"{of}/{metric}"
                )


class _Pool(NamedTuple):
    """The rows in distribution of one reading: the sets, and the image of each row (n,) where rows share some."""

    reading: Reading
    sets: list["ScoredSet"]
    images: NDArray[np.str_] | None

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(int((~part.is_ood).sum()) for part in self.sets)


def _measure_groups(sets: Sequence["ScoredSet"], spectrum: Spectrum, **sampling: int) -> NearAndFarNumbers | None:
    """The numbers of the sets of one benchmark; None if the known set or every group is missing."""
    named = {part.name: part for part in sets}
    groups = {
        name: [named[config] for config in configs if config in named and named[config].is_ood.any()]
        for name, configs in spectrum.new.items()
    }
    groups = {name: parts for name, parts in groups.items() if parts}
    if spectrum.known not in named or named[spectrum.known].is_ood.all() or not groups:
        return None
    pools = list(_make_pools(named, spectrum))
    keys = list(sets[0].detectors)
    rows = []
    with follow(total=len(pools) * len(groups) * len(keys), desc="Near and far", unit="group", disable=None) as bar:
        for name, parts in groups.items():
            for pool in pools:
                for key in keys:
                    rows.append(_measure_group(key, name, pool, parts, **sampling))
                    bar.update()
    declared = {"shifted": spectrum.shifted, **spectrum.new}
    absent = {of: tuple(config for config in configs if config not in named) for of, configs in declared.items()}
    return NearAndFarNumbers(
        rows=tuple(rows),
        not_given={of: configs for of, configs in absent.items() if configs},
        published=spectrum.published,
        source=spectrum.source,
    )


def _make_pools(named: dict[str, "ScoredSet"], spectrum: Spectrum) -> Iterator[_Pool]:
    """The rows in distribution of the standard reading, then of the full spectrum if a shifted set is given."""
    known_set = named[spectrum.known]
    yield _Pool("standard", [known_set], _find_images([known_set], spectrum))
    shifted = [named[config] for config in spectrum.shifted if config in named and not named[config].is_ood.all()]
    if shifted:
        yield _Pool("full_spectrum", [known_set, *shifted], _find_images([known_set, *shifted], spectrum))


def _find_images(sets: list["ScoredSet"], spectrum: Spectrum) -> NDArray[np.str_] | None:
    """The image that each row in distribution is made of (n,); None if none is there twice."""
    if spectrum.image_of is None:
        return None
    images = np.array(
        [
            spectrum.image_of(str(example_id))
            for part in sets
            for example_id in part.predictions.column("example_id")[~part.is_ood]
        ]
    )
    return images if len(np.unique(images)) < len(images) else None


def _measure_group(key: str, group: str, pool: _Pool, parts: list["ScoredSet"], **sampling: int) -> GroupOfSetsRow:
    """One detector on one group: each set against the pool, and the means."""
    inside = np.concatenate([part.scores[key][~part.is_ood] for part in pool.sets])
    of_sets = {part.name: _measure_set(inside, pool.images, part.scores[key][part.is_ood], sampling) for part in parts}
    n_ood = sum(int(part.is_ood.sum()) for part in parts)
    return GroupOfSetsRow(
        detector=key,
        group=group,
        reading=pool.reading,
        known=tuple(part.name for part in pool.sets),
        new=tuple(of_sets),
        n_id=pool.n,
        n_ood=n_ood,
        metrics={
            metric: _average_sets([of[metric] for of in of_sets.values()], n=pool.n + n_ood) for metric in _METRICS
        },
        of_sets={name: of[_AUROC] for name, of in of_sets.items()},
    )


def _measure_set(
    inside: NDArray[np.float64], images: NDArray[np.str_] | None, outside: NDArray[np.float64], sampling: dict[str, int]
) -> dict[str, Estimate]:
    """The four numbers of one set against the rows in distribution."""
    columns = {
        "score": np.concatenate([inside, outside]),
        "is_ood": np.repeat([False, True], [len(inside), len(outside)]),
    }
    cluster = None
    if images is not None:
        codes = np.unique(images, return_inverse=True)[1]
        cluster = np.concatenate([codes, len(images) + np.arange(len(outside))])  # each new row is an image of its own
    return {
        title: estimate(catalog.get("metric", name), columns, cluster=cluster, options=options, **sampling)
        for title, (name, options) in _METRICS.items()
    }


def _average_sets(estimates: Sequence[Estimate], *, n: int) -> Estimate:
    """The mean of a number over one or more sets, each set counted alike, with the mean of their intervals.

    The standard deviation of a mean is at most the mean of the standard deviations, whatever rows the sets share. So
    the interval from the mean of the lower ends to the mean of the upper ends covers as each of them does, or more:
    the full width is that of sets that move together, as they do where the rows in common are the few ones.

    Args:
        estimates: The number of each set, with its interval.
        n: Number of rows of all sets together, rows in common counted once.

    Returns:
        The mean; without interval if a set has none, and nan if one is undefined, with the reason.
    """
    if len(estimates) == 1:
        return estimates[0]
    value, low, high = (
        math.fsum(ends) / len(estimates) for ends in zip(*((e.value, e.low, e.high) for e in estimates), strict=True)
    )
    reasons = dict.fromkeys(reason for e in estimates if e.reason for reason in e.reason.split("; "))
    methods = " and ".join(dict.fromkeys(e.method for e in estimates))
    return Estimate(
        value,
        low=low,
        high=high,
        n=n,
        method=f"mean of the intervals of {len(estimates)} sets ({methods})",
        reason="; ".join(reasons) or None,
    )


def _group(rows: Iterable[GroupOfSetsRow]) -> list[list[GroupOfSetsRow]]:
    """The rows of each group and reading, the highest AUROC first, undefined ones last."""
    parts: dict[tuple[str, str], list[GroupOfSetsRow]] = {}
    for row in rows:
        parts.setdefault((row.group, row.reading), []).append(row)
    return [sorted(part, key=_order) for part in parts.values()]


def _order(row: GroupOfSetsRow) -> tuple[bool, float]:
    value = row.metrics[_AUROC]
    return (True, 0.0) if format_numbers.is_undefined(value) else (False, -value)


def _write_title(row: GroupOfSetsRow) -> str:
    return f"{wording.capitalize_sentence(wording.name(row.group, 30))}, {_READINGS[row.reading]}"


def _write_best(rows: Sequence[GroupOfSetsRow], parts: Sequence[Sequence[GroupOfSetsRow]]) -> str:
    """The highest AUROC of a table, and for the full spectrum that of the same detector without the shifted sets."""
    row = rows[0]
    auroc = row.metrics[_AUROC]
    if format_numbers.is_undefined(auroc):
        return f"No AUROC can be computed: {auroc.reason or 'no value'}."
    name = wording.name(row.detector, 60)
    first = f"{name} has AUROC {format_numbers.fraction(auroc)}"
    first += ", the highest here; differences were not tested" if len(rows) > 1 else ""
    without = next(
        (
            row_of_part.metrics[_AUROC]
            for part in parts
            for row_of_part in part
            if (row_of_part.detector, row_of_part.group, row_of_part.reading) == (row.detector, row.group, "standard")
        ),
        None,
    )
    if row.reading == "standard" or without is None or format_numbers.is_undefined(without):
        return f"{first}."
    shifted = _join(row.known[1:])
    return f"{first}. Without {shifted} it has {format_numbers.fraction(without)}."


def _write_counts(rows: Sequence[GroupOfSetsRow]) -> str:
    row = rows[0]
    alike = ", each set counted alike" if len(row.new) > 1 else ""
    return (
        f"{format_numbers.count(row.n_id)} examples in distribution ({_join(row.known)}); "
        f"{format_numbers.count(row.n_ood)} out of distribution ({_join(row.new)}){alike}."
    )


def _build_table(rows: Sequence[GroupOfSetsRow]) -> Table:
    below = Footnotes()
    cells = [(wording.name(row.detector, 60), *(below.cell(row.metrics.get(key)) for key in _COLUMNS)) for row in rows]
    return Table(heads=("Detector", *_COLUMNS.values()), rows=tuple(cells), footnotes=below.lines)


def _write_legend(found: NearAndFarNumbers) -> Iterable[str]:
    """What the columns are, how far the sets are the published ones, and which declared ones are missing."""
    yield (
        "AUROC, FPR and AUPR × 100, each the mean over the sets of the group. FPR@95 %: share of in-distribution "
        "examples rejected when 95% of out-of-distribution ones are. An interval is the mean of the sets' intervals, "
        "which is wide enough whatever the sets share."
    )
    pooled = next((row.known[1:] for row in found.rows if row.reading == "full_spectrum"), None)
    if pooled is not None and set(pooled) != set(found.published):
        yield f"The full spectrum of {found.source} has {_join(found.published)}; here it is another."
    if found.not_given:
        missing = "; ".join(
            f"{'shifted' if of == 'shifted' else wording.name(of, 30)}: {_join(names)}"
            for of, names in found.not_given.items()
        )
        yield f"No predictions were given for {missing}."


def _join(names: Sequence[str]) -> str:
    return wording.join_names([wording.name(name, 60) for name in names], "and")
