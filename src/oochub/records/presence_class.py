"""What a task of two classes asks for: whether a thing is there."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from oochub.records.build_record import BuildFacts

ABSENCE = re.compile(r"(no|not|non|without)[ _-]+(?P<thing>.+)", re.IGNORECASE)
"""The name of a class that says that a thing is absent."""


class PresenceClass(NamedTuple):
    """The name of the thing, and the number of the class of rows that have it."""

    name: str
    present: int


def presence_class(names: Sequence[str], facts: BuildFacts) -> PresenceClass | None:
    """The thing whose presence two classes are; None where they are something else.

    Args:
        names: Of the classes; one says "no" and the name of the other, such as "no_car".
        facts: Of the build, which may name the thing where the classes do not; class 1 is then that it is there.

    >>> presence_class(["no_car", "car"], BuildFacts())
    PresenceClass(name='car', present=1)
    >>> presence_class(["absent", "present"], BuildFacts(object="car"))
    PresenceClass(name='car', present=1)
    >>> presence_class(["landbird", "waterbird"], BuildFacts()) is None
    True
    """
    if len(names) != 2:
        return None
    for absent, present in ((0, 1), (1, 0)):
        no = ABSENCE.fullmatch(names[absent].strip())
        if no and _plain(no["thing"]) == _plain(names[present]):
            return PresenceClass(names[present], present)
    return None if facts.object is None else PresenceClass(facts.object, 1)


def _plain(name: str) -> str:
    return re.sub(r"[ _-]+", " ", name).strip().casefold()
