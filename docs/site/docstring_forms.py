"""How mkdocstrings reads our docstrings: examples as code, and the arguments of a class that only has a `__new__`."""

import re
from copy import copy
from typing import Any

from griffe import Class, Extension, Object

_EXAMPLE = re.compile(r"^([ \t]*)>>> .*(?:\n(?!\s*$).*)*", flags=re.M)
_DIRECTIVE = re.compile(r"[ \t]*# doctest: .*$", flags=re.M)


class DocstringForms(Extension):
    """Puts each example into a fence: in Markdown a bare `>>>` would be three quotations, one in the other."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called by griffe for each object that it has read."""
        if obj.docstring and ">>>" in obj.docstring.value:
            obj.docstring.value = _fenced(obj.docstring.value)

    def on_class(self, *, cls: Class, **_: Any) -> None:
        """Called by griffe for each class: without an `__init__`, it is called with what its `__new__` takes."""
        if "__new__" in cls.members and "__init__" not in cls.members:
            init = copy(cls.members["__new__"])
            init.name = "__init__"
            init.docstring = None
            cls.members["__init__"] = init


def _fenced(text: str) -> str:
    """The text with a fence around each block that begins with `>>>` and ends before an empty line.

    The directives of doctest are left out.
    """

    def fence(example: re.Match[str]) -> str:
        return f"{example[1]}```pycon\n{_DIRECTIVE.sub('', example[0])}\n{example[1]}```"

    return _EXAMPLE.sub(fence, text)
