"""How much an approximate search found of what there was."""

from typing import NamedTuple


class SearchRecall(NamedTuple):
    """Of the nearest rows of some queries, the share that an index found.

    Attributes:
        share: In [0, 1].
        queries: How many queries were searched in both ways.
    """

    share: float
    queries: int
