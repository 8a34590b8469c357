"""Something to try `oochub audit` on: a folder of drawn images, and a small model that was trained on them."""

from pathlib import Path
from typing import NamedTuple

from oochub.builders.toy_worlds.toy_pictures import toy_pictures
from oochub.storage.files import check_writable, lock_target
from oochub.studies.file_kinds import EXAMPLE
from oochub.training import train

_EPOCHS = 6


class Example(NamedTuple):
    """What `example` made: the folder of images and that of the model."""

    pictures: Path
    model: Path


def example(out: str | Path, *, size: str | int = "small", correlation: float | None = 0.95, seed: int = 0) -> Example:
    """Draws dogs of two breeds, each mostly on backgrounds of its own, and trains a small network on them.

    Args:
        out: The folder; run again, what is there is kept, and a training that was stopped goes on.
        size: See `toy_pictures`.
        correlation: See `toy_pictures`; None is the control, in which the background says nothing.
        seed: Random seed for the images and the training.

    Raises:
        OochubError: A folder that holds something else.
    """
    folder = check_writable(out, kind=EXAMPLE)
    arguments = {"seed": seed, "num_train_epochs": _EPOCHS}
    with lock_target(folder, kind=EXAMPLE):
        pictures = toy_pictures(folder / "pictures", size=size, seed=seed, correlation=correlation)
        train(str(pictures), folder / "model", label="breed", context="background", arguments=arguments)
    return Example(pictures, folder / "model")
