"""Draws the split, the bird and the place of each image of Waterbirds as its authors drew them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from oochub.errors import OochubError
from oochub.studies.waterbirds.cub_images import CubImage
from oochub.studies.waterbirds.water_species import Species, water_species

SEED = 115
"""The first seed that draws 266 of CUB's 1,379 training water birds into validation, as the release has them."""
_VALIDATION = 0.2
_SHARES = {"train": 0.95, "validation": 0.5, "test": 0.5}
_PLACES = ("land", "water")


class WaterbirdRow(NamedTuple):
    """A row of `metadata.csv`, its fields in the order of the release's columns.

    Attributes:
        img_id: Id of the image in CUB.
        img_filename: Its path below CUB's `images/`, and below the data set's folder.
        y: 0 a land bird, 1 a water bird.
        split: 0 train, 1 validation, 2 test.
        place: 0 land, 1 water.
        place_filename: The image of the place below the folder of Places365, which a slash begins.
    """

    img_id: str
    img_filename: str
    y: int
    split: int
    place: int
    place_filename: str


def waterbird_rows(
    images: Sequence[CubImage],
    places: Mapping[str, Sequence[str]],
    *,
    seed: int = SEED,
    species: Species = "released",
) -> list[WaterbirdRow]:
    """The rows, in the order of the images.

    A fifth of CUB's training images, drawn by lot, is validation; CUB's test images are the test. In training 95% of
    each kind of bird stand before their own place, in validation and test half of them. No image of a place is used
    twice. The authors drew without a seed, so which images these are differs from the release; with all of CUB's images
    the default seed gives its numbers of rows in every split and group.

    Args:
        images: See `cub_images`.
        places: The images of "land" and of "water".
        seed: Random seed for all draws.
        species: See `water_species`.

    Raises:
        OochubError: Fewer images of a place than birds that stand before it.

    Source: Sagawa et al. 2020, Appendix C.1; kohpangwei/group_DRO, `dataset_scripts/generate_waterbirds.py`.

    >>> birds = [CubImage(str(k), f"087.Mallard/{k}.jpg", True) for k in range(10)]
    >>> rows = waterbird_rows(birds, {"land": ["/a.jpg"], "water": [f"/{k}.jpg" for k in range(10)]})
    >>> sorted((row.split, row.place) for row in rows)
    [(0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (1, 0), (1, 1)]
    """
    rng = np.random.default_rng(seed)
    names = water_species(species)
    is_water = np.array([image.species in names for image in images], dtype=int)
    is_training = np.array([image.is_training for image in images], dtype=bool)
    training = np.flatnonzero(is_training)
    training = training[np.argsort(is_water[training], kind="stable")]  # land birds first: the seed meets no file names
    split = np.where(is_training, 0, 2)
    split[rng.choice(training, size=round(_VALIDATION * len(training)), replace=False)] = 1
    place = np.zeros(len(images), dtype=int)
    for part, share in enumerate(_SHARES.values()):
        for bird in (0, 1):
            of_group = np.flatnonzero((split == part) & (is_water == bird))
            of_water = share if bird else 1 - share
            place[rng.choice(of_group, size=round(of_water * len(of_group)), replace=False)] = 1
    files = np.empty(len(images), dtype=object)
    for code, name in enumerate(_PLACES):
        before = np.flatnonzero(place == code)
        if len(before) > len(places[name]):
            raise OochubError(
                f"{len(before):,} birds stand in front of {name}, but there are {len(places[name]):,} images of it. "
                "Download more of its categories of Places365."
            )
        files[before] = rng.permutation(np.array(places[name], dtype=object))[: len(before)]
    return [
        WaterbirdRow(image.number, image.file, int(is_water[k]), int(split[k]), int(place[k]), files[k])
        for k, image in enumerate(images)
    ]
