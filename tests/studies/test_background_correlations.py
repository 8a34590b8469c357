"""The correlations of backgrounds with classes against numpy's own, on the images one by one."""

import warnings

import numpy as np
import pandas as pd
import pytest

from oochub.builders.sources.spawrious_compositions import TABLE_2
from oochub.errors import OochubError
from oochub.studies.spawrious.composition.background_correlations import background_correlations
from oochub.studies.spawrious.composition.composition_counts import composition_counts


def _counts(*cells: tuple) -> pd.DataFrame:
    return pd.DataFrame(cells, columns=["split", "environment", "label", "background", "n"])


@pytest.mark.slow
def test_it_is_numpys_correlation_of_the_indicators():
    """Every number of every challenge of Table 2, rows expanded. Fault planted: one margin's square root left out."""
    compared = 0
    for name, composition in TABLE_2.items():
        counts = composition_counts(composition, 20)
        rows = counts.loc[counts.index.repeat(counts["n"])]
        split, environment, label, background = (rows[key].to_numpy() for key in counts.columns[:4])
        for row in background_correlations(counts).itertuples():
            part = (split == row.split) & ((environment == row.environment) | (row.environment == "all"))
            is_label, is_background = label[part] == row.label, background[part] == row.background
            with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
                warnings.simplefilter("ignore", RuntimeWarning)
                expected = np.corrcoef(is_label, is_background)[0, 1]
            assert row.correlation == pytest.approx(expected, abs=1e-12, nan_ok=True), (name, row)
            assert (row.images, row.n) == ((is_label & is_background).sum(), part.sum())
            assert bool(row.reason) == np.isnan(expected)
            compared += not np.isnan(expected)
    assert compared > 300


def test_an_undefined_one_says_why():
    """Fault planted: `every` and `no` exchanged."""
    counts = _counts(
        ("train", "a", "corgi", "snow", 3), ("train", "b", "corgi", "beach", 2), ("test", "t", "pug", "snow", 1)
    )
    table = background_correlations(counts).set_index(["split", "environment", "label", "background"])["reason"]
    assert table["train", "all", "corgi", "snow"] == "every image is of corgi"
    assert table["train", "a", "pug", "beach"] == "no image is of pug and no image is on beach"
    assert table["train", "a", "corgi", "snow"] == "every image is of corgi and every image is on snow"
    assert ("test", "t", "corgi", "snow") not in table  # an environment alone in its split is the split


def test_what_are_no_counts():
    with pytest.raises(OochubError, match="environment is missing"):
        background_correlations(_counts().drop(columns="environment"))
    for n in (0, -1):
        with pytest.raises(OochubError, match="0 or more"):
            background_correlations(_counts(("train", "a", "corgi", "snow", n)))
