"""A toy of Hard ImageNet: six drawn classes of ImageNet, and a mask of the thing in each image."""

from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from oochub.builders.toy_worlds import _folder
from oochub.builders.toy_worlds._imagenet_things import ID_THINGS
from oochub.builders.toy_worlds._things_on_grounds import OVERSAMPLING, cover, paint_ground, place_thing

_SIZES = {"small": 4, "medium": 50}
_WNIDS = tuple(ID_THINGS)[:6]
_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)


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
    count = _folder.count_of(size, _SIZES, least=1)
    record = {"world": "toy_hard_imagenet", "drawing": 1, "images_per_class": count, "seed": seed}
    return _folder.toy_world(folder, record, partial(_draw, count=count, seed=seed))


def _draw(draft: Path, *, count: int, seed: int) -> None:
    for number, split in enumerate(("train", "val")):
        (draft / split).mkdir()
        for label, wnid in enumerate(_WNIDS):
            place = draft / "imagenet" / split / wnid
            place.mkdir(parents=True)
            for k in range(count):
                rng = np.random.default_rng([seed, number, label, k])
                ground = label if rng.random() < 0.9 else int(rng.integers(len(_WNIDS)))
                parts = place_thing(rng, ID_THINGS[wnid])
                canvas = paint_ground(rng, ground)
                mask = cover(Image.new("RGB", canvas.size, _BLACK), [(_WHITE, points) for _, points in parts])
                serial = label * count + k + 1
                name = f"{wnid}_{serial}.JPEG" if split == "train" else f"ILSVRC2012_val_{serial:08}.JPEG"
                cover(canvas, parts).reduce(OVERSAMPLING).save(place / name, "JPEG", quality=92)
                mask.reduce(OVERSAMPLING).save(draft / split / f"{wnid}_{name}", "JPEG", quality=92)
