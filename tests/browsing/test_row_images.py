"""Where the images of rows come from: the data that were predicted, their benchmark, or the predictions."""

import io

import numpy as np
import pyarrow as pa
import pytest
from datasets import Dataset, Features, Image, Value
from PIL import Image as Pictures

from oochub.browsing.row_cards import collect_tiles, find_image_data
from oochub.data.data_source import DataSource
from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.settings.data_settings import DataSettings


class _Sheets:
    """Keeps the gray of each tile."""

    def __init__(self, rows):
        self.has_tile, self.colors = np.zeros(rows, bool), {}

    def add(self, number, tile):
        if tile is not None:
            with Pictures.open(io.BytesIO(tile)) as image:
                self.has_tile[number], self.colors[number] = True, round(float(np.asarray(image).mean()))


def _encode(gray):
    file = io.BytesIO()
    Pictures.new("RGB", (8, 8), (gray,) * 3).save(file, "PNG")
    return file.getvalue()


def _part(**grays):
    rows = {"example_id": list(grays), "image": [{"bytes": _encode(gray), "path": None} for gray in grays.values()]}
    return Dataset.from_dict(rows, Features(example_id=Value("string"), image=Image()))


def _predictions(ids, splits, **more):
    n = len(ids)
    return Predictions.from_arrays(
        logits=np.eye(2)[np.arange(n) % 2], label=[0] * n, example_id=ids, split=splits, **more
    )


def test_each_row_has_the_image_of_its_id_and_split():
    """By hand: other order, a row more on each side, an id in two splits. Planted faults seen: by place; one split."""
    rows = _predictions(["a", "b", "c", "a", "d"], ["test", "test", "test", "train", "train"])
    loaded = {"train": _part(a=10, e=20), "test": _part(c=30, a=40, b=50)}
    said = collect_tiles(rows, loaded, sheets := _Sheets(5))
    assert sheets.colors == {0: 40, 1: 50, 2: 30, 3: 10}
    assert said == "1 of 5 rows have no image in the data, or one that cannot be read."
    without = {"train": loaded["train"].remove_columns("image"), "validation": _part(z=0), "test": loaded["test"]}
    collect_tiles(rows, without, sheets := _Sheets(5))
    assert sorted(sheets.colors) == [0, 1, 2]
    with pytest.raises(OochubError, match="No row of these data with an image is in the predictions"):
        collect_tiles(rows, {"test": _part(x=1)}, _Sheets(5))


def test_images_that_predictions_keep_are_there_if_no_data_are_named():
    """And what is missing is said; if nothing is missing, nothing is."""
    ids, splits = ["a", "b", "c"], ["test"] * 3
    plain = _predictions(ids, splits)
    kept = [plain.with_table(plain.table.append_column("thumbnail", pa.array(each, pa.binary()))) for each in (
        [_encode(10), None, _encode(30)], [_encode(10), _encode(20), _encode(30)],
    )]  # fmt: skip
    assert collect_tiles(plain, None, _Sheets(3)).startswith("There are no images")
    assert collect_tiles(kept[0], None, some := _Sheets(3)).startswith("2 of 3 rows have an image, those that the")
    assert some.colors == {0: 10, 2: 30}
    assert collect_tiles(kept[1], None, _Sheets(3)) == ""


@pytest.mark.parametrize(
    ("about", "data_dir", "expected"),
    [
        ({"benchmark": "waterbirds", "config": "default"}, "raw", "waterbirds/default"),
        ({"benchmark": "waterbirds", "config": "default"}, None, None),
        ({"benchmark": "multinli", "config": "default"}, "raw", None),  # its rows are texts
        ({"benchmark": "of_others", "config": "one"}, "raw", None),
    ],
)
def test_a_benchmark_of_images_is_looked_for_where_its_raw_data_are(about, data_dir, expected, monkeypatch):
    """Planted fault seen: benchmarks of texts are looked for, and those of images are not."""
    asked = []
    monkeypatch.delenv("OOCHUB_DATA", raising=False)
    monkeypatch.setattr("oochub.browsing.row_cards.find_data_folder", lambda declared, folder: folder)
    monkeypatch.setattr(
        "oochub.data.load.open_data",
        lambda source, data, **how: DataSource(given=asked.append(source), rows={"test": _part(a=1)}),
    )
    rows = _predictions(["a", "b"], ["test"] * 2, **about)
    found = find_image_data(rows, None, DataSettings(data_dir=data_dir))
    assert (found is None, asked) == (expected is None, [] if expected is None else [expected])
    assert find_image_data(rows, "folder", DataSettings()) is not None and asked[-1] == "folder"
