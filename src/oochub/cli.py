"""The program `oochub`; its commands are imported once a Ctrl-C is heard.

Any terminal takes any text, and our warnings are shown in words alone.
"""

import codecs
import gc
import io
import sys
import unicodedata
import warnings
from typing import Any

from oochub.errors import OochubWarning
from oochub.process.program import program

_FORMAT = warnings.formatwarning
_PLAIN = {
    "±": "+/-",
    "–": "-",
    "—": "-",
    "−": "-",
    "…": "...",
    "×": "x",
    "·": ".",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "→": "->",
    "←": "<-",
    "↑": "^",
    "↓": "v",
    "’": "'",
    "‘": "'",
    "“": '"',
    "”": '"',
}


def prepare_terminal() -> None:
    """Lets standard output and error replace what they cannot encode, instead of failing in the middle of a table.

    An `OochubWarning` is said as "Warning: ..." on standard error, without the line of code that gave it.

    >>> codecs.register_error("oochub", _replace_unencodable)
    >>> "0.91 ± 0.02 … é".encode("ascii", "oochub").decode()
    '0.91 +/- 0.02 ... e'
    """
    codecs.register_error("oochub", _replace_unencodable)
    warnings.formatwarning = _format_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a test or a notebook may have put something else there
            stream.reconfigure(errors="oochub")


def _format_warning(message: Any, category: type[Warning], *place: Any, **more: Any) -> str:
    return (
        f"Warning: {message}\n" if issubclass(category, OochubWarning) else _FORMAT(message, category, *place, **more)
    )


def _replace_unencodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter) or _strip_accent(letter) for letter in text), error.end


def _strip_accent(letter: str) -> str:
    base = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return base or "?"


def main() -> None:
    """Runs the command line in a process of its own; see `oochub.process.program.program` for its exit codes."""
    program(_run_commands)


def _run_commands() -> None:
    gc.set_threshold(50_000, 20, 50)  # commands import a million objects that stay: a look among them takes long
    from oochub.process.program import shorten_waiting

    shorten_waiting()
    from oochub.app import command_line

    prepare_terminal()
    command_line()()


if __name__ == "__main__":
    main()
