"""The five rows of NOOCH's Table 1, each as one call of a criterion and as a challenge set of a data set."""

import csv
import math
from collections import Counter

import datasets
import numpy as np

from oochub.builders.criteria.membership import membership
from oochub.builders.criteria.mismatch import mismatch
from oochub.builders.criteria.threshold import threshold
from oochub.data.challenge import challenge


def test_waterbirds_by_hand():
    """C != Y, C = 1 if the background is water: a water bird on land is the hard positive."""
    y, water = [0, 0, 1, 1], [0, 1, 0, 1]
    expected = ["easy", "hard_negative", "hard_positive", "easy"]
    assert mismatch(y, water).tolist() == expected
    birds = datasets.ClassLabel(names=["land", "water"])
    place = datasets.ClassLabel(names=["water", "land"])  # other numbers, the same names
    rows = {"y": ["land", "land", "water", "water"], "place": ["land", "water", "land", "water"]}
    data = datasets.Dataset.from_dict(rows, datasets.Features({"y": birds, "place": place}))
    challenged = challenge(data, "mismatch", label="y", context="place").dataset
    assert challenged.features["challenge"].int2str(challenged["challenge"][:]) == expected


def test_waterbirds_of_its_metadata(real_data):
    """reference: the rows of metadata.csv, counted with a Counter."""
    file = real_data / "waterbirds" / "metadata_unofficial.csv"
    with file.open() as lines:
        rows = list(csv.DictReader(lines))
    counted = Counter((row["split_name"], row["y"], row["place"]) for row in rows)
    data = datasets.Dataset.from_csv(str(file))
    for split in ("train", "val", "test"):
        part = data.filter(lambda row, split=split: row["split_name"] == split)
        _, counts, _ = challenge(part, "mismatch", label="y", context="place")
        assert list(counts.values()) == [
            {
                "easy": counted[split, "0", "0"] + counted[split, "1", "1"],
                "hard_positive": counted[split, "1", "0"],
                "hard_negative": counted[split, "0", "1"],
                "hard": 0,
            }
        ]
    assert sum(counted.values()) == len(rows) == len(data)


def test_iwildcam():
    """C not in {1 ... 245}: the cameras that training has not seen."""
    camera = np.arange(324)
    hard = membership(camera, allowed=range(1, 246)) == "hard"
    assert [c for c in camera if not hard[c]] == list(range(1, 246))


def test_fmow():
    """C_time >= 2013."""
    year = list(range(2002, 2018))
    got = threshold(year, at=2013).tolist()
    assert {y for y, each in zip(year, got, strict=True) if each == "hard"} == {2013, 2014, 2015, 2016, 2017}


def test_imagenet_a():
    """The max NLL of an ensemble >= -log(0.15): at least one model gives the label at most 15%; by hand."""
    probability = np.array([[0.9, 0.8], [0.16, 0.5], [0.15, 0.9], [0.9, 0.1], [0.01, 0.02]])
    worst = (-np.log(probability)).max(axis=1)
    assert threshold(worst, at=-math.log(0.15)).tolist() == ["easy", "easy", "hard", "hard", "hard"]
    data = datasets.Dataset.from_dict({"max_nll": worst})
    challenged = challenge(data, "threshold", value="max_nll", at=-math.log(0.15))
    assert challenged.counts["train"]["hard"] == 3 and challenged.dataset["challenge_value"][:] == worst.tolist()


def test_breeds():
    """C in the target subset: subclasses that training has not seen of superclasses that it has."""
    source, target = {"tabby", "husky"}, {"siamese", "beagle"}
    subclass = ["tabby", "siamese", "husky", "beagle", "beagle"]
    expected = ["easy", "hard", "easy", "hard", "hard"]
    assert membership(subclass, allowed=target, inside=True).tolist() == expected
    assert membership(subclass, allowed=source).tolist() == expected
