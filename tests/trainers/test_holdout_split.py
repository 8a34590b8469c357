"""Half of a split chooses an epoch: which rows, whether they stay, and where there is nothing to hold out."""

import datasets
import pytest

from oochub.errors import OochubError
from oochub.trainers.rows.holdout_split import check_hold_out, choose_holdout


def test_about_half_whatever_the_order():
    """Of 2,000 ids 1,000 plus or minus 5 standard deviations (112); the same ones in another order."""
    ids = [f"picture {row}" for row in range(2_000)]
    forwards, record = choose_holdout(datasets.Dataset.from_dict({"example_id": ids}), split="validation")
    backwards, again = choose_holdout(datasets.Dataset.from_dict({"example_id": ids[::-1]}), split="validation")
    assert abs(record.chose - 1_000) < 112 and record == again and record.chose + record.rows == 2_000
    assert {ids[row] for row in forwards} == {ids[::-1][row] for row in backwards}


def test_clusters_stay_whole():
    """By the names of the classes, as predictions have them. Planted faults seen: by ids; by class numbers."""
    names = [f"slide {number}" for number in range(40)]
    numbers = [row % 40 for row in range(400)]
    features = datasets.Features({"example_id": datasets.Value("string"), "slide": datasets.ClassLabel(names=names)})
    part = datasets.Dataset.from_dict({"example_id": list(map(str, range(400))), "slide": numbers}, features)
    rows, record = choose_holdout(part, split="val", cluster="slide")
    chosen = {numbers[row] for row in rows}
    assert record.by == "slide" and len(rows) == 10 * len(chosen) and 0 < len(chosen) < 40
    plain = datasets.Dataset.from_dict({"slide": [names[number] for number in numbers]})
    assert choose_holdout(plain, split="val", cluster="slide")[0].tolist() == rows.tolist()


def test_a_half_without_rows():
    with pytest.raises(OochubError, match=r"hold_out halves the 1 rows of split validation.*Remove hold_out"):
        choose_holdout(datasets.Dataset.from_dict({"example_id": ["a"]}), split="validation")


@pytest.mark.parametrize(("splits", "said"), [(("train", "validation"), ""), (("train", "validation", "test"), "test")])
def test_own_data(splits, said):
    """Without a split test the report is of validation, which chooses. Planted fault seen: own data always refused."""
    if not said:
        check_hold_out(None, splits, source="pictures")
        return
    with pytest.raises(OochubError, match="The report of pictures covers test and none of those rows"):
        check_hold_out(None, splits, source="pictures")
