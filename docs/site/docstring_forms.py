"""How mkdocstrings reads our docstrings: examples as code, and what only a stub or a `__new__` says of arguments."""

import re
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

from griffe import Class, Docstring, Extension, Function, Module, Object, ParameterKind, visit

_EXAMPLE = re.compile(r"^([ \t]*)>>> .*(?:\n(?!\s*$).*)*", flags=re.M)
_DIRECTIVE = re.compile(r"[ \t]*# doctest: .*$", flags=re.M)


class DocstringForms(Extension):
    """Puts each example into a fence: in Markdown a bare `>>>` would be three quotations, one in the other."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called by griffe for each object that it has read."""
        if isinstance(obj, Function) and any(str(each.value).startswith("with_options(") for each in obj.decorators):
            _take_signature(obj)
        if obj.docstring and ">>>" in obj.docstring.value:
            obj.docstring.value = _fenced(obj.docstring.value)

    def on_class(self, *, cls: Class, **_: Any) -> None:
        """Called by griffe for each class: without an `__init__`, it is called with what its `__new__` takes."""
        if "__new__" in cls.members and "__init__" not in cls.members:
            init = copy(cls.members["__new__"])
            init.name = "__init__"
            init.docstring = None
            cls.members["__init__"] = init


def _take_signature(function: Function) -> None:
    """Gives a public function the keywords and the docstring that the stub has, where options stand for records."""
    stub = _read_stub(Path(str(function.package.filepath)).parent / "settings" / "__init__.pyi")
    protocol = stub[f"_{function.name.capitalize()}"]
    function.overloads = protocol.overloads.get("__call__")
    made = function.overloads[-1] if function.overloads else protocol["__call__"]
    function.parameters, function.docstring = made.parameters, Docstring(made.docstring.value, parent=function)
    for each in function.overloads or ():
        each.name = function.name


@cache
def _read_stub(file: Path) -> Module:
    """The stub, whose calls take no `self`, and under `**` what the docstring says."""
    stub = visit("oochub.settings", filepath=file, code=file.read_text("utf-8"))
    for protocol in stub.classes.values():
        for call in protocol.overloads.get("__call__") or [*protocol.functions.values()]:
            del call.parameters["self"]
            for each in call.parameters:
                each.annotation = "Any" if each.kind is ParameterKind.var_keyword else each.annotation
    return stub


def _fenced(text: str) -> str:
    """The text with a fence around each block that begins with `>>>` and ends before an empty line.

    The directives of doctest are left out.
    """

    def fence(example: re.Match[str]) -> str:
        return f"{example[1]}```pycon\n{_DIRECTIVE.sub('', example[0])}\n{example[1]}```"

    return _EXAMPLE.sub(fence, text)
