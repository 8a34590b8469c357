"""Draws docs/figures/saliency.png: two small networks, trained with and without the link of breed and background."""

import tempfile
from pathlib import Path

from matplotlib import pyplot
from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessorPil, set_seed

import oochub
from oochub.attention.attention import attention
from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious
from oochub.figures.saliency import saliency

_FIGURES = Path(__file__).parents[1] / "figures"
_CONFIG = "spawrious/o2o_hard"


def trained(folder: Path, world: Path, name: str) -> Path:
    """A ResNet of two stages, whose maps have 6 x 6 places, trained on a toy Spawrious."""
    set_seed(0)
    config = ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="basic", num_labels=4)
    start = folder / f"{name} untrained"
    ResNetForImageClassification(config).save_pretrained(start)
    ViTImageProcessorPil(size={"height": 48, "width": 48}).save_pretrained(start)
    arguments = {"num_train_epochs": 20, "learning_rate": 3e-3, "per_device_train_batch_size": 32}
    oochub.train(_CONFIG, folder / name, model=str(start), data_dir=str(world), arguments=arguments)
    return folder / name


def main() -> None:
    """Writes docs/figures/saliency.png."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        world = toy_spawrious(folder / "world", size=60, masks=folder / "masks")
        control = toy_spawrious(folder / "control", size=60, correlation=False)
        linked, free = (trained(folder, raw, name) for raw, name in ((world, "linked"), (control, "unlinked")))
        data = oochub.load(_CONFIG, data_dir=str(world))
        maps = attention(str(linked), data, beside=str(free), pictures=5, masks=folder / "masks", cache=False)
        figure = saliency(maps).figure.canvas.figure
    figure.savefig(_FIGURES / "saliency.png", dpi=120, metadata={"Software": None})
    pyplot.close("all")


if __name__ == "__main__":
    main()
