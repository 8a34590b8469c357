"""Detectors on the groups of sets that a benchmark declares, near and far, with and without shifted known classes.

OpenOOD's rule: each set of a group stands against all rows in distribution, and the number of the group is the mean
over its sets, each counted alike. In the full spectrum the rows of shifted sets, whose classes are known, are pooled
with those in distribution. The sets of a group share rows; the interval of their mean allows for that.

Source: OpenOOD v1.5 (Zhang et al. 2023), `openood/evaluation_api/evaluator.py`, `eval_ood(fsood=True)`.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.detection.detector_scores import ScoredSet
from oochub.errors import OochubError
from oochub.process.follow import follow
from oochub.records.finding_records import GroupOfSetsRow, NearAndFarNumbers
from oochub.records.sides import Reading, Spectrum
from oochub.stats.estimate import Estimate
from oochub.stats.estimation import estimate

_AUROC = "auroc_new_class"
_METRICS: dict[str, tuple[str, dict[str, str]]] = {
    _AUROC: (_AUROC, {}),
    "fpr_at_tpr_ood": ("fpr_at_tpr", {"positive": "ood"}),
    "aupr_in": ("average_precision", {"positive": "id", "form": "trapezoid"}),
    "aupr_out": ("average_precision", {"positive": "ood", "form": "trapezoid"}),
}
"""The four of OpenOOD, each by its definition there."""


def average_sets(estimates: Sequence[Estimate], *, n: int) -> Estimate:
    """The mean of a number over sets, each set counted alike, with the mean of their intervals.

    The standard deviation of a mean is at most the mean of the standard deviations, whatever rows the sets share. So
    the interval from the mean of the lower ends to the mean of the upper ends covers as each of them does, or more:
    the full width is that of sets that move together, as they do where the rows in common are the few ones.

    Args:
        estimates: The number of each set, with its interval.
        n: Number of rows of all sets together, rows in common counted once.

    Returns:
        The mean; without interval if a set has none, and nan if one is undefined, with the reason.

    Raises:
        OochubError: There is no set.

    >>> sets = [Estimate(0.8, low=0.7, high=0.85, n=30, method="delong"), Estimate(0.6, low=0.5, high=0.65, n=30,
    ...         method="delong")]
    >>> average_sets(sets, n=50)
    0.700 [0.600, 0.750] n=50
    """
    if not estimates:
        raise OochubError("A mean over sets needs at least one set, got none.")
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


class _Pool(NamedTuple):
    """The rows in distribution of one reading: the sets, and the image of each row (n,) where rows share some."""

    reading: Reading
    sets: list[ScoredSet]
    images: NDArray[np.str_] | None

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(int((~part.is_ood).sum()) for part in self.sets)


def measure_near_and_far(
    sets: Sequence[ScoredSet], spectrum: Spectrum, *, resamples: int = 1000, seed: int = 0
) -> NearAndFarNumbers | None:
    """Every detector on every declared group that has a set, in each reading that has rows in distribution.

    Args:
        sets: Sets that `score_sets` gives, of one benchmark. Those without a place in the spectrum are passed over.
        spectrum: What the benchmark declares.
        resamples: Bootstrap replicates of the intervals that are bootstraps.
        seed: Random seed for the bootstrap.

    Returns:
        The numbers; None if the known set or every group is missing.

    >>> spectrum = Spectrum(known="photo", new={"near": ("wolf",)}, source="someone")
    >>> measure_near_and_far([], spectrum) is None
    True
    """
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
                    rows.append(_measure_group(key, name, pool, parts, resamples=resamples, seed=seed))
                    bar.update()
    declared = {"shifted": spectrum.shifted, **spectrum.new}
    absent = {of: tuple(config for config in configs if config not in named) for of, configs in declared.items()}
    return NearAndFarNumbers(
        rows=tuple(rows),
        not_given={of: configs for of, configs in absent.items() if configs},
        published=spectrum.published,
        source=spectrum.source,
    )


def _make_pools(named: dict[str, ScoredSet], spectrum: Spectrum) -> Iterator[_Pool]:
    """The rows in distribution of the standard reading, then of the full spectrum if a shifted set is given."""
    known = named[spectrum.known]
    yield _Pool("standard", [known], _find_images([known], spectrum))
    shifted = [named[config] for config in spectrum.shifted if config in named and not named[config].is_ood.all()]
    if shifted:
        yield _Pool("full_spectrum", [known, *shifted], _find_images([known, *shifted], spectrum))


def _find_images(sets: list[ScoredSet], spectrum: Spectrum) -> NDArray[np.str_] | None:
    """The image that each row in distribution is made of (n,); None if none is there twice."""
    if spectrum.image_of is None:
        return None
    images = np.array(
        [spectrum.image_of(str(each)) for part in sets for each in part.predictions.column("example_id")[~part.is_ood]]
    )
    return images if len(np.unique(images)) < len(images) else None


def _measure_group(key: str, group: str, pool: _Pool, parts: list[ScoredSet], **sampling: int) -> GroupOfSetsRow:
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
            metric: average_sets([of[metric] for of in of_sets.values()], n=pool.n + n_ood) for metric in _METRICS
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
