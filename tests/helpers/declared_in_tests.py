"""What the test of a new thing says of it to the contract tests of its kind, so that no other file is edited."""

import importlib.util
import re
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]


def declared_in_tests(name: str, folder: str, *, below: Path = TESTS) -> dict[Any, Any]:
    """The entries of each dict of that name at the top of a test file below a folder of the tests.

    Args:
        name: Of the dict, in capitals.
        folder: A folder of the tests, such as "commands".
        below: Where that folder lies.
    """
    entries: dict[Any, Any] = {}
    for file in sorted((below / folder).rglob("test_*.py")):
        if re.search(rf"^{name}\b[^=\n]*= ", file.read_text("utf-8"), flags=re.M):
            spec = importlib.util.spec_from_file_location(f"declared_in_{file.stem}", file)
            assert spec and spec.loader
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            again = entries.keys() & getattr(module, name)
            assert not again, f"{file} has {sorted(again)} of {name}, which another test has too"
            entries |= getattr(module, name)
    return entries
