"""How far a zoom that changes no answer moves an image among the out-of-distribution ones, by each detector.

The figure shows one image: its score, before and after the zoom, "ranks higher than" a share of ImageNet-OOD's. Here
that share is taken of every image that is classified correctly and whose answer the zoom leaves as it is:

    rank(s) = share of the OOD set's scores below s, ties one half;   change = mean of rank(zoomed) - rank(as it is)

The OOD images are not zoomed. A detector of new classes alone would change by 0.

Source: ImageNet-OOD (Yang, Zhang and Russakovsky 2024), Figure 3 right with Section 4.1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.detection.detector_scores import BASELINE, ScoredSet, make_detector_key
from oochub.errors import OochubError, choose_wording
from oochub.prediction.present_classes import choose_answers
from oochub.process.follow import follow
from oochub.records.finding_records import ProbeRow
from oochub.stats import RESAMPLES
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.logits import count_as_label

_TAIL = 0.025  # outside the interval on either side


def probe_zoom(
    sets: Sequence[ScoredSet],
    pairs: Sequence[tuple[str, str]],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[ProbeRow, ...]:
    """The change of every detector's rank on every pair whose set in distribution was predicted with zoom=.

    Args:
        sets: Sets that `score_sets` gives.
        pairs: Pairs (in distribution, out of it) that `choose_pairs` gives. Those whose first set stores no zoomed
            images are left out.
        resamples: Bootstrap replicates, of the images of both sets or of their clusters; all detectors share them.
        seed: Random seed for the bootstrap.

    Returns:
        One row per detector and pair: how many images are classified correctly (`n_correct`), and of these, whose
        answer the zoom leaves (`n_kept`); estimates, in [0, 1] and [-1, 1], `before`, `after` and `change` of the mean
        rank, and `beyond_msp`, the change less that of "msp" (None for "msp" itself and without it).

    Raises:
        OochubError: As `find_zoomed_pairs`.
    """
    named, probed = {part.name: part for part in sets}, find_zoomed_pairs(sets, pairs)
    rows: list[ProbeRow] = []
    with follow(total=len(probed) * resamples, desc="Zoom probe", unit="resample", disable=None) as bar:
        for inside, outside in probed:
            rows += _probe_rows(named[inside], named[outside], resamples, seed, bar)
    return tuple(rows)


def find_zoomed_pairs(sets: Sequence[ScoredSet], pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs whose set in distribution stores zoomed images, with all that the detectors read of them.

    Args:
        sets: Sets that `score_sets` gives.
        pairs: Pairs (in distribution, out of it) that `choose_pairs` gives.

    Raises:
        OochubError: No set with zoomed images, or one that lacks what a detector reads of them.
    """
    named = {part.name: part for part in sets}
    probed = [pair for pair in pairs if "zoom_logits" in named[pair[0]].predictions.column_names]
    if not probed:
        raise OochubError(
            "The zoom probe needs the logits of zoomed images, which none of these in-distribution predictions have. "
            f"Predict with {choose_wording('zoom=1.2')}."
        )
    for name in dict.fromkeys(inside for inside, _ in probed):
        _check_stored(named[name])
    return probed


@dataclass(frozen=True)
class _Ranked:
    """The places of scores in a sorted set: `places` counts what lies below, and below or equal; a tie is one half."""

    order: NDArray[np.int64]
    places: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def of(cls, scores: NDArray[np.float64], among: NDArray[np.float64]) -> "_Ranked":
        order = np.argsort(among, kind="stable")
        ordered = among[order]
        return cls(order, (np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")))

    def mean(self, of: NDArray[np.int64], among: NDArray[np.int64]) -> float:
        """The mean rank where each score counts `of` times, and each of the set `among` times."""
        below = np.concatenate([[0], np.cumsum(among[self.order])])
        ranks = (below[self.places[0]] + below[self.places[1]]) / (2 * below[-1])
        return float(ranks @ of / of.sum())


def _probe_rows(inside: ScoredSet, outside: ScoredSet, resamples: int, seed: int, bar: Any) -> list[ProbeRow]:
    part = inside.predictions
    zoomed = choose_answers(part.vectors("zoom_logits"), inside.allowed)
    kept = inside.correct & (count_as_label(zoomed, part.label, part.also_right) == inside.answer)
    ranked = {
        key: (
            _Ranked.of(inside.scores[key][kept], outside.scores[key][outside.is_ood]),
            _Ranked.of(_score_zoomed(detector, inside)[kept], outside.scores[key][outside.is_ood]),
        )
        for key, detector in inside.detectors.items()
    }
    m, n = int(kept.sum()), int(outside.is_ood.sum())
    units = [_list_units(part, rows) for part, rows in ((inside, kept), (outside, outside.is_ood))]

    def means(of: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.float64]:
        both = np.array([[item.mean(of, among) for item in pair] for pair in ranked.values()])
        return np.column_stack([both, both[:, 1] - both[:, 0]])

    once = (np.ones(m, np.int64), np.ones(n, np.int64))
    values = means(*once) if m else np.full((len(ranked), 3), np.nan)
    generator, drawn = np.random.default_rng(seed), np.full((resamples, len(ranked), 3), np.nan)
    for k in range(resamples):
        if min(unit.size for unit in units) > 1:
            drawn[k] = means(*(unit.drawn(generator) for unit in units))
        bar.update()

    def estimate(of: Any) -> Estimate:
        return _estimate(of(values), of(drawn), units)

    rows, keys = [], list(ranked)
    for i, key in enumerate(keys):
        beyond = None
        if BASELINE in keys and key != BASELINE:
            j = keys.index(BASELINE)
            beyond = estimate(lambda a, i=i, j=j: a[..., i, 2] - a[..., j, 2])
        before, after, change = (estimate(lambda a, i=i, c=c: a[..., i, c]) for c in range(3))
        rows.append(
            ProbeRow(
                probe="zoom",
                factor=part.metadata.zoom.factor if part.metadata.zoom else None,
                detector=key,
                id_set=inside.name,
                ood_set=outside.name,
                n_correct=int(inside.correct.sum()),
                n_kept=m,
                n_ood=n,
                before=before,
                after=after,
                change=change,
                beyond_msp=beyond,
            )
        )
    return rows


class _Units(NamedTuple):
    """What is drawn of one set: its images, or the clusters that they are of (m,)."""

    of: NDArray[np.int64]
    size: int
    warning: str | None

    def drawn(self, generator: np.random.Generator) -> NDArray[np.int64]:
        """How often each image (m,) counts in one resample."""
        return np.bincount(generator.integers(self.size, size=self.size), minlength=self.size)[self.of]


def _list_units(part: ScoredSet, rows: NDArray[np.bool_]) -> _Units:
    if part.cluster is None or not rows.any():
        return _Units(np.arange(rows.sum()), int(rows.sum()), None)
    sampling = Sampling(cluster=part.cluster[rows])
    assert sampling.cluster is not None  # noqa: S101
    return _Units(sampling.cluster, int(sampling.clusters or 0), sampling.warning)


def _estimate(value: Any, drawn: NDArray[np.float64], units: Sequence[_Units]) -> Estimate:
    (m, n), counts = (len(unit.of) for unit in units), [unit.size for unit in units]
    what = "both sets" if counts == [m, n] else f"{counts[0]} and {counts[1]} clusters"
    method = f"percentile bootstrap of {what}, {len(drawn)} resamples"
    if min(counts) > 1:
        low, high = np.quantile(drawn, (_TAIL, 1 - _TAIL))
        warning = next((unit.warning for unit in units if unit.warning), None)
        return Estimate(float(value), low=low, high=high, n=m, method=method, reason=warning)
    things = "pictures" if counts == [m, n] else "clusters"
    few = f"{counts[0]} and {counts[1]} {things}: too few"
    reason = "no correctly classified image keeps its answer" if m == 0 else few
    return Estimate(float(value) if m else math.nan, n=m, method=method, reason=reason)


def _score_zoomed(detector: Any, inside: ScoredSet) -> NDArray[np.float64]:
    needed = {need: inside.predictions.vectors(f"zoom_{need}") for need in detector.score_needs}
    scores: NDArray[np.float64] = detector.score(**needed)
    return scores


def _check_stored(inside: ScoredSet) -> None:
    columns = inside.predictions.column_names
    for detector in inside.detectors.values():
        missing = [f"zoom_{need}" for need in detector.score_needs if f"zoom_{need}" not in columns]
        if missing:
            zoom, odin = choose_wording("zoom="), choose_wording("odin=")
            ways = {"zoom_features": choose_wording("features=True"), "zoom_odin_logits": odin}
            raise OochubError(
                f"The zoom probe of {make_detector_key(detector)} needs {', '.join(missing)}, which the predictions "
                f"for {inside.name} lack. Predict with {zoom} and {' and '.join(ways[item] for item in missing)} "
                "together."
            )
