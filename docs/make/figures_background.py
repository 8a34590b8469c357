"""Draws docs/figures of altered backgrounds: a model trained on a toy Waterbirds, with the masks of its birds."""

import tempfile
from pathlib import Path
from typing import Any

from matplotlib import pyplot

import oochub
from oochub.builders.toy_worlds.toy_cub import toy_cub
from oochub.studies.waterbirds.construct_waterbirds import construct_waterbirds
from oochub.training import train

NAMES = ("background_probe",)
"""The figures."""
_FIGURES = Path(__file__).parents[1] / "figures"
_EPOCHS = 12


def main() -> None:
    """Writes docs/figures/background_probe.png."""
    with tempfile.TemporaryDirectory() as folder:
        root = toy_cub(Path(folder) / "birds", size="medium")
        cub, data = root / "CUB_200_2011", Path(folder) / "waterbirds"
        construct_waterbirds(data, cub=cub, places=root / "places365")
        arguments = {"num_train_epochs": _EPOCHS, "cache_dir": Path(folder) / "pixels"}
        train("waterbirds", Path(folder) / "run", arguments=arguments, data_dir=str(data))
        settings: dict[str, Any] = {"probe": "background", "probe_settings": {"masks": cub / "segmentations"}}
        report = oochub.audit(Path(folder) / "run", "waterbirds", data_dir=str(data), **settings)
        figure: Any = report.plot("background_probe").figure.canvas.figure
    figure.savefig(_FIGURES / "background_probe.png", dpi=110, metadata={"Software": None})
    pyplot.close("all")


if __name__ == "__main__":
    main()
