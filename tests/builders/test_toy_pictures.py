"""The toy of a user's own images: what it promises of its table."""

import pandas as pd
import pytest

from oochub.builders.toy_worlds.toy_pictures import toy_pictures

USUAL = {"bulldog": ("beach", "desert"), "dachshund": ("jungle", "snow")}


def usual_share(folder, split):
    table = pd.read_csv(folder / split / "metadata.csv")
    assert sorted(p.name for p in (folder / split).glob("*.png")) == sorted(table["file_name"])
    return len(table), [b in USUAL[a] for a, b in zip(table["breed"], table["background"], strict=True)]


def test_backgrounds_are_as_promised(tmp_path):
    folder = toy_pictures(tmp_path / "pictures", size=20, correlation=0.9)
    for split, rows, share in (("train", 40, 0.9), ("test", 40, 0.5), ("validation", 10, 1.0)):
        n, usual = usual_share(folder, split)
        assert (n, sum(usual) / n) == (rows, share), split


@pytest.mark.slow
def test_the_control_draws_every_background_alike(tmp_path):
    n, usual = usual_share(toy_pictures(tmp_path / "pictures", size=400, correlation=None), "train")
    assert abs(sum(usual) / n - 0.5) < 0.07  # 4 standard errors of 800 rows
