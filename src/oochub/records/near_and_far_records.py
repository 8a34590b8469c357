"""What detectors find in groups of sets: near and far, with and without shifted images of known classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from oochub.records.report_records import SHOWN
from oochub.records.schema import Count, ShareEstimate
from oochub.records.spectrum import Reading


@dataclass(frozen=True, kw_only=True)
class GroupOfSetsRow:
    """One detector on one group of sets in one reading.

    Attributes:
        detector: Its key: its name and the hyperparameters that differ from their defaults.
        group: The group of the sets with new classes: "near" or "far".
        reading: "standard" has the known set alone in distribution, "full_spectrum" the shifted ones too.
        known: The sets in distribution, pooled.
        new: The sets of the group, each set against all of `known`.
        n_id: Rows in distribution.
        n_ood: Rows out of distribution, of all sets of the group.
        metrics: Mean over the sets of the group: auroc_new_class, fpr_at_tpr_ood, aupr_in and aupr_out.
        of_sets: AUROC of each set of the group.
    """

    detector: str
    group: str
    reading: Reading
    known: tuple[str, ...]
    new: tuple[str, ...]
    n_id: Count
    n_ood: Count
    metrics: Mapping[str, ShareEstimate]
    of_sets: Mapping[str, ShareEstimate]


@dataclass(frozen=True, kw_only=True)
class NearAndFarNumbers:
    """Every detector on every group of sets that a benchmark declares.

    Attributes:
        rows: A row for each detector, group and reading, groups and readings together.
        not_given: The declared sets that there are no predictions for, by "shifted" or their group.
        published: The shifted sets that the published full spectrum has.
        source: What published it.
    """

    rows: Annotated[tuple[GroupOfSetsRow, ...], SHOWN]
    not_given: Mapping[str, tuple[str, ...]]
    published: tuple[str, ...]
    source: str
