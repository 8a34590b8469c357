"""A toy of Hard ImageNet: six drawn classes of ImageNet, and a mask of the thing in each image."""

from pathlib import Path

import numpy as np
from PIL import Image

from oochub.builders.toy_worlds._folder import Files, World
from oochub.builders.toy_worlds._painter import OVERSAMPLING, PLACES, cover
from oochub.builders.toy_worlds._things import ID_THINGS, paint_ground, place_thing

_WORLD = World("toy_hard_imagenet", {"small": 4, "medium": 50}, 1, counts="images_per_class")
_WNIDS, _GROUNDS = tuple(ID_THINGS)[:6], tuple(PLACES)[:6]


def toy_hard_imagenet(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws `imagenet/{train,val}/<wnid>/<image>` and the masks `{train,val}/<wnid>_<image>`.

    The classes are the toy's own, six in place of 15, and each stands on one ground in most images.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Images of each class in each split: "small" (4), "medium" (50), or a number.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of `hard_imagenet` takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_hard_imagenet(tempfile.mkdtemp() + "/hard_imagenet", size=1)
    >>> len(list(root.glob("val/*"))), len(list(root.glob("imagenet/train/*/*")))
    (6, 6)
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    for number, split in enumerate(("train", "val")):
        for label, wnid in enumerate(_WNIDS):
            for k in range(count):
                rng = np.random.default_rng([seed, number, label, k])
                ground = _GROUNDS[label if rng.random() < 0.9 else int(rng.integers(len(_GROUNDS)))]
                parts = place_thing(rng, ID_THINGS[wnid])
                canvas = paint_ground(rng, ground)
                mask = cover(Image.new("RGB", canvas.size), [((255, 255, 255), points) for _, points in parts])
                serial = label * count + k + 1
                name = f"{wnid}_{serial}.JPEG" if split == "train" else f"ILSVRC2012_val_{serial:08}.JPEG"
                yield f"imagenet/{split}/{wnid}/{name}", cover(canvas, parts).reduce(OVERSAMPLING)
                yield f"{split}/{wnid}_{name}", mask.reduce(OVERSAMPLING)
