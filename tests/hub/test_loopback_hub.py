"""The loopback Hub: every client call of the tests is the real one, and it refuses as the Hub does."""

from loopback_hub import LoopbackHub


def test_a_data_set_that_was_pushed_loads_and_streams(hub: LoopbackHub) -> None:
    """Both with the library's own functions, which ask the endpoints that the Hub has."""
    from datasets import Dataset, DatasetDict, load_dataset

    rows = Dataset.from_dict({"label": list(range(7)), "name": [f"row {number}" for number in range(7)]})
    DatasetDict(train=rows, test=rows.select([1, 3])).push_to_hub(
        "user/data", "first", num_shards={"train": 3, "test": 1}
    )
    rows.push_to_hub("user/data", "second", split="test")
    assert len([name for name in hub.files("datasets/user/data") if name.endswith(".parquet")]) == 5
    loaded = load_dataset("user/data", "first")
    assert loaded["train"].to_list() == rows.to_list()
    assert loaded["test"].to_list() == rows.select([1, 3]).to_list()
    assert list(load_dataset("user/data", "second", split="test", streaming=True)) == rows.to_list()
