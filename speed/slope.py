"""What `scale.py` measures: a call at two sizes, by the modules of work that it reads."""

from collections.abc import Callable
from typing import NamedTuple


class Slope(NamedTuple):
    """What is measured at two sizes.

    Attributes:
        name: Name of the slope.
        what: What is measured, in words.
        unit: What the sizes count.
        sizes: The small and the large.
        ready: Takes a size, gives the call.
        size_of: Bytes on the disk after the call; None where nothing is written.
        rounds: Number of interleaved rounds.
    """

    name: str
    what: str
    unit: str
    sizes: tuple[int, int]
    ready: Callable[[int], Callable[[], object]]
    size_of: Callable[[], int] | None = None
    rounds: int = 2
