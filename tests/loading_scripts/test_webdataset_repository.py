"""Every benchmark's toy as shards: webdataset, plain datasets and oochub read the rows of the Parquet repository."""

import json
import re
from typing import Any

import datasets
import pytest
from datasets import Dataset, DatasetDict, Image, load_dataset
from tried_configs import TRIED, tried_few

import oochub
from oochub.loading_scripts.build_repository import build_parquet, build_webdataset
from oochub.records.build_record import BuildRecord, drop_build_column


def _built(raw, tmp_path, benchmark, config):
    """The two repositories, and the rows of the Parquet one as plain `datasets` reads them."""
    name = f"{benchmark}/{config}"
    folders = [tmp_path / form / benchmark for form in ("parquet", "webdataset")]
    build_parquet(name, folders[0], data_dir=str(raw(name)))
    build_webdataset(name, folders[1], data_dir=str(raw(name)))
    return load_dataset(str(folders[0]), config), folders[1]


def _undecoded(part: Dataset) -> Dataset:
    return part.cast_column("image", Image(decode=False)) if "image" in part.features else part


def _text(row: dict[str, Any]) -> str:
    """All but the image, so that it compares exactly, nan equal to nan."""
    return json.dumps({**row, "image": None}, sort_keys=True)


def _flat(data: DatasetDict) -> DatasetDict:
    """As the card says."""
    data = data.flatten().remove_columns("json.image")
    first = next(iter(data.values()))
    names = {name: name.removeprefix("json.") if "json." in name else "image" for name in first.features}
    return data.rename_columns(names)


def test_every_benchmark_is_covered():
    assert {name for name, _ in TRIED} == set(oochub.names("benchmark"))


@pytest.mark.parametrize("tried", tried_few(pytest.mark.campaign))
def test_three_readers_give_the_rows_of_parquet(raw, tmp_path, tried):
    """To the last bit; planted: floats of seven digits, class names for numbers, a shard without its last sample."""
    wds = pytest.importorskip("webdataset", reason="pip install 'oochub[webdataset]'")
    if oochub.get("benchmark", tried[0]).of(tried[1]).task_category != "image-classification":
        pytest.skip("rows without images")
    expected, folder = _built(raw, tmp_path, *tried)
    again = oochub.load(folder, config=tried[1])
    plain = _flat(load_dataset(str(folder), tried[1]))
    named = {"datasets": datasets, "folder": str(folder), "config": tried[1]}
    (code,) = re.findall(r"```python\n(rows = .*?)```", (folder / "README.md").read_text("utf-8"), re.DOTALL)
    exec(code, named)  # noqa: S102  the lines that the card prints
    assert named["rows"].with_format("arrow")[:].equals(plain["test"].with_format("arrow")[:])
    for split, part in expected.items():
        rows, own, other = _undecoded(part), _undecoded(again[split]), _undecoded(plain[split])
        features = drop_build_column(part).features
        assert list(again[split].features.items()) == list(features.items())
        assert own.with_format("arrow")[:].equals(rows.with_format("arrow")[:])
        text = BuildRecord.of(part.info).text
        assert dict(plain[split].remove_columns("build").features) == dict(features)
        shards = sorted(map(str, (folder / tried[1]).glob(f"{split}-*.tar")))
        samples = list(wds.WebDataset(shards, shardshuffle=False))
        for row, back, sample in zip(rows, other, samples, strict=True):
            record = json.loads(sample["json"])
            assert record.pop("build") == back.pop("build") == text
            assert _text(row) == _text(back) == _text(record)
            if "image" in row:
                (content,) = [sample[name] for name in sample if name != "json" and not name.startswith("__")]
                assert row["image"]["bytes"] == back["image"]["bytes"] == content
                assert row["image"]["path"] == record["image"]
