"""How many images of each breed and background a composition has, in each split and environment."""

import pandas as pd

from oochub.builders.sources.spawrious_compositions import SpawriousComposition


def composition_counts(composition: SpawriousComposition, n: int) -> pd.DataFrame:
    """The cells of a composition: split, environment, label, background, n; the last fifth of training is validation.

    Args:
        composition: The composition to count.
        n: Files in each of the 48 folders; 3,168 in the release.

    Raises:
        OochubError: More files of a folder than it holds.

    >>> from oochub.builders.sources.spawrious_compositions import TABLE_2
    >>> composition_counts(TABLE_2["o2o_hard"], 3168).groupby("split")["n"].sum().to_dict()
    {'test': 25344, 'train': 20280, 'validation': 5064}
    """
    cells = []
    for part in composition.slices(n):
        place = {"environment": part.environment, "label": part.breed, "background": part.background}
        held_out = (part.last - part.first) // 5 if part.split == "train" else 0
        cells.append({"split": part.split, **place, "n": part.last - part.first - held_out})
        cells.append({"split": "validation", **place, "n": held_out})
    table = pd.DataFrame(cells)
    keys = ["split", "environment", "label", "background"]
    return table[table["n"] > 0].groupby(keys, sort=False)["n"].sum().reset_index()
