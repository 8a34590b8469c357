"""How the Hub names the size of a data set."""

from collections.abc import Iterable

_NAMES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "n>1B")


def size_category(rows: int, *, others: Iterable[str] | None = None) -> str:
    """The name for so many rows, or the largest of the names of other configurations.

    >>> size_category(999), size_category(1000), size_category(49_000), size_category(10**9)
    ('n<1K', '1K<n<10K', '10K<n<100K', 'n>1B')
    >>> size_category(999, others=["10K<n<100K", "something else"])
    '10K<n<100K'
    """
    own = min(max(len(str(rows)) - 3, 0), len(_NAMES) - 1)
    return _NAMES[max([own, *(_NAMES.index(name) for name in others or () if name in _NAMES)])]
