"""Draws the folders domain/class/image of a toy: one shape for each class, one way of drawing for each domain."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from oochub.builders.toy_worlds._imagenet_painting import PHOTO, RENDITIONS, SKETCH, Style, paint
from oochub.builders.toy_worlds._imagenet_things import ID_THINGS

WAYS: Mapping[str, Style] = {
    "photo": PHOTO,
    "sketch": SKETCH,
    "art": RENDITIONS["art"],
    "cartoon": RENDITIONS["cartoon"],
    "clipart": Style(ground=(250, 250, 250), line=(30, 30, 30)),
    "product": Style(ground=(236, 240, 244)),
    "quickdraw": Style(ground=(255, 255, 255), line=(0, 0, 0), filled=False),
    "poster": Style(ground=(250, 224, 120), any_colors=True),
    "night": Style(ground=(36, 40, 58)),
    "meadow": Style(ground=(118, 142, 82)),
    "sand": Style(ground=(206, 186, 142)),
    "snow": Style(ground=(222, 228, 234)),
}
"""The ways in which a domain may draw things."""
_QUALITY = 92
_THINGS = tuple(ID_THINGS.values())


def draw_domains(
    folder: Path, domains: Mapping[str, str], classes: Sequence[str], *, count: int, seed: int, number: int
) -> None:
    """Draws `count` images of each class in each domain into `folder`.

    Args:
        folder: The folder that the folders of the domains are made in.
        domains: The way of drawing, one of `WAYS`, by domain.
        classes: The names of the classes; each has a shape of its own, which need not be its likeness.
        count: Images of each class in each domain.
        seed: Another seed is another world.
        number: The number of the data set, so that two of a world are not alike.
    """
    for place, (domain, way) in enumerate(domains.items()):
        for label, name in enumerate(classes):
            target = folder / domain / name
            target.mkdir(parents=True)
            for k in range(count):
                rng = np.random.default_rng([seed, number, place, label, k])
                picture = paint(rng, _THINGS[label], WAYS[way])
                picture.save(target / f"{k + 1:05}.jpg", "JPEG", quality=_QUALITY)
