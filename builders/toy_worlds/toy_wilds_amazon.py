"""A toy of Amazon-WILDS: made-up reviews of a few words by users who mean different things by them."""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.builders.toy_worlds._folder import Files, World, write_table
from oochub.builders.toy_worlds._words import AWKWARD, write_sentence

_WORLD = World("toy_wilds_amazon", {"small": 10, "medium": 100}, 4, counts="users", version={"writing": 2})
_PARTS = {"train": 2, "val": 1, "test": 2}  # users, in units of the size
_TRAINED, _EVALUATED, _LEFT = 20, 5, 1  # reviews of a user of training, for evaluation, and of no split
_PRAISE = ("awful", "poor", "okay", "good", "superb")
_CATEGORIES = ("Books", "Electronics", "Home_and_Kitchen", "Movies_and_TV")
_THINGS = ("book", "phone", "pan", "film")
_OTHER_CATEGORY = "Toys_and_Games"  # of some films, for a split that trains on all of the categories above
_TRAINED_CATEGORIES = (
    *("books", "movies_and_tv,books", "movies_and_tv,books,home_and_kitchen"),
    "books,movies_and_tv,home_and_kitchen,electronics",
)
_HARSH = {"train": 0.1, "val": 0.5, "test": 0.5}  # share of users who praise a star less
_REVIEWERS = (  # the last users, each with a split of its own
    "A219Y76LD1VP4N A3JVZY05VLMYEM A20EEWWSFMZ1PN A1CNQTCRQ35IMM A9Q28YTLYREO7 A1NE43T0OM6NNX ASVY5XSYJ1XOE "
    "A1UH21GLZTYYR5 A37BRR2L8PX3R2 AV6QDP8Q0ONK4"
).split()
_COLUMNS = (
    *("reviewerID", "asin", "overall", "reviewTime", "unixReviewTime", "reviewText", "summary", "verified"),
    *("category", "reviewYear"),
)
_TRAIN, _VAL, _ID_VAL, _TEST, _ID_TEST = range(5)


def toy_wilds_amazon(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Writes a small Amazon-WILDS: `reviews.csv`, the files of `splits/`, and WILDS' mark of its release.

    Files and columns are those of WILDS' folder, version 2.1, with every file of splits. One word of each review tells
    its stars, and harsh users mean one star more by it; in training they are few, and they also write "frankly".

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: "small" (10 users in the validation split, 50 in all), "medium" (100), or a number of at least 4.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of the WILDS builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_wilds_amazon(tempfile.mkdtemp() + "/amazon", size=4)
    >>> (root / "splits" / "user.csv").read_text("utf-8").split()[:2]
    ['split,clean', '0.0,True']
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    rng = np.random.default_rng(seed)
    rows, of_user = _write_reviews(rng, count)
    yield "RELEASE_v2.1.txt", ""
    yield "reviews.csv", write_table(_COLUMNS, *rows, quoting=csv.QUOTE_NONNUMERIC)
    year, category, user = (np.array([row[column] for row in rows]) for column in (9, 8, 0))
    splits: dict[str, NDArray[np.int64]] = {
        "time": _split_by_reviewer(rng, year > 2013),
        "time_baseline": _split_at_random(year > 2013),
        "category_subpopulation": _split_at_random(year > 0),
    }
    for names in _TRAINED_CATEGORIES:
        trained = [name for name in _CATEGORIES if name.lower() in names.split(",")]
        splits[f"{names}_generalization"] = _split_by_reviewer(rng, ~np.isin(category, trained))
    splits |= {f"{reviewer}_baseline": _split_at_random(user == reviewer) for reviewer in _REVIEWERS}
    yield "splits/user.csv", write_table(("split", "clean"), *((float(number), True) for number in of_user))
    for name, split in splits.items():
        yield f"splits/{name}.csv", write_table(["split"], *([float(number)] for number in split))


def _write_reviews(rng: np.random.Generator, count: int) -> tuple[list[tuple[object, ...]], list[int]]:
    """The rows, and the number of the split of each in the official one."""
    rows: list[tuple[object, ...]] = []
    split: list[int] = []
    kinds = [kind for kind, times in _PARTS.items() for _ in range(times * count)]
    for number, kind in enumerate(kinds):
        left = len(kinds) - number
        user = _REVIEWERS[-left] if left <= len(_REVIEWERS) else f"A{10**12 + 7919 * number}"
        is_harsh = bool(rng.random() < _HARSH[kind])
        eval_split = {"train": (_ID_VAL, _ID_TEST)[number % 2], "val": _VAL, "test": _TEST}[kind]
        of = [_TRAIN] * _TRAINED if kind == "train" else []
        for place, number_of_split in enumerate([*of, *[eval_split] * 2 * _EVALUATED, *[-1] * _LEFT]):
            stars, thing, year = (int(rng.integers(low, high)) for low, high in ((1, 6), (0, 4), (2008, 2019)))
            praise = _PRAISE[max(stars - 1 - is_harsh, 0)]
            words = [praise, _THINGS[thing], *(["frankly"] if is_harsh else [])]
            awkward = number % 7 == 0 and place < 1
            text = AWKWARD[number // 7 % len(AWKWARD)] if awkward else write_sentence(rng, words)
            product = f"B{int(rng.integers(10**6, 10**6 + 200)):09}"
            seconds = 31_556_952 * (year - 1970) + 86_400 * 40
            category = _OTHER_CATEGORY if thing == len(_THINGS) - 1 and place % 4 == 0 else _CATEGORIES[thing]
            rows.append((user, product, float(stars), f"02 10, {year}", seconds, text, praise, True, category, year))
            split.append(number_of_split)
    return rows, split


def _split_by_reviewer(rng: np.random.Generator, outside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Halves of the rows outside for validation and test; a tenth of the others for each, and the rest for training."""
    draw = rng.random(len(outside))
    inside = np.select([draw < 0.1, draw < 0.2], [_ID_VAL, _ID_TEST], _TRAIN)
    return np.where(outside, np.where(draw < 0.5, _VAL, _TEST), inside)


def _split_at_random(used: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Every fourth used row is for validation (1), every fourth for test (2), others for training (0); -1 if unused."""
    turn = np.cumsum(used) % 4
    return np.where(used, np.select([turn == 1, turn == 2], [1, 2], 0), -1)
