"""What a detector draws in images without an object, in and out of context."""

from dataclasses import dataclass
from typing import Annotated

from oochub.records.report_records import SHOWN
from oochub.records.schema import Count, Share, ShareEstimate
from oochub.stats.estimate import Estimate


@dataclass(frozen=True, kw_only=True)
class FalseAlarmRow:
    """The false alarms at one threshold.

    Attributes:
        threshold: Score above which a box counts.
        inside: Share of the images without an object, in context, in which a box is drawn.
        outside: The same out of context.
        difference: Out of context minus in context.
    """

    threshold: Share
    inside: ShareEstimate
    outside: ShareEstimate
    difference: Estimate


@dataclass(frozen=True, kw_only=True)
class EmptyImageNumbers:
    """False alarms at each threshold.

    Attributes:
        rows: A row for each threshold, from the lowest up.
        n_in: Images without an object in context.
        n_out: Images without an object out of context.
        are_contexts: Whether those out of context are the usual contexts of the object, without it.
    """

    rows: Annotated[tuple[FalseAlarmRow, ...], SHOWN]
    n_in: Count
    n_out: Count
    are_contexts: bool
