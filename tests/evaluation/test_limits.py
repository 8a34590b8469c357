"""More splits or groups than a report compares are refused before the work; what a report cannot show is not opened."""

import json

import numpy as np
import pytest

import oochub
from oochub.errors import OochubError
from oochub.evaluation.evaluation_rows import MOST_GROUPS, MOST_SPLITS
from oochub.records.schema import to_json


def _predictions(n, **columns):
    rng = np.random.default_rng(0)
    return oochub.Predictions.from_arrays(logits=rng.normal(size=(n, 2)), label=rng.integers(0, 2, n), **columns)


@pytest.mark.parametrize("column", ["group", "groups"])
def test_a_column_of_ids_is_no_group(column):
    """Fault planted: no `check_limits`; 60,000 groups took minutes."""
    ids = [f"photo {row}" for row in range(3_000)]
    with pytest.raises(OochubError, match=f"column {column} has 3,000 values, like a column of ids.*at most 2,000"):
        oochub.evaluate(_predictions(3_000, **{column: ids if column == "group" else [[name] for name in ids]}))


def test_a_split_a_row_is_no_split():
    with pytest.raises(
        OochubError,
        match=r"column split has 5,000 values.*at most 200\. Give all rows that belong together the same split",
    ):
        oochub.evaluate(_predictions(5_000, split=[str(row) for row in range(5_000)]))


def test_as_many_as_are_allowed_are_compared():
    """Counted in each split, as they are compared."""
    rows = 40
    report = oochub.evaluate(_predictions(rows, group=[str(row) for row in range(rows)]), metrics=["accuracy"])
    assert len(report.group_rows) == rows and MOST_SPLITS >= 75 and MOST_GROUPS >= 1_334


@pytest.mark.slow
def test_a_report_with_more_than_can_be_shown_is_not_opened(tmp_path):
    """Fault planted: slices without `SHOWN`; the terminal took minutes."""
    content = to_json(oochub.evaluate(_predictions(40), metrics=["accuracy"]))
    content["slices"] += [content["slices"][0] | {"name": f"s{k}", "role": "split"} for k in range(60_000)]
    path = tmp_path / "r.json"
    path.write_text(json.dumps(content))
    with pytest.raises(OochubError, match="slices must have at most 5,000 items, got 60,002"):
        oochub.Report.load(path)
