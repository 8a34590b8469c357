"""Imports every module of the package, with the versions that are installed: `every_import.py [absent package ...]`."""

import importlib
import sys

from import_graph import files, module_of


def main(*absent: str) -> None:
    """Raises what an import raises, unless it is the lack of a package that is said to be absent."""
    count = 0
    for file in files():
        try:
            importlib.import_module(module_of(file))
            count += 1
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in absent:
                raise
    assert count > 300
    sys.stdout.write(f"{count} modules imported\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
