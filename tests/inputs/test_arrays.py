"""Arrays of any number of bands: read, normalized and checked, in training and prediction alike."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Array2D, Array3D, Dataset, Features, List, Value
from input_rows import ROWS

from oochub.errors import OochubError
from oochub.inputs._stored_processors import ArrayProcessor
from oochub.inputs.arrays import Arrays

CPU = torch.device("cpu")


def example() -> tuple[Any, list[Any], Any]:
    """See `input_rows.example_of`."""
    values = np.random.default_rng(0).normal(3, 2, (ROWS, 2, 4, 4))
    processor = ArrayProcessor(column="array", shape=(2, 4, 4), mean=(3.0, 2.5), std=(2.0, 1.5))
    return Array3D((2, 4, 4), "float32"), list(values), processor


def numbers(shape: tuple[int, ...], dtype: Any = np.float32, rows: int = 11) -> Any:
    bands = np.arange(1, 1 + shape[0]).reshape(-1, *[1] * (len(shape) - 1))
    return (np.random.default_rng(0).normal(100 * bands, 10 * bands, (rows, *shape))).astype(dtype)


def stored(values: Any, feature: Any = None) -> Dataset:
    columns = {"example_id": [f"e{k}" for k in range(len(values))], "array": values.tolist()}
    if feature is None:
        return Dataset.from_dict(columns)
    return Dataset.from_dict(columns, Features({"example_id": Value("string"), "array": feature}))


FORMS = {
    "Array3D": (stored(numbers((5, 4, 3)), Array3D((5, 4, 3), "float32")), numbers((5, 4, 3))),
    "Array3D of uint16": (
        stored(numbers((2, 4, 3), np.uint16), Array3D((2, 4, 3), "uint16")),
        numbers((2, 4, 3), np.uint16),
    ),
    "Array2D": (stored(numbers((4, 3)), Array2D((4, 3), "float32")), numbers((4, 3))[:, None]),
    "lists of lists": (stored(numbers((4, 3)), List(List(Value("float64")))), numbers((4, 3))[:, None]),
    "vectors": (stored(numbers((6,)), List(Value("float32"))), numbers((6,))),
    "ndarray": (Dataset.from_dict({"array": numbers((2, 4, 3))}), numbers((2, 4, 3))),
}


@pytest.mark.parametrize("form", FORMS)
def test_equals_numpy(form: str) -> None:
    """Mean and deviation of each band by numpy; training, prediction and a stream read the same."""
    data, values = FORMS[form]
    data = data.select(range(1, 11))  # an offset in Arrow's buffers
    values = values[1:].astype(np.float64)
    axes = (0, *range(2, values.ndim))
    processor = ArrayProcessor.of(data, normalize=True)
    assert processor.shape == values.shape[1:]
    np.testing.assert_allclose(processor.mean, values.mean(axes), rtol=1e-12)
    np.testing.assert_allclose(processor.std, values.std(axes), rtol=1e-9)
    expected = (values - values.mean(axes, keepdims=True)) / values.std(axes, keepdims=True)
    arrays = Arrays(processor)
    rows = [7, 0, 3]
    batch = arrays.fetch(data, None)(rows)
    found = arrays.ready(batch, augment="none", generator=torch.Generator())["pixel_values"]
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found, expected[rows], atol=1e-5)
    for part in (data, data.to_iterable_dataset()):
        batches = list(arrays.batches(part, batch_size=4, device=CPU))
        assert [len(each.inputs["pixel_values"]) for each in batches] == [4, 4, 2]
        found = torch.cat([each.inputs["pixel_values"] for each in batches])
        np.testing.assert_allclose(found, expected, atol=1e-5)
        if "example_id" in data.column_names:
            assert [name for each in batches for name in each.columns["example_id"]] == [f"e{k}" for k in range(1, 11)]


def test_the_record_is_written_and_read(tmp_path: Path) -> None:
    """By hand: mean 2 and 5 of two bands; a constant band keeps a deviation of 1; without normalization, nothing."""
    processor = ArrayProcessor.of(Dataset.from_dict({"array": [[1.0, 5.0], [3.0, 5.0]]}), normalize=True)
    processor.save_pretrained(tmp_path)
    content = json.loads((tmp_path / "arrays.json").read_text())
    assert content == {
        "column": "array", "shape": [2], "mean": [2.0, 5.0], "std": [1.0, 1.0], "argument": "pixel_values"
    }  # fmt: skip
    assert ArrayProcessor.from_pretrained(tmp_path) == processor
    assert Arrays(processor).settings() == {"array_processor": content}
    assert Arrays.of(processor, normalize=False).settings()["array_processor"]["mean"] == []
    (tmp_path / "arrays.json").write_text(json.dumps(content | {"mean": "2"}))
    with pytest.raises(OochubError, match=r"arrays\.json: mean must be a list"):
        ArrayProcessor.from_pretrained(tmp_path)


def test_large_numbers_keep_their_digits() -> None:
    """Values near 1e6 with a deviation of 1: a sum of squares around 0 in float32 would lose it."""
    values = 1e6 + np.random.default_rng(1).normal(size=(600, 3))
    processor = ArrayProcessor.of(Dataset.from_dict({"array": values}), normalize=True)
    np.testing.assert_allclose(processor.std, values.std(0), rtol=1e-6)


def test_rows_that_do_not_fit_are_named() -> None:
    """Planted faults seen: shapes of rows compared with the first row's alone; pixels counted as rows."""
    arrays = Arrays(ArrayProcessor(column="array", shape=(2, 2, 2)))
    cube = np.zeros((2, 2, 2)).tolist()

    def read(rows: list[Any]) -> None:
        list(arrays.batches(Dataset.from_dict({"array": rows}), batch_size=2, device=CPU))

    read([cube, cube, cube])
    broken = np.zeros((2, 2, 2))
    broken[1, 0, 1] = np.nan
    for rows, message in (
        ([cube, cube, broken.tolist()], "row 2: the array has a number that is not finite"),
        ([cube, cube, cube, None], "row 3: there is no array"),
        ([cube, [cube[0], [[0.0, 0.0]]]], "row 1: arrays of 'array' must have one shape"),
        ([[cube[0]], [cube[0]]], r"row 0: the array is \(1, 2, 2\), but the model takes \(2, 2, 2\)"),
    ):
        with pytest.raises(OochubError, match=message):
            read(rows)
    with pytest.raises(OochubError, match="must hold arrays of numbers, got"):
        ArrayProcessor.of(Dataset.from_dict({"array": [["a"]]}))
    with pytest.raises(OochubError, match="has no row"):
        ArrayProcessor.of(Dataset.from_dict({"array": [[1.0]]}).select([]))
    with pytest.raises(OochubError, match=r"^row 300: there is no array"):  # rows are read 256 at a time
        ArrayProcessor.of(Dataset.from_dict({"array": [*[cube] * 300, None]}), normalize=True)
    fetched = arrays.fetch(Dataset.from_dict({"array": [cube, broken.tolist()]}), None)([1])
    assert isinstance(fetched, OochubError)  # travels as a value through worker processes


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"shape": (4, 4)}, "got the shape"),
        ({"mean": (1.0,)}, "mean must be a number for each of the 2 bands"),
        ({"std": (1.0, 0.0)}, "std must be above 0"),
    ],
)
def test_a_record_that_is_wrong_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(OochubError, match=message):
        ArrayProcessor(**{"column": "array", "shape": (2, 4, 4)} | changed)
