"""Run by `make newer`: prints what the package and its tests require, less torch and what needs it."""

import sys
import tomllib
from pathlib import Path

_TORCH = ("accelerate", "torch")
_TOOLS = ("hypothesis", "matplotlib", "pycocotools", "pytest", "pytest-xdist", "scikit-learn")


def main() -> None:
    """A requirement a line, as pip reads them."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [each for each in project["dependencies"] if not each.startswith(_TORCH)]
    sys.stdout.write("\n".join([*needed, *_TOOLS, ""]))


if __name__ == "__main__":
    main()
