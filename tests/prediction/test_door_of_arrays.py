"""The door of arrays: whatever a user calls an array is taken with its own numbers, or refused by the argument's name.

The numbers of what is taken are counted by scikit-learn on plain lists.
"""

import collections
import datetime
import decimal
import fractions
import re
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
import torch
from sklearn.metrics import accuracy_score, log_loss

import oochub
from oochub import Predictions
from oochub.errors import OochubError

N = 12
RNG = np.random.default_rng(11)
LOGITS = [[round(float(number), 2) for number in row] for row in RNG.normal(size=(N, 3))]
LABEL = [int(number) for number in RNG.integers(0, 3, N)]
NAMES = ["cat", "dog", "owl"]
GROUP = ["day", "night", "day"] * 4
TEXT = [NAMES[number] for number in LABEL]
F, Y = np.array(LOGITS), np.array(LABEL)
HALF = "\ud800"


class Jax:
    """What an array of another library is to NumPy."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.values if dtype is None else self.values.astype(dtype)


class Stream:
    """A column or a table of a library that speaks Arrow, such as polars."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.values.__arrow_c_stream__(requested_schema)


class StreamFrame(Stream):
    columns = ("as in polars",)


def masked(values: Any, *rows: int) -> np.ma.MaskedArray:
    array = np.ma.masked_array(values, mask=False)
    for row in rows:
        array[row] = np.ma.masked
    return array


def objects(rows: Any) -> np.ndarray:
    array = np.empty(len(rows), object)
    array[:] = rows
    return array


def of_first(values: Any, first: Any) -> list[Any]:
    return [first, *list(values)[1:]]


LOGITS_TAKEN: dict[str, Any] = {
    "lists": LOGITS,
    "tuples": tuple(map(tuple, LOGITS)),
    "a deque": collections.deque(LOGITS),
    "a generator": lambda: (row for row in LOGITS),
    "float16": np.float16(F),
    "float32": np.float32(F),
    "the longest float": np.longdouble(F),
    "big endian": F.astype(">f8"),
    "a matrix": np.matrix(F),
    "objects of lists": objects(LOGITS),
    "objects of arrays": objects(list(F)),
    "a list of arrays": list(F),
    "whole numbers and fractions": [[1, 0.5, 0], *LOGITS[1:]],
    "a masked array without a mask": masked(F),
    "a tensor with gradient": torch.tensor(F, requires_grad=True),
    "a tensor of bfloat16": torch.tensor(F).bfloat16(),
    "a tensor negated": torch._neg_view(torch.tensor(-F)),
    "a list of tensors": [torch.tensor(row, requires_grad=True) for row in LOGITS],
    "as of jax": Jax(F),
    "a series of lists": pd.Series(LOGITS),
    "a series of Arrow": pd.Series(LOGITS, dtype=pd.ArrowDtype(pa.list_(pa.float64()))),
    "Arrow of a fixed size": pa.array(LOGITS, pa.list_(pa.float32(), 3)),
    "Arrow in pieces": pa.chunked_array([LOGITS[:5], LOGITS[5:]]),
    "a stream of Arrow": Stream(pa.chunked_array([LOGITS])),
}
LABEL_TAKEN: dict[str, Any] = {
    "a list": LABEL,
    "a generator": lambda: (number for number in LABEL),
    "int8": np.int8(Y),
    "uint64": np.uint64(Y),
    "big endian": Y.astype(">i4"),
    "objects": Y.astype(object),
    "arrays of no dimension": [np.array(number) for number in LABEL],
    "a masked array without a mask": masked(Y),
    "a tensor of int8": torch.tensor(Y).to(torch.int8),
    "a list of tensors": [torch.tensor(number) for number in LABEL],
    "as of jax": Jax(Y),
    "a series": pd.Series(LABEL),
    "a series of another index": pd.Series(LABEL, index=range(N, 0, -1)),
    "Int64": pd.Series(LABEL, dtype="Int64"),
    "a categorical of numbers": pd.Series(pd.Categorical(LABEL)),
    "a categorical of names": pd.Series(pd.Categorical(TEXT, categories=["owl", "dog", "cat"])),
    "sparse": pd.arrays.SparseArray(LABEL),
    "names": TEXT,
    "names in pandas": pd.Series(TEXT, dtype="string"),
    "names coded in Arrow": pa.array(TEXT).dictionary_encode(),
    "Arrow": pa.array(LABEL, pa.int16()),
    "a stream of Arrow": Stream(pa.chunked_array([LABEL])),
}
LOGITS_REFUSED: dict[str, Any] = {
    "a masked entry": np.ma.masked_array(F, mask=np.eye(N, 3, -3, dtype=bool)),
    "rows masked in a list": [np.ma.masked_array(row, mask=[0, 1, 0]) for row in F],
    "sets": [set(row) for row in LOGITS],
    "a set": {tuple(row) for row in LOGITS},
    "a dict": dict(enumerate(LOGITS)),
    "rows of dicts": [dict(zip(NAMES, row, strict=True)) for row in LOGITS],
    "a text": "0.1 0.2",
    "bytes": b"0.1",
    "names": ["x", "y", "y"] * 4,
    "texts of objects": F.astype(str).astype(object),
    "complex numbers": F + 1j,
    "dates": np.full((N, 3), "2020-01-01", "datetime64[D]"),
    "records": np.array([tuple(row) for row in LOGITS], dtype=[(name, "f8") for name in NAMES]),
    "decimals": [[decimal.Decimal(str(number)) for number in row] for row in LOGITS],
    "ratios": [[fractions.Fraction(number) for number in row] for row in LOGITS],
    "integers beyond 64 bits": of_first(LOGITS, [2**70, 0, 1]),
    "beyond float32": of_first(LOGITS, [1e300, 0.0, 1.0]),
    "a row of None": of_first(LOGITS, None),
    "None in a row": of_first(LOGITS, [None, 0.0, 1.0]),
    "a truth in a row": of_first(LOGITS, [True, 0.5, 1.0]),
    "a truth in a row of objects": of_first(LOGITS, np.array([0.5, np.True_, 1.0], object)),
    "NA in a row": of_first(LOGITS, [pd.NA, 0.0, 1.0]),
    "ragged objects": objects(of_first(LOGITS, [0.1])),
    "turned": F.T,
    "one number": 0.5,
    "no dimension": np.array(0.5),
    "of three dimensions": F[:, :, None],
    "a frame": pd.DataFrame(F),
    "sparse": scipy.sparse.csr_matrix(F),
    "a sparse tensor": torch.tensor(F).to_sparse(),
    "a tensor on no device": torch.empty(N, 3, device="meta"),
    "an object": object(),
    "a function": len,
}
LABEL_REFUSED: dict[str, Any] = {
    "masked": masked(Y, 3),
    "masked in a list": of_first(LABEL, np.ma.masked),
    "a set": set(range(N)),
    "a dict": dict(enumerate(LABEL)),
    "a text": "012" * 4,
    "one number": 1,
    "no dimension": np.array(1),
    "a column": Y[:, None],
    "truths among numbers": of_first(LABEL, True),
    "truths first": of_first([True] * N, 0),
    "bytes": [name.encode() for name in TEXT],
    "bytes of NumPy": np.array(TEXT, "S"),
    "digits": list(map(str, LABEL)),
    "names among numbers": of_first(LABEL, "cat"),
    "half a character": of_first(TEXT, HALF),
    "dates": np.full(N, "2020-01-01", "datetime64[D]"),
    "beyond 64 bits": of_first(LABEL, 2**70),
    "beyond 63 bits": of_first(LABEL, 2**63),
    "below -1": of_first(LABEL, -2),
    "None": of_first(LABEL, None),
    "NA": pd.Series(of_first(LABEL, None), dtype="Int64"),
    "NA in a list": of_first(LABEL, pd.NA),
    "nan": pd.Series(of_first(LABEL, None)),
    "NaT": of_first(LABEL, pd.NaT),
    "no name": pd.Series(of_first(TEXT, None)),
    "decimals": list(map(decimal.Decimal, LABEL)),
    "a sparse tensor": torch.tensor(Y).to_sparse(),
}
OTHERS_REFUSED: dict[str, dict[str, Any]] = {
    "class_names a set": {"class_names": set(NAMES)},
    "class_names a dict": {"class_names": {"owl": 2, "cat": 0, "dog": 1}},
    "class_names bytes": {"class_names": [b"a", b"b", b"c"]},
    "class_names with none": {"class_names": ["cat", None, "owl"]},
    "class_names with half a character": {"class_names": ["cat", "dog", HALF]},
    "class_names one number": {"class_names": 3},
    "example_id a set": {"example_id": set(map(str, range(N)))},
    "example_id masked": {"example_id": masked(np.arange(N), 2)},
    "example_id NA": {"example_id": pd.Series(of_first(range(N), None), dtype="Int64")},
    "example_id NA in a list": {"example_id": of_first(range(N), pd.NA)},
    "example_id NaT": {"example_id": of_first(range(N), pd.NaT)},
    "example_id nan": {"example_id": of_first(range(N), np.nan)},
    "example_id bytes": {"example_id": [str(k).encode() for k in range(N)]},
    "example_id lists": {"example_id": [[k] for k in range(N)]},
    "example_id half a character": {"example_id": of_first(range(N), HALF)},
    "example_id one": {"example_id": 7},
    "example_id a dict": {"example_id": dict.fromkeys(range(N))},
    "split none": {"split": None},
    "split a number": {"split": 3},
    "split a set": {"split": {"test"}},
    "split NA": {"split": of_first(["test"] * N, pd.NA)},
    "model half a character": {"model": HALF},
    "model a number": {"model": 3},
    "kind unknown": {"kind": "klasses"},
    "group a set": {"group": set(range(N))},
    "group masked": {"group": masked(np.array(GROUP), 0)},
    "group lists": {"group": [[each] for each in GROUP]},
    "group half a character": {"group": of_first(GROUP, HALF)},
    "group half a character in NumPy": {"group": np.array(of_first(GROUP, HALF))},
    "group an object": {"group": [object()] * N},
    "group a dict": {"group": dict(enumerate(GROUP))},
    "area beyond 64 bits": {"area": of_first(range(N), 2**70)},
    "area complex": {"area": Y + 1j},
    "area several types": {"area": of_first(range(N), "large")},
    "features ragged": {"features": of_first(LOGITS, [0.1])},
    "features sets": {"features": [set(row) for row in LOGITS]},
    "a column whose name is half a character": {HALF: LABEL},
}
OTHERS_TAKEN: dict[str, dict[str, Any]] = {
    "class_names of NumPy": {"class_names": np.array(NAMES)},
    "class_names of pandas": {"class_names": pd.Series(NAMES)},
    "class_names a generator": {"class_names": iter(NAMES)},
    "example_id a tensor": {"example_id": torch.arange(N)},
    "example_id of uuids": {"example_id": [uuid.UUID(int=k) for k in range(N)]},
    "example_id of paths": {"example_id": [Path(f"{k}.jpg") for k in range(N)]},
    "example_id mixed": {"example_id": of_first(range(N), "a")},
    "group categorical": {"group": pd.Categorical(GROUP)},
    "group of pandas": {"group": pd.Series(GROUP, dtype="string")},
    "group of dates": {"taken": [datetime.date(2020, 1, 1)] * N},
    "area of bfloat16": {"area": torch.arange(N).bfloat16()},
}


def value(made: Any) -> Any:
    return made() if callable(made) and made is not len else made


def counted(logits: list[list[float]], label: list[int]) -> dict[str, float]:
    """By scikit-learn, of plain lists."""
    scores = np.array(logits, np.float64)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return {"accuracy": accuracy_score(label, scores.argmax(axis=1)), "nll": log_loss(label, shares, labels=[0, 1, 2])}


def assert_same(predictions: Predictions, logits: list[list[float]], label: list[int], *, near: float) -> None:
    report, expected = oochub.evaluate(predictions, metrics=["accuracy", "nll"], resamples=100), counted(logits, label)
    assert report["accuracy"].value == expected["accuracy"] and report["accuracy"].n == N
    assert report["nll"].value == pytest.approx(expected["nll"], rel=near) and not report.notes


@pytest.mark.parametrize("name", LOGITS_TAKEN)
def test_logits_that_are_taken_have_their_own_numbers(name):
    first = [1, 0.5, 0] if name.startswith("whole") else LOGITS[0]
    near = 2e-2 if "16" in name else 1e-6
    made = Predictions.from_arrays(logits=value(LOGITS_TAKEN[name]), label=LABEL, class_names=NAMES)
    assert made.logits == pytest.approx(np.array([first, *LOGITS[1:]]), rel=near, abs=1e-6)
    assert_same(made, [first, *LOGITS[1:]], LABEL, near=near)


@pytest.mark.parametrize("name", LABEL_TAKEN)
def test_labels_that_are_taken_have_their_own_numbers(name, tmp_path):
    """A frame with the same column gives the same; so does the file that is saved of it."""
    made = Predictions.from_arrays(logits=F, label=value(LABEL_TAKEN[name]), class_names=NAMES)
    assert made.label.tolist() == LABEL
    assert_same(Predictions.load(made.save(tmp_path / "p.parquet")), LOGITS, LABEL, near=1e-6)
    column = value(LABEL_TAKEN[name])
    if isinstance(column, list | tuple | np.ndarray | pd.Series | pd.Index) and name != "a list of tensors":
        frame = pd.DataFrame(F, columns=NAMES)
        frame["label"] = column.to_numpy() if isinstance(column, pd.Series) and column.index[0] else column
        assert Predictions.from_pandas(frame, logits=NAMES).digest == made.digest


@pytest.mark.parametrize("name", OTHERS_TAKEN)
def test_other_arguments_that_are_taken(name):
    arrays: dict[str, Any] = {"logits": F, "label": LABEL, "class_names": NAMES}
    made = Predictions.from_arrays(**arrays | OTHERS_TAKEN[name])
    assert_same(made, LOGITS, LABEL, near=1e-6)
    given = OTHERS_TAKEN[name]
    if "group" in given:
        assert made.column("group").tolist() == GROUP
    if "area" in given:
        assert made.column("area").tolist() == list(range(N))
    if "example_id" in given and "tensor" in name:
        assert made.column("example_id").tolist() == list(map(str, range(N)))
    assert made.class_names == NAMES


REFUSED = [
    *((f"logits {name}", "logits", {"logits": made}) for name, made in LOGITS_REFUSED.items()),
    *((f"label {name}", "label", {"label": made}) for name, made in LABEL_REFUSED.items()),
    *((name, next(iter(arrays)), arrays) for name, arrays in OTHERS_REFUSED.items()),
]
_WORDS = {"class_names": "class_names|logits", "example_id": "example", "label": "label|Label", "kind": "output|kind"}


@pytest.mark.parametrize(("name", "argument", "arrays"), REFUSED, ids=[name for name, _, _ in REFUSED])
def test_what_is_refused_is_an_error_that_names_the_argument(name, argument, arrays):
    given: dict[str, Any] = {"logits": F, "label": LABEL, "class_names": NAMES}
    with pytest.raises(OochubError) as refused:
        Predictions.from_arrays(**given | {key: value(made) for key, made in arrays.items()})
    words = str(refused.value)
    words.encode()  # it can be printed
    assert re.search(_WORDS.get(argument, re.escape(argument)), words) or argument == HALF, words
    assert len(words) < 1000 and words.endswith((".", "'."))


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({**dict(zip(NAMES, F.T, strict=True)), "label": TEXT, **columns})


FRAMES_REFUSED: dict[str, Any] = {
    "a list": (lambda: [1, 2], {}, "frame must be a DataFrame"),
    "an array": (lambda: F, {}, "frame must be a DataFrame"),
    "a dict": (lambda: {"label": LABEL, "logits": LOGITS}, {}, "frame must be a DataFrame"),
    "None": (lambda: None, {}, "frame must be a DataFrame"),
    "a series": (lambda: pd.Series(LABEL), {}, "frame must be a DataFrame"),
    "a path": (lambda: "p.csv", {}, "frame must be a DataFrame"),
    "a column twice": (
        lambda: pd.concat([frame(), pd.Series(LABEL, name="dog")], axis=1),
        {"logits": NAMES},
        "column dog twice",
    ),
    "a column twice as text": (lambda: frame(**{"1": LABEL}).rename(columns={"cat": 1}), {}, "1 twice"),
    "columns of two levels": (lambda: pd.concat({"a": frame()}, axis=1), {}, "2 levels"),
    "a column of logits named twice": (frame, {"logits": ["cat", "dog", "dog"]}, "'dog' twice"),
    "logits a set": (frame, {"logits": set(NAMES)}, "logits must be a list of text, got a set"),
    "logits numbers": (frame, {"logits": [0, 1, 2]}, r"logits\[0\] must be text"),
    "logits of text": (lambda: frame(owl=TEXT), {"logits": NAMES}, "'owl'.*must hold numbers, got"),
    "logits of truths": (lambda: frame(owl=[True] * N), {"logits": NAMES}, "'owl'.*must hold numbers, got bool"),
    "logits with NA": (
        lambda: frame(owl=pd.Series(of_first(F[:, 2], None), dtype="Float64")),
        {"logits": NAMES},
        "'owl'.*must hold numbers, got no value in 1 rows",
    ),
    "classes in another order": (
        frame,
        {"logits": NAMES, "class_names": ["dog", "cat", "owl"]},
        "cat stands at another place",
    ),
    "classes in another order behind a prefix": (
        lambda: frame().rename(columns={name: f"logit_{name}" for name in NAMES}),
        {"logits": [f"logit_{name}" for name in NAMES], "class_names": ["owl", "dog", "cat"]},
        "another place",
    ),
    "one column that is not there": (frame, {"logits": "score"}, "no column score"),
    "a label that is no class": (lambda: frame(label=of_first(TEXT, "gull")), {"logits": NAMES}, "got gull"),
    "a label missing": (lambda: frame(label=of_first(TEXT, None)), {"logits": NAMES}, "label empty"),
    "an id missing": (lambda: frame(example_id=of_first(TEXT, pd.NA)), {"logits": NAMES}, "needs example_id"),
    "class_names a set": (frame, {"logits": NAMES, "class_names": set(NAMES)}, "class_names must be a list"),
}


@pytest.mark.parametrize("name", FRAMES_REFUSED)
def test_a_frame_that_is_refused_says_why(name):
    make, options, words = FRAMES_REFUSED[name]
    with pytest.raises(OochubError, match=words):
        Predictions.from_pandas(make(), **options)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (frame, {"logits": NAMES}),
        (lambda: frame().convert_dtypes(), {"logits": NAMES}),
        (lambda: frame().convert_dtypes(dtype_backend="pyarrow"), {"logits": tuple(NAMES)}),
        (lambda: frame().astype({"label": "category"}), {"logits": pd.Index(NAMES)}),
        (lambda: frame().astype({"label": object, "cat": object}), {"logits": NAMES}),
        (lambda: frame(label=LABEL), {"logits": NAMES}),
        (lambda: frame(label=pd.Series(LABEL, dtype=object)), {"logits": NAMES}),
        (lambda: frame()[["label", "owl", "cat", "dog"]], {"logits": NAMES}),
        (lambda: frame().set_index(pd.Index(range(N, 0, -1))), {"logits": NAMES}),
        (lambda: pa.Table.from_pandas(frame()), {"logits": NAMES}),
        (lambda: StreamFrame(pa.Table.from_pandas(frame())), {"logits": NAMES}),
        (lambda: pd.DataFrame({"logits": LOGITS, "label": TEXT}), {"class_names": NAMES}),
        (lambda: pd.DataFrame({"scores": LOGITS, "label": TEXT}), {"class_names": NAMES, "logits": "scores"}),
        (
            lambda: pd.DataFrame(dict(zip("abc", F.T, strict=True)) | {"label": TEXT}),
            {"logits": [*"abc"]} | {"class_names": NAMES},
        ),
    ],
)
def test_a_frame_that_is_taken_has_its_own_numbers(make, options):
    made = Predictions.from_pandas(make(), **options)
    assert made.class_names == NAMES
    assert_same(made, LOGITS, LABEL, near=1e-6)


def test_numbers_as_objects_are_no_names_of_classes():
    """By hand: every row is answered right."""
    rows = pd.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0], "label": pd.Series([0, 1], dtype=object)})
    made = Predictions.from_pandas(rows, logits=["a", "b"], class_names=["1", "0"])
    assert made.label.tolist() == [0, 1] == made.prediction.tolist()


def test_logits_that_are_equal_in_float32_are_said():
    """By hand: of three rows the first has its larger logit second, by less than float32 can tell."""
    logits = np.array([[1.0, 1.0 + 1e-12], [2.0, 0.0], [0.0, 1.0]])
    for given in (logits, logits.tolist(), torch.tensor(logits)):
        made = Predictions.from_arrays(logits=given, label=[1, 0, 1])
        assert made.metadata.notes == ("the largest logit of 1 rows is another one in float32, which is kept",)
        assert made.metadata.notes[0] in oochub.evaluate(made, resamples=100).notes
    assert not Predictions.from_arrays(logits=np.float32(logits), label=[1, 0, 1]).metadata.notes


def test_labels_of_zeros_and_ones_as_whole_numbers_are_doubtful():
    """Fault seen: [[0, 1], [1, 0]] was read as both labels in both rows; as floats it is one in each."""
    logits = [[2.0, -1.0], [-1.0, 2.0]]
    for labels in ([[0, 1], [1, 0]], np.array([[0, 1], [0, 1]]), torch.tensor([[1, 0], [0, 1]])):
        with pytest.raises(OochubError, match=r"Whole numbers in labels.*Pass these as floats"):
            Predictions.from_arrays(logits=logits, labels=labels)
    assert Predictions.from_arrays(logits=logits, labels=[[0.0, 1.0], [1.0, 0.0]]).label.tolist() == [[0, 1], [1, 0]]
    assert Predictions.from_arrays(logits=logits, labels=[[0], [0, 1]]).label.tolist() == [[1, 0], [1, 1]]
