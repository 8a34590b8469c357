"""The session of an engineer: 3,000 images without labels, 150 of them labeled, and then all."""

import csv
import random

import pytest

import oochub
from oochub.builders.toy_worlds.toy_pictures import toy_pictures
from oochub.studies.demo.example import example


@pytest.mark.slow
def test_few_labels_say_what_all_labels_say(tmp_path):
    """Each interval of 150 labels holds the number of all 3,000, and is no wider than that of the labels alone."""
    model = example(tmp_path / "example", size=200).model
    folder = toy_pictures(tmp_path / "deployed", size=1_500, seed=1) / "test"
    rows = list(csv.reader((folder / "metadata.csv").open(encoding="utf-8")))[1:]
    random.Random(0).shuffle(rows)
    found = {}
    for labeled in (150, 3_000):
        table = tmp_path / f"{labeled}.csv"
        with table.open("w", encoding="utf-8", newline="") as file:
            lines = [*rows[:labeled], *([name, "", place] for name, _, place in rows[labeled:])]
            csv.writer(file).writerows([("file_name", "label", "context"), *lines])
        report = oochub.audit(
            str(model),
            folder,
            labels=table,
            out=tmp_path / str(labeled),
            usual={"bulldog": ["beach", "desert"], "dachshund": ["jungle", "snow"]},
        )
        found[labeled] = {row.name: row for row in report.findings["few_labels"].rows}
    for name, row in found[150].items():
        truth = found[3_000][name].alone
        assert row.together.low <= truth <= row.together.high, name
        assert row.together.high - row.together.low <= row.alone.high - row.alone.low, name
    assert found[150]["gap"].saved > 0.25  # the images say how large the sides are, whatever the model is
