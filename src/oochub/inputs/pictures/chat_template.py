"""Bounds a chat template, which is a program that comes with a model: its length, and the steps that it takes.

The sandbox of Jinja keeps it from files and from code, but not from loops that never end.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from oochub.errors import OochubError

_LARGEST = 2**20  # characters; published ones have 30,000 at most
_STEPS = 1_000_000  # lines of its code that are run; published ones take some hundreds


def check_template_length(template: object) -> None:
    """Checks that a template is not made to be read for minutes.

    Args:
        template: Its text; several by name, and none, are let through.

    Raises:
        OochubError: It has more than a million characters.
    """
    if isinstance(template, str) and len(template) > _LARGEST:
        raise OochubError(
            f"The chat template of the model has {len(template):,} characters; at most {_LARGEST:,} are read. Use the "
            "template that the model was published with (chat_template.jinja)."
        )


@contextmanager
def bounded_template() -> Iterator[None]:
    """A block in which a template of Jinja takes a million steps at most, in this thread.

    Raises:
        TimeoutError: It takes more.

    >>> from jinja2.sandbox import ImmutableSandboxedEnvironment
    >>> loops = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"
    >>> with bounded_template():
    ...     ImmutableSandboxedEnvironment().from_string(loops).render()
    Traceback (most recent call last):
    TimeoutError: it takes more than 1,000,000 steps
    """
    count = 0

    def step(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        count += 1
        if count > _STEPS:
            raise TimeoutError(f"it takes more than {_STEPS:,} steps")
        return step

    def enter(frame: FrameType, event: str, arg: object) -> Any:
        return step if frame.f_code.co_filename == "<template>" else None

    usual = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(usual)
