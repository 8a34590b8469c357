"""Nothing is cast in silence: labels, answers and names of another type are errors, wherever predictions come from."""

import json

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reports import rendered

import oochub
from oochub.errors import OochubError
from oochub.output import find_output_of_features, get_output
from oochub.prediction.predictions import Predictions
from oochub.records.schema import to_json
from oochub.trainers.rows.targets import find_task

LOGITS = [[2.0, 0.0], [0.0, 1.0]]
CLASSES = {"logits": LOGITS, "label": [0, 1]}
WRONG = [
    (CLASSES | {"label": [1.0, 0.0]}, r"class numbers \(integers\), got double"),
    (CLASSES | {"label": [True, False]}, r"class numbers \(integers\), got bool"),
    (CLASSES | {"label": ["cat", "dog"]}, r"class numbers \(integers\), got string"),
    (CLASSES | {"label": [2, 0]}, "1 labels are not one of the 2 classes"),
    (CLASSES | {"label": [1j, 0]}, "label cannot become a column"),
    (CLASSES | {"logits": [[1, 0], [0, 1]]}, "logits must be lists of floats, got list<item: int64>"),
    (CLASSES | {"logits": [[True, False], [False, True]]}, "logits must be lists of floats, got list<item: bool>"),
    (CLASSES | {"logits": [["1", "0"], ["0", "1"]]}, "logits must be lists of floats, got list<item: string>"),
    (CLASSES | {"logits": [[np.nan, 0.0], [0.0, 1.0]]}, "1 rows have logits that are not finite"),
    (CLASSES | {"logits": [1.0, 0.0]}, "logits must be lists of floats, got double"),
    (CLASSES | {"logits": [[1.0, 0.0], [1.0]]}, r"one length.*got lengths \[1, 2\], first another in row 1"),
    (CLASSES | {"logits": [[], []]}, "logits must be lists of floats"),
    (CLASSES | {"class_names": ["cat", " "]}, "a name without text"),
    (CLASSES | {"class_names": [1, 2]}, r"class_names\[0\] must be text, got 1"),
    (CLASSES | {"class_names": "ab"}, "class_names must be a list"),
    (CLASSES | {"benchmark": 3}, "benchmark must be text, got 3"),
    (CLASSES | {"split": [None, "test"]}, "Every row needs split, but row 0 has none"),
    (CLASSES | {"example_id": ["a"]}, "example_id: 1"),
    (CLASSES | {"group": np.array([b"day", b"night"])}, "group must hold text or numbers, got binary. Decode it"),
    (CLASSES | {"thumbnail": ["x", "y"]}, "thumbnail must hold the bytes"),
    (CLASSES | {"features": ["x", "y"]}, "features must be lists of floats"),
    ({"value": [1, 2], "label": [0.1, 0.2]}, "value must hold numbers, got int64"),
    ({"value": [0.1, np.nan], "label": [0.1, 0.2]}, "1 rows have a value that is not finite"),
    ({"value": [0.1, 0.2], "label": [True, False]}, "label must hold numbers, got bool"),
    ({"value": [0.1, 0.2], "label": [np.inf, 0.0]}, "label must be finite"),
    ({"logits": LOGITS, "labels": [[0.5, 0.0], [0.0, 1.0]]}, "labels must be 0, 1 or nan"),
    ({"logits": LOGITS, "labels": [[True, False], [False, True]]}, "labels must be lists of numbers"),
    ({"logits": LOGITS, "labels": [[0], [2]]}, r"numbers in 0\.\.1, got 0 to 2"),
    ({"logits": LOGITS, "labels": [[0, 0], [1, 0]]}, "each at most once per row"),
]


@pytest.mark.parametrize(("arrays", "words"), WRONG)
def test_arrays_of_another_type_are_refused(arrays, words):
    """Faults planted: no `is_integer` of the label, no `is_floating` of the logits."""
    with pytest.raises(OochubError, match=words):
        Predictions.from_arrays(**arrays)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("label", pa.array([1.7, 0.0]), "class numbers"),
        ("label", pa.array([None, 1]), "label empty in some"),
        ("logits", pa.array([[1, 0], [0, 1]]), "lists of floats"),
        ("logits", pa.array([1.0, 2.0]), "lists of floats, got double"),
        ("logits", pa.array([[1.0, 0.0], [1.0]]), r"one length.*got lengths \[1, 2\]"),
        ("logits", pa.array(["a", "b"]).dictionary_encode(), "lists of floats"),
        ("split", pa.array([1, 2]), "split must hold text, got int64"),
        ("example_id", pa.array([[1], [2]]), "example_id must hold text"),
    ],
)
def test_a_file_of_other_types_is_refused(tmp_path, column, values, words):
    """The same checks where another tool wrote the file; the error names it."""
    made = Predictions.from_arrays(**CLASSES)
    table = made.table.set_column(made.table.column_names.index(column), column, values)
    path = tmp_path / "p.parquet"
    pq.write_table(table.replace_schema_metadata({b"oochub": json.dumps(to_json(made.metadata)).encode()}), path)
    with pytest.raises(OochubError, match=words) as error:
        Predictions.load(path)
    assert "p.parquet" in str(error.value)


def test_two_classes_of_one_name_get_their_numbers(tmp_path):
    """As the two cranes of ImageNet in many models of the Hub; names alone cannot say which of them a label means."""
    made = Predictions.from_arrays(**(CLASSES | {"class_names": ["crane", "crane"]}))
    for predictions in (made, Predictions.load(made.save(tmp_path / "p.parquet"))):
        assert predictions.class_names == ["crane (0)", "crane (1)"]
    frame = pd.DataFrame({"logits": LOGITS, "label": ["crane", "crane"]})
    with pytest.raises(OochubError, match="several classes are called 'crane'"):
        Predictions.from_pandas(frame, class_names=["crane", "crane"])


@pytest.mark.parametrize("kind", [pa.list_(pa.float64(), 2), pa.large_list(pa.float16()), pa.list_(pa.float32())])
def test_every_form_of_list_is_read(tmp_path, kind):
    made = Predictions.from_arrays(**CLASSES)
    column = pa.array(LOGITS).cast(kind)
    table = made.table.set_column(made.table.column_names.index("logits"), "logits", column)
    assert Predictions.load(Predictions(table, made.metadata).save(tmp_path / "p.parquet")).logits.tolist() == LOGITS


@pytest.mark.parametrize(
    ("frame", "options", "words"),
    [
        ({"logits": LOGITS, "label": [1.7, 0.0]}, {}, "class numbers"),
        ({"a": [1.0, 0.0], "b": [0.0, 1.0], "logits": [3.0, 4.0], "label": [0, 1]}, {"logits": ["a", "b"]}, "beside"),
        ({"logits": LOGITS, "label": [0, 1], "split": [None, "test"]}, {}, "needs split"),
    ],
)
def test_frames_of_other_types_are_refused(frame, options, words):
    with pytest.raises(OochubError, match=words):
        Predictions.from_pandas(pd.DataFrame(frame), **options)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("classes", [1.7, 0]),
        ("classes", [1, "b"]),
        ("number", [True, 0.5]),
        ("labels", [["a"], []]),
    ],
)
def test_the_truth_of_a_data_set_is_never_rounded(kind, values):
    """Arrow makes 1 of 1.7 and 1.0 of True where a type is asked for."""
    with pytest.raises(OochubError, match="Name the classes"):
        get_output(kind).truth(values, 2, ["a", "b"])
    assert get_output("classes").truth([1, None], 2, ["a", "b"]).to_pylist() == [1, -1]
    assert get_output("classes").truth(None, 2, ["a", "b"]).to_pylist() == [-1, -1]
    assert get_output("number").truth([1, 0.5], 2, ["a"]).to_pylist() == [1.0, 0.5]


TEXT = datasets.Dataset.from_dict({"array": [[0.0], [1.0]], "label": ["cat", "dog"]})


def test_labels_of_text_say_how_to_name_the_classes():
    """In prediction and training alike, before the model runs; what the message says helps."""
    for use in (lambda: find_output_of_features(TEXT.features), lambda: find_task(TEXT)):
        with pytest.raises(OochubError, match=r'got Value\(\'string\'\).*cast_column\("label", datasets.ClassLabel'):
            use()
    cast = TEXT.cast_column("label", datasets.ClassLabel(names=["cat", "dog"]))
    assert find_output_of_features(cast.features) == find_output_of_features(TEXT.class_encode_column("label").features)
    several = datasets.Features({"labels": datasets.List(datasets.Value("string"))})
    with pytest.raises(OochubError, match=r'cast_column\("labels", datasets.List\(datasets.ClassLabel'):
        find_output_of_features(several)
    assert find_output_of_features(datasets.Features({"label": datasets.Value("null")})) is None


def test_an_unknown_benchmark_is_said():
    """`benchmark=None` is the user's own data and says nothing."""
    columns = CLASSES | {"logits": LOGITS * 20, "label": [0, 1] * 20}
    report = oochub.evaluate(Predictions.from_arrays(**columns, benchmark="birds_of_2031"))
    note = "the benchmark birds_of_2031 is not installed here: its sides, words and the paper's numbers are not used"
    assert note in report.notes
    shown = rendered(report)
    for form in ("terminal", "markdown", "page"):
        assert "is not installed here" in shown[form]
    for own in (None, "custom"):
        assert not oochub.evaluate(Predictions.from_arrays(**columns, benchmark=own)).notes


def test_a_column_with_the_name_of_what_is_computed_is_said():
    """A `score` of the user's own beside logits of two classes: the AUC is that of the logits."""
    columns = CLASSES | {"logits": LOGITS * 20, "label": [0, 1] * 20}
    plain = oochub.evaluate(Predictions.from_arrays(**columns))
    report = oochub.evaluate(Predictions.from_arrays(**columns, score=[0.0] * 40))
    assert report["auc"] == plain["auc"] == 1.0 and not plain.notes
    assert report.notes == ("the column score is not read, because it has the name of a value that is computed here",)


def test_present_classes_are_classes():
    """Fault planted: no check; the class 99 of 2 was an IndexError in evaluate(classes="present")."""
    made = Predictions.from_arrays(**CLASSES)
    content = to_json(made.metadata)
    with pytest.raises(OochubError, match=r"facts.present_classes must be in 0\.\.1, got 99"):
        Predictions(made.table, content | {"facts": {"present_classes": [0, 99]}})


@pytest.mark.parametrize(
    ("version", "words"),
    [(2, "newer oochub.*Update"), (0, "must be 1, got 0"), ("1", "must be 1, got '1'"), (True, "must be 1, got True")],
)
def test_unknown_schema_versions_are_refused(tmp_path, version, words):
    """Fault planted: `check_version` that returns at once."""
    made = Predictions.from_arrays(**CLASSES | {"logits": LOGITS * 20, "label": [0, 1] * 20})
    with pytest.raises(OochubError, match=words):
        Predictions(made.table, to_json(made.metadata) | {"schema_version": version})
    path = oochub.evaluate(made).save(tmp_path / "r.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": version}))
    with pytest.raises(OochubError, match=words):
        oochub.Report.load(path)
