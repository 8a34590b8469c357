"""A toy of CounterAnimal: six drawn animals of ImageNet, each on a common ground and on another one."""

from pathlib import Path

import numpy as np

from oochub.builders.toy_worlds._folder import Files, World
from oochub.builders.toy_worlds._painter import OVERSAMPLING, cover
from oochub.builders.toy_worlds._things import ID_THINGS, paint_ground, place_thing

_WORLD = World("toy_counter_animal", {"small": 6, "medium": 60}, 1)
_CLASSES = {
    "1 goldfish": ("n01443537", "sea", "snow"),
    "107 jellyfish": ("n01910747", "sea", "dirt"),
    "113 snail": ("n01944390", "jungle", "snow"),
    "301 ladybug": ("n02165456", "grass", "desert"),
    "327 starfish": ("n02317335", "beach", "grass"),
    "345 ox": ("n02403003", "grass", "road"),
}


def toy_counter_animal(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws `LAION-final/<class>/{common,counter}-<background>/<image>` for six classes of ImageNet.

    Which classes and backgrounds are in the release is not known here, so these are the toy's own.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Images of each class on each of its backgrounds: "small" (6), "medium" (60), or a number.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of `counter_animal` takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_counter_animal(tempfile.mkdtemp() + "/counter_animal", size=1)
    >>> sorted(path.name for path in root.glob("LAION-final/345 ox/*"))
    ['common-grass', 'counter-road']
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    for label, (name, (wnid, *grounds)) in enumerate(_CLASSES.items()):
        for part, ground in zip(("common", "counter"), grounds, strict=True):
            for k in range(count):
                rng = np.random.default_rng([seed, label, part == "counter", k])
                picture = cover(paint_ground(rng, ground), place_thing(rng, ID_THINGS[wnid])).reduce(OVERSAMPLING)
                yield f"LAION-final/{name}/{part}-{ground}/{label}{part[-1]}{k:05}.jpg", picture
