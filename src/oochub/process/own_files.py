"""Python files of the user that this process runs, each once: its module, its digest, and errors of its code in words.

The environment variable OOCHUB_PLUGINS lists them, so that processes which this one starts run them too.
"""

import hashlib
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from oochub.errors import OochubError

_FILES = "OOCHUB_PLUGINS"


class OwnFile(NamedTuple):
    """A file that was run.

    Attributes:
        path: Where it is.
        module: What it defines, a module of its name.
        sha256: The digest of its bytes before it was run.
    """

    path: Path
    module: ModuleType
    sha256: str


_IN_USE: dict[Path, OwnFile] = {}


def run_own_file(file: str | Path) -> OwnFile:
    """Runs a Python file of the user as a module of its name; a second call gives what the first gave.

    Args:
        file: The path of the file, such as std_risk.py.

    Raises:
        OochubError: No Python file, a name that another module has, or an error in its code.
    """
    path = Path(file).expanduser().resolve()
    if path in _IN_USE:
        return _IN_USE[path]
    if not path.is_file():
        raise OochubError(f"There is no file {file}. Pass the path of a Python file of yours, such as std_risk.py.")
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise OochubError(f"{file} is not a Python file whose name can be imported, such as std_risk.py.")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # last: no file beside it takes the place of an installed package
    spec = find_spec(path.stem)
    if spec is None or spec.origin is None or Path(spec.origin).resolve() != path:
        raise OochubError(f"{path.name} has the name of another module. Rename your file.")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    try:
        module = import_module(path.stem)
    except (Exception, SystemExit) as error:
        raise blame_file(error, path) from error
    _IN_USE[path] = OwnFile(path, module, digest)
    os.environ[_FILES] = os.pathsep.join(map(str, _IN_USE))
    return _IN_USE[path]


def list_own_files() -> list[str]:
    """The paths of the files that this process runs, and of those that the process which started it ran.

    >>> list_own_files()
    []
    """
    return [file for file in os.environ.get(_FILES, "").split(os.pathsep) if file]


def describe_own_files() -> dict[str, str]:
    """The SHA-256 of each file that was run by its name, for the record beside the versions of packages.

    >>> describe_own_files()
    {}
    """
    return {path.name: f"sha256 {own.sha256}" for path, own in _IN_USE.items()}


def blame_file(error: BaseException, file: Path, function: str = "") -> OochubError:
    """What went wrong in the user's own code, in one line, with the last line of the file that led to it.

    Args:
        error: What the code raised.
        file: The user's file.
        function: The function of it that was called, as errors show it: "load()".
    """
    from traceback import extract_tb

    own = str(file.resolve())
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == own]
    if isinstance(error, SyntaxError) and error.filename == own:
        lines.append(error.lineno)
    place = f"{file}, line {lines[-1]}" if lines else f"{file}"
    words = (str(error).strip().splitlines() or [""])[0]
    text = f"{type(error).__name__}{f': {words}' if words else ''}".rstrip(".")
    return OochubError(f"{place}{f', in {function}' if function else ''}: {text}. The error is in your code.")
