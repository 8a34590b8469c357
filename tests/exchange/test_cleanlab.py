"""cleanlab: its input as NumPy reads it, and its issues beside the rows, by id or in order."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bridge_rows import IDS, LABELS, LOGITS, NAMES, bridge_predictions

import oochub
from oochub import Predictions
from oochub.browsing.filter_columns import make_row_columns
from oochub.data.declaration import find_declaration
from oochub.errors import OochubError
from oochub.evaluation.evaluation_inputs import join_columns
from oochub.evaluation.evaluation_rows import make_evaluation_rows
from oochub.evaluation.selection_rule import RowRule
from oochub.exchange.export import export

QUALITY = np.round(np.linspace(0.05, 0.95, 10), 3)


def issues(folder: Path, **columns: object) -> Path:
    """The table of `Datalab.get_issues("label")`, with the row's number as its index, in the order of the rows."""
    frame = pd.DataFrame(
        {
            "is_label_issue": QUALITY < 0.2,
            "label_score": QUALITY,
            "given_label": [NAMES[label] for label in LABELS[::-1]],
            "predicted_label": "cat",
            **columns,
        }
    )
    frame.to_csv(folder / "issues.csv")
    return folder / "issues.csv"


BRIDGE_EXAMPLES = {"cleanlab": issues}


def test_the_input_is_what_cleanlab_takes(tmp_path):
    """Probabilities by a softmax in float64; a row outside the label set is left out."""
    given = bridge_predictions()
    label = given.label.copy()
    label[2] = -1
    some = Predictions.from_arrays(
        logits=given.logits,
        label=label,
        class_names=NAMES,
        example_id=given.column("example_id"),
        features=given.logits,
    )
    with np.load(export(some, "cleanlab", tmp_path / "in.npz"), allow_pickle=False) as arrays:
        read = dict(arrays)
    kept = [k for k in range(10) if k != 2]
    z = LOGITS[::-1][kept].astype(float)
    np.testing.assert_allclose(read["pred_probs"], np.exp(z) / np.exp(z).sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_array_equal(read["labels"], np.array(LABELS[::-1])[kept])
    assert read["example_id"].tolist() == [IDS[::-1][k] for k in kept] and read["class_names"].tolist() == NAMES
    np.testing.assert_array_equal(read["features"], LOGITS[::-1][kept])
    unlabeled = Predictions.from_arrays(logits=LOGITS, label=[-1] * 10)
    with pytest.raises(OochubError, match="No row has a label"):
        export(unlabeled, "cleanlab", tmp_path / "in.npz")


def test_issues_stand_beside_the_rows(tmp_path):
    """In the order of the rows, or by id in any; a report and `--keep` have them."""
    given = bridge_predictions()
    joined = join_columns(given, issues(tmp_path))
    assert joined.column("label_score").tolist() == QUALITY.tolist()
    assert joined.column("is_label_issue").tolist() == (QUALITY < 0.2).tolist()
    by_id = pd.DataFrame({"example_id": IDS[:4], "is_label_issue": [True, False, False, True]})
    by_id.to_csv(tmp_path / "some.csv", index=False)
    some = join_columns(joined, tmp_path / "some.csv").rows.column("is_label_issue").to_pylist()
    assert some == [None] * 6 + [True, False, False, True] and len(some) == len(given)
    given.save(tmp_path / "p.parquet")
    report = oochub.evaluate([tmp_path / "p.parquet", issues(tmp_path)])
    assert report["accuracy"].value == oochub.evaluate(given)["accuracy"].value


def test_rows_are_browsed_by_their_issues(tmp_path):
    """The page of all rows has a field for them, in its own order, the highest loss first; a rule names it too."""
    joined = join_columns(bridge_predictions(), issues(tmp_path))
    evaluated = make_evaluation_rows(joined, find_declaration(joined))[0]
    columns = make_row_columns(evaluated)
    (field,) = [each for each in columns.fields if each.name == "is_label_issue"]
    assert RowRule.parse("is_label_issue=yes").find_rows(evaluated).tolist() == (QUALITY < 0.2).tolist()
    shown = [field.values[code] == "yes" for code in field.codes]
    assert shown == (QUALITY < 0.2)[columns.order].tolist() and set(field.values) == {"yes", "no"}


def test_issues_of_other_rows_are_refused(tmp_path):
    given = bridge_predictions()
    other = issues(tmp_path, given_label=[NAMES[label] for label in LABELS])
    with pytest.raises(OochubError, match="10 rows differ"):
        join_columns(given, other)
    assert join_columns(given, issues(tmp_path, given_label=LABELS[::-1])).column_names[-1] == "predicted_label"
    pd.read_csv(issues(tmp_path)).iloc[:7].to_csv(tmp_path / "issues.csv")
    with pytest.raises(OochubError, match="7 rows, but the predictions 10"):
        join_columns(given, tmp_path / "issues.csv")
    with pytest.raises(OochubError, match="1 ids that no row has, first z"):
        join_columns(given, issues(tmp_path, example_id=[*IDS[1:], "z"]))
    with pytest.raises(OochubError, match="occurs twice"):
        join_columns(given, issues(tmp_path, example_id=["z"] * 10))
    for column, values in {"label_score": "high", "is_label_issue": 0.5, "is_outlier_issue": None}.items():
        with pytest.raises(OochubError, match=column):
            join_columns(given, issues(tmp_path, **{column: values}))


def test_issues_alone_are_not_evaluated(tmp_path):
    with pytest.raises(OochubError, match="Pass a file of predictions as well"):
        oochub.evaluate([issues(tmp_path)])
    with pytest.raises(OochubError, match="beside predictions"):
        oochub.evaluate([issues(tmp_path)], benchmark="spawrious/o2o_hard")


def test_a_sorted_table_with_its_index_joins_by_it(tmp_path):
    """`issues.sort_values("label_score").to_csv(...)`, also saved twice; before, lines were joined in their order."""
    given = bridge_predictions()
    frame = pd.read_csv(issues(tmp_path), index_col=0).drop(columns="given_label")
    frame = frame.sort_values("label_score", ascending=False)
    frame.to_csv(tmp_path / "issues.csv")
    assert join_columns(given, tmp_path / "issues.csv").column("label_score").tolist() == QUALITY.tolist()
    pd.read_csv(tmp_path / "issues.csv").to_csv(tmp_path / "again.csv")
    assert join_columns(given, tmp_path / "again.csv").column("label_score").tolist() == QUALITY.tolist()
    frame.index = frame.index + 5
    frame.to_csv(tmp_path / "other.csv")
    with pytest.raises(OochubError, match="does not number its 10 rows from 0"):
        join_columns(given, tmp_path / "other.csv")
