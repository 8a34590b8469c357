"""A number with its interval, its sample size and how both were found.

Clusters of several sizes count as so many of one size that tell as much.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from numbers import Integral
from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.stats import RESAMPLES
from oochub.stats.array_checks import Array, check_group, number_groups

_FEWEST, _MOST, _LARGEST_SEED = 100, 1_000_000, 2**63 - 1
SOME_CLUSTERS = 40
"""Clusters of equal size; below, intervals cover 0.87 to 0.92 where clusters are of one piece, and 0.95 else."""


def effective_clusters(cluster: Array, weight: Array | None = None) -> float:
    """The number of clusters of one size that tell as much of a mean as these: (sum of sizes)^2 / sum of sizes^2.

    A mean over clusters is mostly that of the largest ones, so few large clusters and many small ones tell little more
    than the large ones alone (Kish 1965, Survey Sampling, Section 11.7; Carter, Schnepel and Steigerwald 2017, Review
    of Economics and Statistics 99:698, for clusters that are all of one piece).

    Args:
        cluster: Cluster of each row (n,), numbered from 0 on; numbers without a row count for nothing.
        weight: What each row counts (n,), 0 or more; None if all count the same.

    Returns:
        In [1, number of clusters]; nan without rows, or if all weights are 0.

    >>> effective_clusters(np.array([0, 0, 1, 1, 2, 2]))
    3.0
    >>> round(effective_clusters(np.array([0, 0, 0, 0, 1, 2])), 6)  # 36 / 18
    2.0
    """
    sizes = np.bincount(cluster, weight).astype(np.float64)
    squares = float((sizes**2).sum())
    return float(sizes.sum()) ** 2 / squares if squares else float("nan")


class Estimate(float):
    """A float that carries its interval, its sample size, and where both come from.

    Args:
        value: The estimate itself; the object equals it and compares like it.
        low: Lower end of the interval, nan if there is none.
        high: Upper end of the interval, nan if there is none.
        n: How many rows it is made of.
        method: How the interval was found.
        reason: Why the value or the interval is nan, or what limits them; None if nothing does.

    >>> auc = Estimate(0.811, low=0.804, high=0.818, n=536, method="delong")
    >>> auc, auc < 0.9
    (0.811 [0.804, 0.818] n=536, True)
    """

    low: float
    high: float
    n: int
    method: str
    reason: str | None

    def __new__(
        cls,
        value: float,
        *,
        low: float = math.nan,
        high: float = math.nan,
        n: int,
        method: str,
        reason: str | None = None,
    ) -> "Estimate":
        """The float first: its value is fixed before the attributes are."""
        estimate = super().__new__(cls, value)
        vars(estimate).update(low=float(low), high=float(high), n=int(n), method=method, reason=reason)
        return estimate

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, Any]]:
        return (self.value,), dict(vars(self))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"An Estimate does not change, got {name} = {value!r}. Make a new one.")

    @property
    def value(self) -> float:
        """The plain float."""
        return float(self)

    def to_dict(self) -> dict[str, Any]:
        """The fields for JSON; nan becomes None.

        >>> Estimate(0.5, n=0, method="none").to_dict()["low"] is None
        True
        """
        fields = {"value": self.value, **vars(self)}
        return {name: None if field != field else field for name, field in fields.items()}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Estimate":
        """The inverse of `to_dict`.

        >>> Estimate.from_dict({"value": 0.5, "low": None, "high": 1, "n": 3, "method": "", "reason": None})
        0.500 n=3
        """
        value, low, high = (math.nan if fields[name] is None else fields[name] for name in ("value", "low", "high"))
        rest = {name: fields[name] for name in ("n", "method", "reason")}
        return cls(value, low=low, high=high, **rest)

    def __repr__(self) -> str:
        interval = "" if math.isnan(self.low) or math.isnan(self.high) else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.value:.3f}{interval} n={self.n}"

    def _repr_html_(self) -> str:
        """For a notebook: value, interval and n, then how they were found, or what limits them."""
        why = self.method if self.reason is None else self.reason
        return f'<code>{self!r}</code> <span style="opacity:.7">{escape(why)}</span>'


def _is_whole(number: Any, least: int, most: int) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool) and least <= int(number) <= most


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How an interval is to be found.

    Attributes:
        cluster: What the rows (n,) share, in any hashable names; None if rows are independent.
        resamples: Bootstrap replicates.
        seed: Seed of the resampling; the same seed and rows give the same interval.
        confidence: Level of the interval, in (0, 1).

    Raises:
        OochubError: A level outside (0, 1), resamples that are not 100 to 1,000,000, a seed that is no whole number.
    """

    cluster: Array | None = None
    resamples: int = RESAMPLES
    seed: int = 0
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise OochubError(f"confidence must lie between 0 and 1, got {self.confidence}. Usual is 0.95.")
        if not _is_whole(self.resamples, _FEWEST, _MOST):
            raise OochubError(
                f"resamples must be {_FEWEST} or more, a whole number up to {_MOST:,}, got {self.resamples!r}. "
                "Usual is 1000."
            )
        if not _is_whole(self.seed, 0, _LARGEST_SEED):
            raise OochubError(f"seed must be a whole number, 0 or larger, got {self.seed!r}. Usual is 0.")
        if self.cluster is not None:
            codes = check_group(self.cluster, name="cluster").codes
            object.__setattr__(self, "cluster", number_groups(codes))

    def of_rows(self, rows: Array) -> "Sampling":
        """How some of the rows, a mask or their numbers, are drawn: their clusters alone count, and none of no row.

        >>> Sampling(cluster=np.array(["a", "b", "c"])).of_rows(np.array([0, 2])).cluster
        array([0, 1])
        """
        own = None if self.cluster is None else self.cluster[rows]
        return replace(self, cluster=own) if own is not None and len(own) else replace(self, cluster=None)

    def of_groups(self, group: Array) -> "Sampling":
        """How whole groups of rows are drawn: by cluster where each group lies in one, else each by itself.

        Args:
            group: The group of each row (n,), numbered from 0 on without a gap.

        >>> Sampling(cluster=np.array(["a", "a", "b"])).of_groups(np.array([0, 1, 2])).cluster
        array([0, 0, 1])
        """
        if self.cluster is None:
            return self
        pairs = np.unique(np.stack([group, self.cluster]), axis=1)
        return replace(self, cluster=pairs[1] if pairs.shape[1] == group.max() + 1 else None)

    @property
    def tail(self) -> float:
        """What lies outside the interval on either side."""
        return (1 - self.confidence) / 2

    @property
    def clusters(self) -> int | None:
        """How many clusters there are; None where rows are independent."""
        return None if self.cluster is None else int(self.cluster.max()) + 1

    @property
    def effective_clusters(self) -> float | None:
        """How many clusters of equal size tell as much, see `effective_clusters`; None where rows are independent.

        >>> Sampling(cluster=np.array([0, 0, 0, 0, 1, 2])).effective_clusters
        2.0
        """
        return None if self.cluster is None else effective_clusters(self.cluster)

    @property
    def unit(self) -> str:
        """What is resampled, in words."""
        return "rows" if self.clusters is None else f"{self.clusters} clusters"

    @property
    def warning(self) -> str | None:
        """What the number of clusters does to an interval; None if nothing.

        >>> Sampling(cluster=np.array([0, 0, 0, 0, 1, 2])).warning
        '3 clusters count as 2 of equal size: the interval may be too narrow'
        """
        if self.cluster is None:
            return None
        clusters, effective = self.clusters, math.floor(effective_clusters(self.cluster) + 0.5)
        if clusters == 1:
            return "one cluster only: nothing is known about differences between clusters"
        if effective >= SOME_CLUSTERS:
            return None
        few = (
            f"only {clusters} clusters"
            if effective == clusters
            else f"{clusters} clusters count as {effective} of equal size"
        )
        return f"{few}: the interval may be too narrow"
