"""Arrays and frames of every type that a user might give: an error, or the numbers that a loop over them gives."""

import json
import pickle  # of arguments that this file made
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from drawn_changes import HOSTILE
from drawn_columns import CHALLENGES
from fresh_cases import Change, Reader, every_day, fresh
from fuzz_case import Format, Used
from plain_counts import counted
from test_fresh_predictions import counts_of

import oochub
from oochub.prediction.predictions import Predictions

_FILE = "arguments.pickle"
_ROWS, _NAMES = 24, ["cat", "dog", "owl"]
Given = dict[str, Any]


class NoFrame:
    """An object that is none of what is taken, and has no length."""


def _given() -> Given:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, _ROWS)
    return {
        "logits": rng.normal(size=(_ROWS, 3)) + 1.5 * np.eye(3)[label],
        "label": label,
        "class_names": list(_NAMES),
        "example_id": [f"row {k}" for k in range(_ROWS)],
        "challenge": rng.choice(["easy", "hard_positive", "hard_negative"], _ROWS),
        "group": rng.choice(["day", "night"], _ROWS),
    }


def _frame() -> Given:
    given = _given()
    names = given.pop("class_names")
    frame = pd.DataFrame({name: list(values) for name, values in given.items()})
    frame["label"] = [names[code] for code in given["label"]]
    return {"frame": frame, "class_names": names}


def _make(given: Callable[[], Given]) -> Callable[[Path], Any]:
    return lambda folder: (folder / _FILE).write_bytes(pickle.dumps(given()))


def _used(predictions: Predictions, out: Path) -> Used:
    """What is read of them, and of the file that they are saved as."""
    with TemporaryDirectory(dir=out) as folder:  # what evaluation refuses may be saved all the same
        file = predictions.save(Path(folder) / "saved.parquet")
        report = oochub.evaluate(file, metrics=["accuracy"], resamples=100)
        report.to_markdown()
        counts = counts_of(predictions, report)
        counts["saved"] = counts_of(Predictions.load(file), report)
    return Used(numbers=counts, notes=report.notes, counts=counts)


def _use_arrays(folder: Path, out: Path) -> Used:
    return _used(Predictions.from_arrays(**pickle.loads((folder / _FILE).read_bytes())), out)  # noqa: S301


def _use_frame(folder: Path, out: Path) -> Used:
    given = pickle.loads((folder / _FILE).read_bytes())  # noqa: S301
    return _used(Predictions.from_pandas(given.pop("frame"), **given), out)


def _count(folder: Path) -> Any:
    given = pickle.loads((folder / _FILE).read_bytes())  # noqa: S301
    frame = given.pop("frame", None)
    if frame is not None:
        given |= {name: frame[name].tolist() for name in frame.columns}
    names = given.get("class_names")
    if names is None:
        names = [str(k) for k in range(len(given["logits"][0]))]
    assert isinstance(names, list | tuple | dict | np.ndarray | pd.Index)
    assert all(isinstance(name, str) for name in names)
    columns = {
        "logits": [[_number(cell) for cell in _cells(row)] for row in _cells(given["logits"])],
        "label": [_code(cell, names) for cell in _cells(given["label"])],
        **{
            name: [None if cell != cell or cell is None else _word(cell) for cell in _cells(given[name])]
            for name in ("challenge", "group", "split")
            if given.get(name) is not None and not isinstance(given[name], str)
        },
    }
    if isinstance(given.get("split"), str):
        columns["split"] = [given["split"]] * len(columns["label"])
    assert len({len(values) for values in columns.values()}) == 1
    counts = json.loads(json.dumps(counted(columns, list(names))))
    return {**counts, "saved": counts}


def _cells(values: Any) -> list[Any]:
    """The cells of what has an order; of a masked array those that are not masked are no rows of anything."""
    assert isinstance(values, list | tuple | np.ndarray | pd.Series | pd.Index | pa.Array | pa.ChunkedArray) or (
        hasattr(values, "tolist") and hasattr(values, "shape")
    ), type(values)
    assert not isinstance(values, np.ma.MaskedArray) or not np.ma.getmaskarray(values).any(), "masked"
    return values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else list(values)


def _number(cell: Any) -> float:
    cell = cell.item() if hasattr(cell, "item") else cell
    assert isinstance(cell, int | float | Decimal | Fraction | np.floating) and not isinstance(cell, bool), cell
    number = float(cell)
    assert abs(number) < 3.5e38, number
    return number


def _code(cell: Any, names: Any) -> int:
    cell = cell.item() if hasattr(cell, "item") else cell
    if isinstance(cell, str):
        return list(names).index(cell)
    assert isinstance(cell, int | float) and not isinstance(cell, bool) and int(cell) == cell, cell
    assert -1 <= cell < len(names), cell
    return int(cell)


def _word(cell: Any) -> Any:
    return cell.item() if hasattr(cell, "item") else cell


def _rewritten(change: Callable[[Given, Random], str]) -> Change:
    def changed(folder: Path, rng: Random) -> str:
        given = pickle.loads((folder / _FILE).read_bytes())  # noqa: S301
        done = change(given, rng)
        (folder / _FILE).write_bytes(pickle.dumps(given))
        return done

    return changed


_FORMS: dict[str, Callable[[Any], Any]] = {
    "masked": lambda a: np.ma.masked_array(a, mask=np.arange(a.size).reshape(a.shape) % 5 == 0),
    "masked nowhere": np.ma.masked_array,
    "big endian": lambda a: a.astype(a.dtype.newbyteorder(">")) if a.dtype.kind in "iuf" else a.astype(">U20"),
    "float16": lambda a: a.astype(np.float16) if a.dtype.kind in "iuf" else a,
    "long double": lambda a: a.astype(np.longdouble) if a.dtype.kind in "iuf" else a,
    "uint8": lambda a: a.astype(np.uint8) if a.dtype.kind in "iu" else a,
    "complex": lambda a: a.astype(complex) if a.dtype.kind in "iuf" else a,
    "objects": lambda a: a.astype(object),
    "texts": lambda a: a.astype(str),
    "bytes": lambda a: a.astype(bytes),
    "truths": lambda a: a.astype(bool),
    "a list": lambda a: a.tolist(),
    "a tuple of tuples": lambda a: tuple(map(tuple, a)) if a.ndim == 2 else tuple(a),
    "in Fortran's order": np.asfortranarray,
    "every second of twice": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: a[::-1],
    "a set": lambda a: set(a.ravel().tolist()),
    "a list of sets": lambda a: [{cell} for cell in a.ravel().tolist()][: len(a)],
    "a dict": lambda a: dict(enumerate(a.tolist())),
    "a Series": lambda a: pd.Series(list(a)),
    "a Series in another order": lambda a: pd.Series(list(a), index=range(len(a))[::-1]),
    "a Categorical": lambda a: pd.Series(list(map(str, a))).astype("category"),
    "Arrow": lambda a: pa.array(a.tolist()),
    "a tensor": lambda a: torch.tensor(a.tolist()) if a.dtype.kind in "iuf" else a,
    "bfloat16": lambda a: torch.tensor(a.tolist()).bfloat16() if a.dtype.kind == "f" else a,
    "a tensor with gradients": lambda a: (
        torch.tensor(a.tolist(), requires_grad=a.dtype.kind == "f") if a.dtype.kind in "iuf" else a
    ),
    "nullable": lambda a: pd.array(a.ravel().tolist()[: len(a)]),
    "with NA": lambda a: pd.array([pd.NA, *a.ravel().tolist()[1 : len(a)]]),
    "one axis more": lambda a: a[..., None],
    "flat": np.ravel,
    "one row less": lambda a: a[:-1],
    "no rows": lambda a: a[:0],
    "records": lambda a: np.array([(1, 2)] * len(a), [("a", int), ("b", int)]),
    "dates": lambda a: np.array(["2024-01-01"] * len(a), "datetime64[D]"),
    "decimals": lambda a: [Decimal(str(cell)) for cell in a] if a.ndim == 1 and a.dtype.kind in "iuf" else a,
    "a number": lambda a: 3,
    "no frame": lambda a: NoFrame(),
}


def _form(given: Given, rng: Random) -> str:
    name, (word, form) = rng.choice(("logits", "logits", "label", "challenge", "group")), rng.choice([*_FORMS.items()])
    given[name] = form(np.asarray(given[name]))
    return f"{name} as {word}"


def _cell(given: Given, rng: Random) -> str:
    name = rng.choice(("logits", "label", "example_id", "class_names", "challenge", "group"))
    values = np.asarray(given[name]).tolist()
    new = rng.choice((*HOSTILE, pd.NA, pd.NaT, np.ma.masked, Decimal("1"), Fraction(1, 3), b"cat", {1}, 1j, 10**400))
    at = rng.randrange(len(values))
    if name == "logits":
        values[at][rng.randrange(3)] = new
    else:
        values[at] = new
    given[name] = values
    return f"{name} {at} is {new!r:.40}"


def _names(given: Given, rng: Random) -> str:
    given["class_names"] = new = rng.choice(
        (
            {"cat", "dog", "owl"}, "cdo", "cat", ("cat", "dog", "owl"), np.array(_NAMES), pd.Index(_NAMES), None, [],
            dict.fromkeys(_NAMES), [0, 1, 2], ["cat", "cat", "owl"], ["cat", "dog"], [*_NAMES, "gull"],
            ["dog", "cat", "owl"], ["cat", "dog", "owl "], ["cat", "dog", "\ud800"], [b"cat", b"dog", b"owl"],
            ["cat", None, "owl"], [True, False, True], ["0", "2", "1"], frozenset(_NAMES), ["", " ", "  "],
            [1.0, 2.0, 3.0], ["cat", "Cat", "CAT"], str, NoFrame(),
        )
    )  # fmt: skip
    return f"class names {new!r:.60}"


def _words(given: Given, rng: Random) -> str:
    new = rng.choice((*CHALLENGES, 0, 1, 2, True, False, None, "easy", 0.0, b"easy"))
    values = list(given["challenge"])
    whole = rng.random() < 0.4
    given["challenge"] = [new if whole or k % 5 == 0 else value for k, value in enumerate(values)]
    return f"challenge {new!r} in {'all' if whole else 'some'} rows"


def _stale(given: Given, rng: Random) -> str:
    name = rng.choice(("prediction", "confidence", "loss"))
    for each in ("prediction", "confidence", "loss"):
        if each == name or rng.random() < 0.5:
            given[each] = list(np.asarray(given["label"])) if each == "prediction" else [rng.random()] * _ROWS
    return "stale columns"


def _labels(given: Given, rng: Random) -> str:
    label = np.asarray(given["label"])
    word, new = rng.choice(
        (
            ("names", [_NAMES[code] for code in label]), ("digits", list(map(str, label))), ("floats", label + 0.0),
            ("halves", label + 0.5), ("one more", label + 1), ("-1", np.where(label == 0, -1, label)),
            ("-2", label - 2), ("truths", label > 0), ("nan", np.where(label == 0, np.nan, label)),
            ("huge", [2**70, *label[1:].tolist()]), ("2^64 - 1", np.full(_ROWS, 2**64 - 1, np.uint64)),
            ("a column", label[:, None]), ("one for all", label[:1]), ("names of another case", ["CAT"] * _ROWS),
            ("names and numbers", ["cat", *label[1:].tolist()]), ("one hot", np.eye(3, dtype=int)[label]),
        )
    )  # fmt: skip
    given["label"] = new
    return f"labels as {word}"


def _whole(given: Given, rng: Random) -> str:
    key = rng.choice(("split", "kind", "benchmark", "config", "model", "extra"))
    given[key] = new = rng.choice((*HOSTILE, ["test"] * (_ROWS - 1) + ["tset"], ["a"] * _ROWS, ["test"] * _ROWS))
    return f"{key}={new!r:.40}"


def _in_frame(given: Given, rng: Random) -> str:
    frame = given["frame"]
    word = rng.choice(
        ("twice", "index", "levels", "categories", "nullable", "arrow", "order", "dict", "list", "none", "label gone",
         "rows", "filtered", "numbers as names", "stale", "several logits", "numpy", "series", "object")
    )  # fmt: skip
    changes: dict[str, Callable[[], Any]] = {
        "twice": lambda: pd.concat([frame, frame[["label"]]], axis=1),
        "index": lambda: frame.set_index("example_id"),
        "levels": lambda: frame.set_axis(pd.MultiIndex.from_product([["a"], frame.columns]), axis=1),
        "categories": lambda: frame.astype({"label": "category", "group": "category"}),
        "nullable": lambda: frame.convert_dtypes(),
        "arrow": lambda: frame.astype({"label": "string[pyarrow]"}),
        "order": lambda: frame.sample(frac=1, random_state=rng.randrange(99)),
        "dict": lambda: frame.to_dict("list"),
        "list": lambda: frame.to_dict("records"),
        "none": lambda: None,
        "label gone": lambda: frame.drop(columns="label"),
        "rows": lambda: frame.iloc[:0],
        "filtered": lambda: frame[frame["group"] == "day"],
        "numbers as names": lambda: frame.rename(columns={"group": 0, "challenge": 1}),
        "stale": lambda: frame.assign(prediction=0, confidence=1.0, loss=0.0),
        "several logits": lambda: frame.assign(logit=1.0),
        "numpy": lambda: frame.to_numpy(),
        "series": lambda: frame["logits"],
        "object": NoFrame,
    }
    given["frame"] = changes[word]()
    return f"the frame: {word}"


def _column_of_frame(change: Callable[[Given, Random], str]) -> Callable[[Given, Random], str]:
    """A change of arrays made in the frame's columns."""

    def changed(given: Given, rng: Random) -> str:
        frame = given["frame"]
        columns: Given = {name: list(frame[name]) for name in frame} | {"class_names": given["class_names"]}
        columns["logits"] = np.array(columns["logits"])
        done = change(columns, rng)
        given["class_names"] = columns.pop("class_names")
        kept = {name: values for name, values in columns.items() if hasattr(values, "__len__") and values is not None}
        try:
            given["frame"] = pd.DataFrame({name: _of_rows(values) for name, values in kept.items()})
        except (ValueError, TypeError, OverflowError):  # no frame holds that
            return f"nothing: {done}"
        return done

    return changed


def _of_rows(values: Any) -> Any:
    return list(values) if isinstance(values, np.ndarray) and values.ndim > 1 else values


_OF_ARRAYS = {
    "types": _form,
    "values": _cell,
    "class names": _names,
    "challenge words": _words,
    "stale columns": _stale,
    "labels": _labels,
    "arguments": _whole,
}
_THINGS = (
    *("logits", "label", "class_names", "class name", "challenge", "group", "example_id", "split", "kind", "frame"),
    *("benchmark", "config", "model", "extra", "Arrays", "array", "column", "Labels"),
    *("prediction", "names"),
)
ARRAYS = Format(name="from_arrays", make=_make(_given), use=_use_arrays, names=_THINGS, count=_count)
FRAMES = Format(name="from_pandas", make=_make(_frame), use=_use_frame, names=_THINGS, count=_count)
READERS = (
    Reader(kind=ARRAYS, changes={name: _rewritten(change) for name, change in _OF_ARRAYS.items()}, share=2.0),
    Reader(
        kind=FRAMES,
        changes={
            "frames": _rewritten(_in_frame),
            **{
                name: _rewritten(_column_of_frame(change))
                for name, change in _OF_ARRAYS.items()
                if name not in ("arguments", "labels")
            },
        },
    ),
)


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", fresh(READERS))
def test_arrays(campaign, kind, case):
    campaign.run(kind, case)


@pytest.mark.parametrize("kind, case", every_day(READERS))
def test_arrays_every_day(campaign, kind, case):
    campaign.run(kind, case)
