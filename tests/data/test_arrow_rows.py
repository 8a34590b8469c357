"""Parquet and Arrow files: class names that differ are refused, types that are new mean what they say."""

import datetime
import io
import re
import uuid

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import oochub
from oochub.errors import OochubError

LABELS = [0, 1, 0, 1]


def _dataset(names):
    features = datasets.Features({"label": datasets.ClassLabel(names=names), "n": datasets.Value("int64")})
    return datasets.Dataset.from_dict({"label": LABELS, "n": [1, 2, 3, 4]}, features)


@pytest.mark.parametrize("form", ["splits", "shards", "arrow", "saved", "saved splits", "lists", "card"])
def test_class_names_in_another_order_are_refused(form, tmp_path):
    """Cat and dog are swapped in the second file; before, its labels were read with the names of the first."""
    one, other = _dataset(["cat", "dog"]), _dataset(["dog", "cat"])
    if form == "lists":
        inner = [
            datasets.Features({"label": datasets.List(datasets.ClassLabel(names=n))}) for n in (["a", "b"], ["b", "a"])
        ]
        one, other = (datasets.Dataset.from_dict({"label": [[0], [1]]}, each) for each in inner)
    folder = tmp_path / "pets"
    folder.mkdir()
    if form in ("splits", "lists"):
        one.to_parquet(folder / "train.parquet")
        other.to_parquet(folder / "test.parquet")
    elif form == "shards":
        one.to_parquet(folder / "train-00000-of-00002.parquet")
        other.to_parquet(folder / "train-00001-of-00002.parquet")
    elif form == "arrow":
        for name, part in (("train", one), ("test", other)):
            with (
                pa.OSFile(str(folder / f"{name}.arrow"), "wb") as sink,
                pa.ipc.new_file(sink, part.data.schema) as writer,
            ):
                writer.write_table(part.data.table)
    elif form == "saved":
        one.save_to_disk(folder)
        info = folder / "dataset_info.json"
        info.write_text(re.sub(r'"cat",\s+"dog"', '"dog", "cat"', info.read_text()))
    elif form == "saved splits":
        datasets.DatasetDict(train=one, test=other).save_to_disk(folder)
    else:
        one.to_parquet(folder / "train.parquet")
        lines = [
            "dataset_info:",
            "  features:",
            "  - name: label",
            "    dtype:",
            "      class_label:",
            "        names:",
        ]
        lines += ["          '0': dog", "          '1': cat", "  - name: n", "    dtype: int64"]
        (folder / "README.md").write_text("\n".join(["---", *lines, "---", ""]))
    with pytest.raises(OochubError, match=r"The classes of column 'label' are .* a number would mean another class"):
        oochub.load(folder)


def test_the_same_names_and_no_names_load(tmp_path):
    folder = tmp_path / "pets"
    folder.mkdir()
    for name in ("train", "test"):
        _dataset(["cat", "dog"]).to_parquet(folder / f"{name}.parquet")
    assert oochub.load(folder).num_rows == {"train": 4, "test": 4}
    datasets.DatasetDict(train=_dataset(["a", "b"]), test=_dataset(["a", "b"])).save_to_disk(tmp_path / "saved")
    assert oochub.load(tmp_path / "saved")["test"].features["label"].names == ["a", "b"]


def _png():
    file = io.BytesIO()
    Image.new("RGB", (2, 2)).save(file, "PNG")
    return file.getvalue()


ONE = uuid.UUID(int=7)
NEW = {
    "texts": (pa.array(["x", None, "y"], pa.string_view()), ["x", None, "y"]),
    "bytes": (pa.array([b"x", None, b"y"], pa.binary_view()), [b"x", None, b"y"]),
    "lists": (pa.array([[1], None, [2, 3]], pa.list_view(pa.int64())), [[1], None, [2, 3]]),
    "lists of texts": (pa.array([["a"], [], None], pa.large_list_view(pa.string_view())), [["a"], [], None]),
    "records": (pa.array([{"a": "x"}] * 3, pa.struct([("a", pa.string_view())])), None),
    "categories": (pa.array(["x", None, "y"]).dictionary_encode(), ["x", None, "y"]),
    "runs": (pa.RunEndEncodedArray.from_arrays([1, 3], ["x", "y"]), ["x", "y", "y"]),
    "decimals": (pa.array([1, 2, None], pa.decimal32(5, 2)), None),
    "uuids": (pa.ExtensionArray.from_storage(pa.uuid(), pa.array([ONE.bytes] * 3, pa.binary(16))), [str(ONE)] * 3),
    "days": (pa.array([datetime.date(2020, 1, 2)] * 3), None),
}


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "stream.arrow"])
@pytest.mark.parametrize("name", NEW)
def test_new_types_are_read_as_plain_ones(name, suffix, tmp_path):
    """As polars (views) and duckdb write them; before: "does not have a datasets dtype equivalent"."""
    values, expected = NEW[name]
    table = pa.table({"label": pa.array(["b", "a", "b"], pa.string_view()), "more": values})
    file = tmp_path / f"rows.{suffix}"
    if suffix == "parquet":
        try:
            pq.write_table(table, file)
        except pa.ArrowNotImplementedError:  # runs, and in older ones views
            pytest.skip(f"this pyarrow cannot write {values.type} as Parquet")
    else:
        new = pa.ipc.new_stream if "stream" in suffix else pa.ipc.new_file
        with pa.OSFile(str(file), "wb") as sink, new(sink, table.schema) as writer:
            writer.write_table(table)
    data = oochub.load(file, label="label")["train"]
    assert data["label"][:] == [1, 0, 1]
    if expected is not None:
        assert data["more"][:] == expected


def test_images_as_polars_writes_them(tmp_path):
    """A record of views, and bytes alone with their column named."""
    image = pa.array(
        [{"bytes": _png(), "path": None}] * 2, pa.struct([("bytes", pa.binary_view()), ("path", pa.string_view())])
    )
    label = pa.array(["a", "b"], pa.string_view())
    pq.write_table(pa.table({"image": image, "label": label}), tmp_path / "a.parquet")
    assert oochub.load(tmp_path / "a.parquet")["train"][0]["image"].size == (2, 2)
    pq.write_table(
        pa.table({"photo": pa.array([_png()] * 2, pa.binary_view()), "label": label}), tmp_path / "b.parquet"
    )
    assert oochub.load(tmp_path / "b.parquet", image="photo")["train"][1]["image"].size == (2, 2)
