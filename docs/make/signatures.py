"""`make options`: the signatures of public functions for type checkers and editors, made of the records of settings.

A function declares its records with `oochub.settings.with_options`, and `inspect` sees their options as keywords. What
reads source alone cannot: for it this file writes the same signatures, with their docstrings, into a stub, in which
`with_options` says by the name of a function which one is its. A test compares.
"""

import inspect
import re
import sys
import textwrap
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import oochub
from oochub import catalog
from oochub.settings.keywords import list_records
from oochub.trainers.objective import Objective

STUB = Path(oochub.__file__).parent / "settings" / "__init__.pyi"
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    name: function
    for name in sorted(oochub.__all__)
    if inspect.isfunction(function := getattr(oochub, name)) and list_records(function)
}
"""The public functions whose keywords are options."""


class _Overload(NamedTuple):
    """What a function gives for some of its arguments.

    Attributes:
        first: Its parameters before the keywords.
        keywords: The keywords that it then takes.
        result: What it returns.
    """

    first: tuple[str, ...]
    keywords: tuple[str, ...]
    result: str


_OVERLOADS: Mapping[str, tuple[_Overload, ...]] = {
    "compare": (
        _Overload(
            ("first: Predictions", "second: Predictions", "/", "*"),
            ("metric", "task", "resamples", "seed"),
            "PairedReport",
        ),
        _Overload(
            ("first: Report", "/", "*others: Report"), ("metric", "slice", "reported", "table", "rows"), "Comparison"
        ),
    ),
}
"""Signatures that a type checker knows of a function beside the one that it has."""

_LATE: Mapping[tuple[str, str], object] = {("train", "objective"): str | Objective}
"""Types that a function cannot name, since it is imported without torch."""

_HEAD = '"""The signatures of the public functions; `make options` writes them from the records of this folder."""\n'
_TAIL = """
class _Choice: ...

def only(*names: str, **called: str) -> _Choice: ...
def listing(*names: str) -> _Choice: ...
def without(*names: str) -> _Choice: ...
"""


class Stub:
    """The text of the stub as it is written, and what it imports."""

    def __init__(self) -> None:
        self._imports: dict[str, set[str]] = defaultdict(set)
        self._imports["collections.abc"] |= {"Callable", "Iterable"}
        self._imports["typing"] |= {"Any", "Protocol", "TypedDict", "Unpack", "overload"}

    def write(self) -> str:
        """The text."""
        options = [self._write_mode_options(), *(self._write_rest(name) for name in FUNCTIONS)]
        protocols = [self._write_protocol(name) for name in FUNCTIONS]
        decorators = [_write_decorator(name) for name in FUNCTIONS]
        return "\n".join([_HEAD, *self._write_imports(), "", *filter(None, options), *protocols, *decorators]) + _TAIL

    def _write_imports(self) -> Iterator[str]:
        own = [name for name in self._imports if name.partition(".")[0] == "oochub"]
        standard = [name for name in self._imports if name.partition(".")[0] in sys.stdlib_module_names]
        others = self._imports.keys() - {*own, *standard}
        for modules in filter(None, (standard, others, own)):
            if modules is not standard:
                yield ""
            for name in sorted(modules, key=lambda name: (bool(self._imports[name]), name)):
                names = sorted(self._imports[name], key=lambda each: (each.islower(), each))
                yield f"from {name} import {', '.join(names)}" if names else f"import {name}"

    def _write_mode_options(self) -> str:
        """The options of the hub's own modes; those of a mode of somebody else go through as `**dict[str, Any]`."""
        options: dict[str, set[str]] = defaultdict(set)
        for mode in catalog.names("mode"):
            if catalog.module_name("mode", mode).startswith("oochub."):
                for parameter in inspect.signature(catalog.get("mode", mode), eval_str=True).parameters.values():
                    if parameter.kind is parameter.KEYWORD_ONLY:
                        options[parameter.name] |= {self._spell(kind) for kind in _list_union(parameter.annotation)}
        entries = {
            name: " | ".join(sorted(kinds, key=lambda kind: (kind == "None", kind))) for name, kinds in options.items()
        }
        return _write_dictionary("_ModeOptions", "TypedDict", entries)

    def _write_rest(self, name: str) -> str:
        """The options that a function takes and does not list; "" without any."""
        parameters = inspect.signature(oochub.predict).parameters
        taken = list_records(FUNCTIONS[name]).values()
        rest = [option for each in taken for option in each.names if option not in each.listed]
        entries = {option: self._spell(parameters[option].annotation) for option in rest}
        return _write_dictionary(_name_rest(name), "_ModeOptions", entries) if rest else ""

    def _write_protocol(self, name: str) -> str:
        signature = inspect.signature(FUNCTIONS[name])
        keywords, first = {}, ["self"]
        rest = ""
        for parameter in signature.parameters.values():
            annotation = _LATE.get((name, parameter.name), parameter.annotation)
            typed = f"{parameter.name}: {self._spell(annotation)}"
            typed += "" if parameter.default is parameter.empty else f" = {_spell_default(parameter.default)}"
            if parameter.kind is parameter.KEYWORD_ONLY:
                keywords[parameter.name] = typed
            elif parameter.kind is parameter.VAR_KEYWORD:
                rest = f"**{self._name_rest_type(name, parameter)}"
            elif parameter.kind is parameter.VAR_POSITIONAL:
                first.append(f"*{typed}")
            else:
                first += [typed, "/"] if parameter.kind is parameter.POSITIONAL_ONLY else [typed]
        if not any(each.startswith("*") for each in first):
            first.append("*")
        overloads = [
            _write_call(["self", *each.first, *(keywords[keyword] for keyword in each.keywords)], each.result, "")
            for each in _OVERLOADS.get(name, ())
        ]
        text = inspect.getdoc(FUNCTIONS[name]) or ""
        result = self._spell(signature.return_annotation)
        calls = [*overloads, _write_call(filter(None, [*first, *keywords.values(), rest]), result, text)]
        mark = "    @overload\n" if overloads else ""
        return f"class {_name_protocol(name)}(Protocol):\n" + "".join(mark + call for call in calls)

    def _name_rest_type(self, name: str, parameter: inspect.Parameter) -> str:
        if any(record.names != record.listed for record in list_records(FUNCTIONS[name]).values()):
            return f"{parameter.name}: Unpack[{_name_rest(name)}]"
        return f"{parameter.name}: Unpack[_ModeOptions]" if name == "predict" else f"{parameter.name}: Any"

    def _spell(self, annotation: Any) -> str:
        """An annotation as source; what it names is imported."""
        if annotation is Ellipsis:
            return "..."
        kinds = _list_union(annotation)
        if len(kinds) > 1:
            return " | ".join(map(self._spell, kinds))
        if annotation in (None, type(None)):
            return "None"
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Literal:
            self._imports["typing"].add("Literal")
            return f"Literal[{', '.join(map(_spell_default, arguments))}]"
        if origin is not None:
            return f"{self._spell(origin)}[{', '.join(map(self._spell, arguments))}]"
        module, name = annotation.__module__, annotation.__name__
        module = re.sub(r"\._\w+", "", module)  # pathlib._local, of newer Pythons
        if module == "builtins":
            return str(name)
        if name.islower():
            self._imports.setdefault(module, set())
            return f"{module}.{name}"
        self._imports[module].add(name)
        return str(name)


def _list_union(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _spell_default(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _name_protocol(function: str) -> str:
    return f"_{function.capitalize()}"


def _name_rest(function: str) -> str:
    return f"{_name_protocol(function)}Options"


def _write_dictionary(name: str, base: str, entries: Mapping[str, str]) -> str:
    return f"class {name}({base}, total=False):\n" + "".join(f"    {key}: {kind}\n" for key, kind in entries.items())


def _write_call(parameters: Iterable[str], result: str, text: str) -> str:
    lines = "".join(f"        {parameter},\n" for parameter in parameters)
    if not text:
        return f"    def __call__(\n{lines}    ) -> {result}: ...\n"
    quotes = 'r"""' if "\\" in text else '"""'
    body = textwrap.indent(f'{quotes}{text}\n"""', " " * 8, lambda line: bool(line.strip()))
    return f"    def __call__(\n{lines}    ) -> {result}:\n{body}\n"


def _write_decorator(function: str) -> str:
    return (
        "@overload\n"
        f'def with_options(name: Literal["{function}"], *, others: Callable[[], Iterable[str]] | None = None, '
        f"**types: Any) -> Callable[[Callable[..., Any]], {_name_protocol(function)}]: ..."
    )


if __name__ == "__main__":
    STUB.write_text(Stub().write(), "utf-8")
