"""Draws docs/figures of contexts that nobody labelled: the images and the model of `oochub example`."""

import tempfile
from pathlib import Path
from typing import Any

from matplotlib import pyplot

import oochub
from oochub.studies.demo.example import example

NAMES = ("context_gaps",)
"""The figures."""
_FIGURES = Path(__file__).parents[1] / "figures"
_SIZE = 64


def main() -> None:
    """Writes docs/figures/context_gaps.png."""
    with tempfile.TemporaryDirectory() as folder:
        pictures, model = example(Path(folder) / "toy", size=_SIZE)
        report = oochub.audit(model, pictures, label="breed", contexts="properties")
        figure: Any = report.plot("context_gaps").figure.canvas.figure
    figure.savefig(_FIGURES / "context_gaps.png", dpi=110, metadata={"Software": None})
    pyplot.close("all")


if __name__ == "__main__":
    main()
