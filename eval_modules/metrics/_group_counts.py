"""What metrics of the groups' accuracies share: rows and correct rows of each group, batch by batch."""

from collections.abc import Hashable, Mapping
from typing import Any

from oochub.errors import OochubError
from oochub.eval_modules.metrics.worst_group.worst_group import _check_inputs, _count_by_group


class GroupCounts:
    """Per group: rows and correct rows.

    Attributes:
        counts: Group to (rows, correct rows); a group without rows is not there.
    """

    def __init__(self) -> None:
        self.counts: dict[Hashable, tuple[int, int]] = {}

    def update(self, *, label: Any, prediction: Any, group: Any) -> None:
        """Takes in the rows of arrays.

        Raises:
            OochubError: The same as for `worst_group`.
        """
        label, prediction, groups = _check_inputs(label, prediction, group)
        wrong, right = (counts.tolist() for counts in _count_by_group(label, prediction, groups))
        self._take({name: (r + w, r) for name, w, r in zip(groups.names, wrong, right, strict=True) if r + w})

    def merge(self, other: "GroupCounts") -> None:
        """Takes in the rows of `other`."""
        self._take(other.counts)

    def accuracies(self) -> dict[Hashable, float]:
        """The accuracy of each group.

        Raises:
            OochubError: No rows.
        """
        if not self.counts:
            raise OochubError("No rows yet, so the metric is undefined. Call update first.")
        return {name: right / n for name, (n, right) in self.counts.items()}

    def _take(self, counts: Mapping[Hashable, tuple[int, int]]) -> None:
        for name, (n, right) in counts.items():
            before = self.counts.get(name, (0, 0))
            self.counts[name] = (before[0] + n, before[1] + right)
