"""What one model contributes to a test against another on the same rows, and the test of two such contributions.

Each is made from the rows of one model alone, so that many models can be compared without being open at once.
"""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from oochub.stats.array_checks import Array
from oochub.stats.bootstrap import drop_no_width, note_few_rows, replicate_freedom, replicate_interval
from oochub.stats.delong import paired_delong
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.estimation import difference
from oochub.stats.p_values import interval_p_value, is_flipped, sign_flips
from oochub.stats.proportion import paired_shares

FROM_INTERVAL = "by its interval"
Kind = Literal["shares", "means", "auc", "t", "percentiles", "intervals"]
"""McNemar, random signs or Student's t of rows, DeLong, the two ways to read a bootstrap, intervals alone."""


class TestedDifference(NamedTuple):
    """The second model minus the first, whether it is 0 (two-sided), and by what test."""

    difference: Estimate
    p_value: float
    test: str


@dataclass(frozen=True, kw_only=True)
class PairedValues:
    """What one model contributes.

    Attributes:
        kind: How two of these are tested.
        values: Whether each row is right (n,), for "shares"; the value of each row or group, for "means"; the score of
            each row, for "auc"; the number of each resample (r,), nan where it is undefined, for "t" and
            "percentiles"; empty for "intervals".
        number: The model's own number: its value, for "t" and "percentiles"; with its interval, for "intervals".
        n: Rows or groups that the number is of.
        label: 0 or 1 (n,), for "auc".
        sampling: Clusters of the rows or groups, seed and level.
        unit: What n counts, in words.
    """

    kind: Kind
    values: Array
    number: Estimate
    n: int
    label: Array | None = None
    sampling: Sampling = field(default_factory=Sampling)
    unit: str = "rows"


def compare_values(first: PairedValues, second: PairedValues) -> TestedDifference:
    """The number of the second model minus that of the first, tested.

    Args:
        first: What the first model contributes.
        second: What the second one contributes, of the same rows in the same order.

    >>> right = [np.array([0, 0, 0, 0, 0, 0, 1], bool), np.array([1, 1, 1, 1, 1, 1, 1], bool)]
    >>> models = [PairedValues(kind="shares", values=each, number=Estimate(each.mean(), n=7, method=""), n=7)
    ...           for each in right]
    >>> compare_values(*models)
    TestedDifference(difference=0.857 [0.231, 1.000] n=7, p_value=0.03125, test='exact McNemar')
    """
    return _TESTS[first.kind](first, second)


def name_test(values: PairedValues) -> str:
    """What the test is called.

    >>> name_test(PairedValues(kind="means", values=np.ones(50), number=Estimate(1.0, n=50, method=""), n=50))
    'sign flips'
    """
    if values.kind == "auc":
        return "paired DeLong" if values.sampling.cluster is None else "paired Obuchowski"
    if values.kind == "means":
        units = values.sampling.clusters
        return "sign flips" if is_flipped(len(values.values) if units is None else units) else "Student's t"
    return "exact McNemar" if values.kind == "shares" else FROM_INTERVAL


def _compare_shares(first: PairedValues, second: PairedValues) -> TestedDifference:
    return TestedDifference(*paired_shares(second.values, first.values), name_test(first))


def _compare_means(first: PairedValues, second: PairedValues) -> TestedDifference:
    mean, p_value, test = sign_flips(second.values - first.values, first.sampling)
    if mean.n != first.n:  # groups of rows
        mean = Estimate.from_dict({**mean.to_dict(), "n": first.n})
    return TestedDifference(mean, p_value, test)


def _compare_aucs(first: PairedValues, second: PairedValues) -> TestedDifference:
    cluster = first.sampling.cluster
    change, p_value = paired_delong(first.label, second.values, first.values, cluster=cluster)
    return TestedDifference(change, p_value, name_test(first))


def _compare_resamples(first: PairedValues, second: PairedValues) -> TestedDifference:
    """By Student's t: differences of two models are as often too large as too small. Few groups: percentiles."""
    by_t, sampling = first.kind == "t", first.sampling
    value, drawn = second.number.value - first.number.value, second.values - first.values
    change = replicate_interval(drawn, value, first.n, sampling, by_t=by_t)
    change = drop_no_width(change if sampling.cluster is not None else note_few_rows(change, first.unit))
    degrees = replicate_freedom(first.n, sampling, by_t=by_t)
    return TestedDifference(change, interval_p_value(change, degrees=degrees), FROM_INTERVAL)


def _compare_intervals(first: PairedValues, second: PairedValues) -> TestedDifference:
    """The two may be of other rows, such as two groups, so nothing is paired."""
    change = drop_no_width(difference(second.number, first.number))
    return TestedDifference(change, interval_p_value(change), FROM_INTERVAL)


_TESTS: dict[Kind, Callable[[PairedValues, PairedValues], TestedDifference]] = {
    "shares": _compare_shares,
    "means": _compare_means,
    "auc": _compare_aucs,
    "t": _compare_resamples,
    "percentiles": _compare_resamples,
    "intervals": _compare_intervals,
}


def pack_values(values: PairedValues | None) -> bytes:
    """What a model contributes, as bytes that `unpack_values` reads; b"" for None.

    >>> packed = pack_values(PairedValues(kind="means", values=np.ones(3), number=Estimate(1.0, n=3, method=""), n=3))
    >>> unpack_values(packed).values
    array([1., 1., 1.])
    """
    if values is None:
        return b""
    facts = {"kind": values.kind, "n": values.n, "unit": values.unit, "number": values.number.to_dict()}
    facts |= {name: getattr(values.sampling, name) for name in ("resamples", "seed", "confidence")}
    nothing, content = np.empty(0), io.BytesIO()
    label, cluster = (nothing if array is None else array for array in (values.label, values.sampling.cluster))
    np.savez(content, said=np.array(json.dumps(facts)), values=values.values, label=label, cluster=cluster)
    return content.getvalue()


def unpack_values(packed: bytes) -> PairedValues | None:
    """What `pack_values` made bytes of; nothing is unpickled."""
    if not packed:
        return None
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        facts = json.loads(str(arrays["said"]))
        cluster, label = (arrays[name] if len(arrays[name]) else None for name in ("cluster", "label"))
        sampling = Sampling(cluster=cluster, **{name: facts[name] for name in ("resamples", "seed", "confidence")})
        return PairedValues(
            kind=facts["kind"], values=arrays["values"], number=Estimate.from_dict(facts["number"]), n=facts["n"],
            label=label, sampling=sampling, unit=facts["unit"],
        )  # fmt: skip
