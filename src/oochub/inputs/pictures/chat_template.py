"""Bounds a chat template, which is a program that comes with a model: its length, its steps, and what one step makes.

The sandbox of Jinja keeps it from files and from code, but not from loops that never end, nor from powers of a number
with a billion digits.
"""

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from threading import RLock
from types import FrameType
from typing import TYPE_CHECKING

from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from oochub.errors import OochubError

if TYPE_CHECKING:
    from _typeshed import TraceFunction

_LARGEST = 2**20  # characters, of a template or of what it makes, and numbers; published ones have 30,000 at most
_STEPS = 1_000_000  # lines of its code that are run; published ones take some hundreds
_BITS = 20  # of a whole number up to _LARGEST
_COUNTED = ("<template>", "jinja2/filters.py", "jinja2/runtime.py", "jinja2/utils.py")  # utils: lipsum
_MULTIPLYING = ("replace", "join", "do_replace", "sync_do_join", "do_join", "indent", "do_indent", "translate")
_Filter = Callable[..., object]
_compiling = RLock()  # the environment of transformers is exchanged for a while


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
    """A block in which a template takes a million steps at most, in this thread, and makes no huge numbers or texts.

    What transformers compiles in it computes with whole numbers up to a million, and with texts and lists of as many
    parts: a power or a repetition that takes hours or fills the memory is one step of Python.

    Raises:
        TimeoutError: It takes more steps.
        OverflowError: It makes larger numbers or texts.

    >>> from jinja2.sandbox import ImmutableSandboxedEnvironment
    >>> loops = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"
    >>> with bounded_template():
    ...     ImmutableSandboxedEnvironment().from_string(loops).render()
    Traceback (most recent call last):
    TimeoutError: it takes more than 1,000,000 steps
    """
    count = 0

    def step(frame: FrameType, event: str, arg: object) -> "TraceFunction | None":
        nonlocal count
        count += 1
        if count > _STEPS:
            raise TimeoutError(f"it takes more than {_STEPS:,} steps")
        if event == "return":  # of a macro, a block or a concatenation too
            check_size(arg)
        return step

    def enter(frame: FrameType, event: str, arg: object) -> "TraceFunction | None":
        return step if frame.f_code.co_filename.endswith(_COUNTED) else None

    from transformers.utils import chat_template_utils

    usual, plain = sys.gettrace(), chat_template_utils.ImmutableSandboxedEnvironment
    with _compiling:
        chat_template_utils.ImmutableSandboxedEnvironment = _BoundedEnvironment
        sys.settrace(enter)
        try:
            yield
        finally:
            sys.settrace(usual)
            chat_template_utils.ImmutableSandboxedEnvironment = plain


def check_size(value: object) -> None:
    """Refuses a whole number above a million, or a text or list of more parts.

    Raises:
        OverflowError: It is one.
    """
    size = abs(value) if isinstance(value, int) else len(value) if isinstance(value, str | bytes | list | tuple) else 0
    if size > _LARGEST:
        raise OverflowError(f"it makes a number, text or list above {_LARGEST:,}")


class _BoundedFilters(dict[str, _Filter]):
    """Filters that take numbers and texts that are not too large, those that are added later too."""

    def __setitem__(self, name: str, function: _Filter) -> None:
        @wraps(function)  # what Jinja passes to it is an attribute
        def bounded(*args: object, **named: object) -> object:
            _check_arguments(function, args, named)
            return function(*args, **named)

        super().__setitem__(name, bounded)


class _BoundedEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox of Jinja in which what one step may make is bounded."""

    intercepted_binops = frozenset(("**", "*", "%", "+"))

    def __init__(self, *args: object, **settings: object) -> None:
        super().__init__(*args, **settings)
        plain, self.filters = self.filters, _BoundedFilters()
        for name, function in plain.items():
            self.filters[name] = function

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        """Applies an operator to what is not too large, if that cannot make anything that is."""
        _check_operator(operator, left, right)
        made = super().call_binop(context, operator, left, right)
        check_size(made)
        return made

    def call(self, context: Context, function: object, /, *args: object, **named: object) -> object:
        """Calls a function with numbers and texts that are not too large."""
        _check_arguments(function, args, named)
        return super().call(context, function, *args, **named)

    def wrap_str_format(self, value: object) -> Callable[..., str] | None:
        """The safe form of a method `format`, of a text whose widths are not too large."""
        _check_widths(str(getattr(value, "__self__", "")), ())
        return super().wrap_str_format(value)


def _check_operator(operator: str, left: object, right: object) -> None:
    for value in (left, right):
        check_size(value)
    if operator == "**" and isinstance(left, int) and isinstance(right, int) and abs(left) > 1:
        check_size(right * abs(left).bit_length() * (_LARGEST // _BITS))
    if operator == "*":
        sizes = [
            len(each) if isinstance(each, str | bytes | list | tuple) else each if isinstance(each, int) else 0
            for each in (left, right)
        ]
        check_size(sizes[0] * sizes[1])
    if operator == "%" and isinstance(left, str):
        _check_widths(left, right)


def _check_arguments(function: object, args: tuple[object, ...], named: Mapping[str, object]) -> None:
    values = [getattr(function, "__self__", None), *args, *named.values()]
    for value in values:
        check_size(value)
        if isinstance(value, str):
            _check_widths(value, args)
    texts = [len(each) for each in values if isinstance(each, str | bytes | list | tuple | range)]
    if getattr(function, "__name__", "") in _MULTIPLYING and texts:
        check_size(math.prod(max(each, 1) for each in texts))


def _check_widths(form: str, values: object) -> None:
    """Refuses a format of texts with a width above a million; one with `*` takes it from its values."""
    for number in re.findall(r"\d{7,}", form) if "%" in form or "{" in form else ():
        check_size(int(number[:20]))
    for value in values if isinstance(values, tuple) else ():
        check_size(value)
