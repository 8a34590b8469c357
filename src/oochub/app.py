"""The commands of the catalog as one typer application: one command a step, each a file of a folder `commands`."""

import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache, wraps
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from oochub import catalog
from oochub.commands._options import is_more, out_console, shows_all, with_options
from oochub.errors import OochubError, word_for_shell
from oochub.storage.ownership import allow_overwriting

PANELS = {
    "Start": ("demo", "example", "list", "show"),
    "Audit a model": ("audit", "contexts", "compare", "check"),
    "Predict and score": ("predict", "evaluate", "report", "saliency"),
    "Train": ("train", "sweep"),
    "Data": ("build", "challenge", "push", "leaderboard", "cache"),
    "Other packages": (),
}
"""The panels of `oochub --help` in order, and the order of the commands that each begins with.

A command says its panel itself, `PANEL` in its file; one that has no place in this order stands last in its panel.
"""
_PAPERS = "Papers"
_OLD_NAMES = {
    "check_contexts": "contexts FOLDER --check",
    "cleanliness": "spawrious cleanliness",
    "compose": "spawrious compose",
    "construct": "waterbirds construct",
    "detect": "imagenet_ood detect",
    "gallery": "report PREDICTIONS --plot gallery=FILE.png",
    "generate": "spawrious generate",
    "nooch gallery": "report PREDICTIONS --plot gallery=FILE.png",
    "prompt_check": "spawrious prompt_check",
    "review": "imagenet_ood review",
    "submission": "wilds submission",
    "suite": "nooch suite",
    "verify": "nooch verify",
    "wilds_tables": "wilds tables",
}

_Made = typer.core.TyperCommand | typer.core.TyperGroup
_MODEL_FILE, _PLUGIN = "--model-file", "--plugin"
_WHAT_TO_NAME = (
    "Missing argument. Use `oochub {0} MODEL SOURCE`, or `oochub {0} SOURCE --model-file FILE.py:NAME` for a model "
    "created by your own Python file, but not both. See `oochub {0} --help`."
)


class _CommandFiles(Mapping[str, _Made]):
    """The commands of `oochub` or of a paper by their own names; the file of one is imported when it is asked for."""

    def __init__(self, group: str = "") -> None:
        self._before = f"{group} " if group else ""
        inside = [name for name in catalog.names("command") if name.startswith(self._before)]
        self._names = dict.fromkeys(name.removeprefix(self._before).partition(" ")[0] for name in inside)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, own: str) -> _Made:
        self._names[own]  # a name that is none is a KeyError
        return _make_command(self._before + own)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names if self._before else sorted(self._names, key=self._place))

    def _place(self, own: str) -> tuple[int, int]:
        """The place of a command in its panel, the panels in their order; groups come last."""
        panel = str(self[own].rich_help_panel)
        first = PANELS.get(panel, ())
        return [*PANELS, _PAPERS].index(panel), first.index(own) if own in first else len(first)


class _Commands(typer.core.TyperGroup):
    """The commands, or those of a paper; none takes an empty text, which an unset variable of the shell leaves behind.

    A name that has moved is answered with the new one, an unknown one with near names, also those inside groups.
    """

    def __init__(self, **about: Any) -> None:
        super().__init__(**about)
        group = "" if self.name == app.info.name else str(self.name)
        self.commands = _CommandFiles(group)  # type: ignore[assignment]  # nobody adds one

    def parse_args(self, context: Any, words: list[str]) -> list[str]:
        for before, word in zip(["oochub", *words], words, strict=False):
            if not word or (word.startswith("--") and word.endswith("=")):
                place = f"after {before}" if not word else f"in {word}"
                raise OochubError(f"Empty value {place}. Pass a value or remove the option. Is a shell variable unset?")
        parsed: list[str] = super().parse_args(context, words if context.parent else _put_plugins_first(words))
        return parsed

    def get_params(self, context: Any) -> list[Any]:
        """The options; `--show-completion` is for those who know it, and `--help` fits on a screen."""
        parameters: list[Any] = super().get_params(context)
        for parameter in parameters:
            parameter.hidden = parameter.hidden or "--show-completion" in parameter.opts
        return parameters

    def resolve_command(self, context: Any, words: list[str]) -> Any:
        typed = words[0]
        if typed in self.commands or typed.startswith("-") or context.resilient_parsing:
            return super().resolve_command(context, words)
        group = context.info_name if context.parent else ""  # not its path: that begins with how Python was started
        old = f"{group} {typed}".strip()
        if old in _OLD_NAMES:
            raise OochubError(f"`oochub {old}` is now `oochub {_OLD_NAMES[old]}`.")
        near = _near_commands(typed, group)
        written = " or ".join(f"`oochub {name}`" for name in near)
        question = f" Did you mean {written}?" if near else ""
        more = f"oochub {group} --help" if group else "oochub --help"
        raise OochubError(
            f"No such command: `oochub {f'{group} {typed}'.strip()}`.{question} Run `{more}` to list all commands."
        )


def _put_plugins_first(words: list[str]) -> list[str]:
    """The words with each --plugin before the command, where it is read, wherever it was typed.

    >>> _put_plugins_first(["train", "--plugin", "a.py", "data", "--", "--plugin"])
    ['--plugin', 'a.py', 'train', 'data', '--', '--plugin']
    """
    first, rest, queue = list[str](), list[str](), deque(words)
    while queue and queue[0] != "--":
        word = queue.popleft()
        is_plugin = word.partition("=")[0] == _PLUGIN
        (first if is_plugin else rest).append(word)
        if is_plugin and "=" not in word and queue:
            first.append(queue.popleft())
    return [*first, *rest, *queue]


def _near_commands(typed: str, group: str) -> list[str]:
    """The full names of at most three commands whose own name is near, those of the group first."""
    own = {name: name.rpartition(" ")[2] for name in catalog.names("command")}
    own |= {group: group for group in dict.fromkeys(name.partition(" ")[0] for name in own if " " in name)}
    close = get_close_matches(typed, set(own.values()), n=3, cutoff=0.6)
    close += [old for old in get_close_matches(typed, _OLD_NAMES, n=1, cutoff=0.8) if old not in close]
    near = [name for word in close for name, last in own.items() if last == word]
    near += [_OLD_NAMES[word] for word in close if word in _OLD_NAMES and word not in own.values()]
    return sorted(near, key=lambda name: not group or name.partition(" ")[0] != group)[:3]


class _Command(typer.core.TyperCommand):
    """A command whose `--help` shows what most people need; `--help-all` shows every option.

    With `--model-file` the argument MODEL is left out.
    """

    def parse_args(self, context: Any, words: list[str]) -> list[str]:
        options = words[: words.index("--")] if "--" in words else words
        takes_file = any(_MODEL_FILE in parameter.opts for parameter in self.params)
        has_file = takes_file and any(word.partition("=")[0] == _MODEL_FILE for word in options)
        try:
            with word_for_shell():  # paths of options are checked here
                parsed: list[str] = super().parse_args(context, ["", *words] if has_file else words)
        except Exception as error:  # those of typer have other places in other versions
            allow_overwriting(False)
            kind, missing = type(error).__name__, getattr(error, "param", None)
            is_short = kind == "MissingParameter" and getattr(missing, "param_type_name", "") == "argument"
            if takes_file and (is_short or (has_file and "unexpected extra argument" in str(error))):
                raise OochubError(_WHAT_TO_NAME.format(self.name)) from error
            if hasattr(error, "message"):
                error.message = str(error.message).removeprefix("Value error, ")  # how pydantic begins
            raise
        return parsed

    def format_help(self, context: Any, formatter: Any) -> None:
        more: list[Any] = [] if shows_all(context) else [parameter for parameter in self.params if _is_more(parameter)]
        for parameter in more:
            parameter.hidden = True
        epilog, self.epilog = self.epilog, "More options: --help-all" if more else self.epilog
        try:
            super().format_help(context, formatter)
        finally:
            self.epilog = epilog
            for parameter in more:
                parameter.hidden = False


def _is_more(parameter: Any) -> bool:
    """Whether `--help-all` alone shows it."""
    return is_more(getattr(parameter, "rich_help_panel", None)) and not parameter.hidden


app = typer.Typer(
    name="oochub",
    cls=_Commands,
    help="Measure whether vision models rely on context: build benchmarks, train, predict, evaluate and report.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    epilog="Get started:  oochub example toy  |  oochub demo  |  oochub list  |  oochub show models",
)


def _print_version(version_only: bool) -> None:
    if version_only:
        out_console.print(f"oochub {version('oochub')}")
        raise typer.Exit


@app.callback()
def _set_up_process(
    version_only: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(_PLUGIN, help="A Python file with a part of your own. Can be repeated.", hidden=True),
    ] = None,
) -> None:
    for file in plugin or ():
        if file.is_file():
            typer.echo(f"Running your own code: {file}", err=True)
        catalog.use(file)
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # its hints are for programmers
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")  # read when `datasets` is imported


@cache
def command_line() -> typer.core.TyperGroup:
    """All commands as the group that reads the words, made once in a process."""
    return cast("typer.core.TyperGroup", typer.main.get_command(app))


def every_command() -> dict[str, _Made]:
    """The command line's commands by their full names, in the order of `oochub --help`: "audit", "nooch verify"."""
    commands: dict[str, _Made] = {}
    for name, command in _CommandFiles().items():
        inner = getattr(command, "commands", None)
        commands |= {name: command} if inner is None else {f"{name} {own}": part for own, part in inner.items()}
    return commands


@cache
def _make_command(name: str) -> _Made:
    """The command of that full name, whose file is imported, or the group of a paper's commands."""
    group, _, own = name.rpartition(" ")
    if name not in catalog.names("command"):
        papers = typer.Typer(name=name, cls=_Commands, no_args_is_help=True, help=catalog.group_summary(name))
        made = typer.main.get_group(papers)
        made.rich_help_panel = _PAPERS
        return made
    module, alone = import_module(catalog.module_name("command", name)), typer.Typer(add_completion=False)
    panel = None if group else getattr(module, "PANEL", "Other packages")
    command = _refuse_infinite(with_options(catalog.get("command", name), name))
    alone.command(name=own, cls=_Command, rich_help_panel=panel)(command)
    return cast("_Made", typer.main.get_command(alone))


def _refuse_infinite(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which gets finite numbers alone; ranges stand with each option."""

    @wraps(command)
    def run(**given: Any) -> None:
        for name, value in given.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise OochubError(f"--{name.replace('_', '-')} must be a finite number, got {value}.")
        try:
            with word_for_shell():
                command(**given)
        finally:
            allow_overwriting(False)

    return run
