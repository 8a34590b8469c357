"""Errors that the user can fix: what is wrong, what is allowed, what was given, what to do next."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec

_LISTED = 48  # names; of more the near ones are shown, and how many there are
_TYPED = 200  # characters of what was typed
_MODELS = ("torch", "transformers", "accelerate")
_KEYWORD = re.compile("""\\b([a-z_]+)=("[^"]*"|'[^']*'|[\\w.-]*)""")  # as Python has it, with or without a value


class OochubError(ValueError):
    """A mistake in the input that its author can fix; the command line prints it without a traceback.

    It is a ValueError, so code that guards calls of `datasets` or `evaluate` catches it as before.
    """


class OochubWarning(UserWarning):
    """What the user should know of a result that is right all the same; the command line says it on stderr."""


_speaker = {"shell": False}


@contextmanager
def word_for_shell() -> Iterator[None]:
    """Errors that are made in the block speak of commands and options, not of Python's functions and arguments."""
    before = _speaker["shell"]
    _speaker["shell"] = True
    try:
        yield
    finally:
        _speaker["shell"] = before


def first_line(error: BaseException) -> str:
    r"""What an error of another library says, without its other lines and the period, to stand within a message.

    >>> first_line(ValueError("no magic bytes. Is it a Parquet file?..\nIn column 2."))
    'no magic bytes. Is it a Parquet file?'
    >>> first_line(KeyError())
    'KeyError'
    """
    text = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return text.strip()[:_TYPED].rstrip(". ")


def choose_wording(python: str, shell: str | None = None) -> str:
    """The words of a message for who reads it: a caller from Python, or somebody at the command line.

    Args:
        python: The words for Python.
        shell: The words for the command line; None makes them of the others, an option of each keyword.

    >>> choose_wording("splits=", "--split")
    'splits='
    >>> with word_for_shell():
    ...     choose_wording("splits=", "--split"), choose_wording('hold_out="x" or cache=False')
    ('--split', '--hold-out x or --no-cache')
    """
    if not _speaker["shell"]:
        return python
    return _KEYWORD.sub(_write_flag, python) if shell is None else shell


def _write_flag(keyword: re.Match[str]) -> str:
    name, value = keyword[1].replace("_", "-"), keyword[2].strip("\"'")
    return f"--no-{name}" if value == "False" else f"--{name} {value}".removesuffix(" True").rstrip()


def unknown_name(kind: str, name: str, allowed: Iterable[str], hint: str = "") -> OochubError:
    """An error for a name that is not one of `allowed`, with the nearest names first.

    Args:
        kind: What the name stands for, in the user's words ("metric", "config of nooch").
        name: The name as typed.
        allowed: Every name that would have worked.
        hint: A last sentence on what to do next.

    >>> print(unknown_name("metric", "fpr59", ["fpr95", "auc"]))
    No metric named 'fpr59'. Did you mean 'fpr95'? Allowed: auc, fpr95.
    >>> print(unknown_name("config", "ce_9", [f"ce_{number}0" for number in range(99)]))
    No config named 'ce_9'. Did you mean 'ce_90' or 'ce_980' or 'ce_970'? There are 99.
    """
    choices = sorted(map(str, allowed))
    near = did_you_mean(str(name)[:_TYPED], choices)
    if len(choices) <= _LISTED:
        shown = f"Allowed: {', '.join(choices) or 'none'}."
    else:
        shown = f"There are {len(choices):,}." if near else f"There are {len(choices):,}: {', '.join(choices[:6])}, ..."
    typed = repr(name) if len(repr(name)) <= _TYPED else f"{repr(name)[:_TYPED]}..."
    tail = f" {hint}" if hint else ""
    return OochubError(f"No {kind} named {typed}.{near} {shown}{tail}")


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """The question whether one of the nearest names was meant; "" where none is near.

    Args:
        name: The name as typed.
        allowed: Every name that would have worked; those that differ in case and blanks alone come first.

    >>> did_you_mean(" europe", ["Europe", "Asia"])
    " Did you mean 'Europe'?"
    >>> did_you_mean("HARD-POSITIVE", ["easy", "hard_positive"])
    " Did you mean 'hard_positive'?"
    """
    choices = [*allowed]
    same = [choice for choice in choices if choice.casefold() == name.strip().casefold()]
    folded = {choice.casefold(): choice for choice in choices}
    near = same or get_close_matches(name, choices, n=3, cutoff=0.6)
    near = near or [folded[match] for match in get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)]
    near = near or [choice for choice in choices if _is_short_for(name, choice)][:3]
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def _is_short_for(name: str, choice: str) -> bool:
    """Whether a name is the initials of another, or words of it.

    >>> _is_short_for("lr", "learning_rate"), _is_short_for("batch_size", "per_device_train_batch_size")
    (True, True)
    """
    words = choice.split("_")
    initials = "".join(word[:1] for word in words)
    return len(name) > 1 and (name == initials or f"_{name}_" in f"_{choice}_")


def check_installed(package: str, extra: str, use: str, hint: str = "") -> None:
    """Checks that a package is installed that not everybody needs.

    Args:
        package: The name to import it by, such as "sentence_transformers".
        extra: The extra of ours that brings it.
        use: What needs it; the sentence begins with this.
        hint: A last sentence on another way.

    Raises:
        OochubError: It is not installed; the line to type is named.

    >>> check_installed("no_such_package", "plots", "Drawing plots")
    Traceback (most recent call last):
    ...
    oochub.errors.OochubError: Drawing plots needs no-such-package, which is not installed. Run: pip install \
'oochub[plots]'.
    """
    try:
        is_there = find_spec(package) is not None
    except ValueError:  # somebody has blocked its import
        is_there = False
    if not is_there:
        more = f" {hint}" if hint else ""
        name = package.replace("_", "-")
        raise OochubError(f"{use} needs {name}, which is not installed. Run: pip install 'oochub[{extra}]'.{more}")


def check_models_extra(use: str = "Running or training a model") -> None:
    """Checks that what every model needs is installed; whatever opens a model calls this first.

    Args:
        use: What needs it; the sentence begins with this.

    Raises:
        OochubError: torch, transformers or Accelerate is not installed; the line to type is named.

    >>> check_models_extra()
    """
    for package in _MODELS:
        check_installed(package, "models", use)


def list_causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those that led to it, the last one first.

    >>> inner, outer = ValueError("inner"), RuntimeError("outer")
    >>> outer.__cause__ = inner
    >>> list(list_causes(outer))
    [RuntimeError('outer'), ValueError('inner')]
    """
    met: list[BaseException] = []
    while error is not None and error not in met:
        met.append(error)
        yield error
        error = error.__cause__ or error.__context__
