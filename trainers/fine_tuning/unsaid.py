"""A line of a library's log that says nothing to a user is left out."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unsaid(words: str, *, log: str) -> Iterator[None]:
    """Leaves out the lines with some words, while the block runs; other lines are said.

    Args:
        words: Which a line holds.
        log: The name of the logger.

    >>> with unsaid("shared tensor", log="accelerate"):
    ...     logging.getLogger("accelerate").warning("Removed shared tensor")
    """

    def is_other(record: logging.LogRecord) -> bool:
        return words not in record.getMessage()

    logger = logging.getLogger(log)
    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)
