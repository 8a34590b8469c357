"""Contract of the kinds of input: found by their file, by a data set's columns and by a processor."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from input_rows import ROWS, inputs_of, rows_of

import oochub
from oochub.errors import OochubError
from oochub.input import check_changes, find_input_kinds, find_processor_kind

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", oochub.names("input"))
def test_training_and_prediction_read_the_same(name: str, tmp_path: Path) -> None:
    """Rows fetched one by one, in any order, with a cache and without, are those of the batches; streams too."""
    data, inputs = rows_of(name), inputs_of(name)
    still = torch.Generator()
    batches = list(inputs.batches(data, batch_size=2, device=CPU))
    assert [name for batch in batches for name in batch.columns["example_id"]] == data["example_id"][:]
    assert [label for batch in batches for label in batch.columns["label"]] == data["label"][:]
    assert all(batch.zoomed is None for batch in batches)
    streamed = list(inputs.batches(data.to_iterable_dataset(), batch_size=2, device=CPU))
    for cache in (None, tmp_path):
        fetch = inputs.fetch(data, cache)
        for start, batch, again in zip((0, 2, 4), batches, streamed, strict=True):
            rows = list(range(start, min(start + 2, ROWS)))
            fetched = fetch(rows)
            assert isinstance(fetched, dict)
            ready = inputs.ready(fetched, augment="none", generator=still)
            assert set(ready) == set(batch.inputs) == set(again.inputs) == set(inputs.probe())
            for key, values in batch.inputs.items():
                torch.testing.assert_close(ready[key], values)
                torch.testing.assert_close(again.inputs[key], values, rtol=0, atol=0)
                assert values.dtype == inputs.probe()[key].dtype and values.ndim == inputs.probe()[key].ndim
    fetched = inputs.fetch(data, None)([4, 0])
    assert isinstance(fetched, dict)
    ready = inputs.ready(fetched, augment="none", generator=still)
    for key, values in ready.items():
        first = batches[0].inputs[key][0]
        torch.testing.assert_close(values[1].flatten()[: first.numel()], first.flatten())


@pytest.mark.parametrize("name", oochub.names("input"))
def test_what_reads_rows_reaches_other_processes(name: str, tmp_path: Path) -> None:
    """Workers that are started anew get it as bytes; a row reads the same there. Planted fault seen: a closure."""
    for cache in (None, tmp_path):
        fetch = inputs_of(name).fetch(rows_of(name), cache)
        own, there = fetch([3, 0]), pickle.loads(pickle.dumps(fetch))([3, 0])  # noqa: S301  our own bytes
        assert isinstance(own, dict) and own and set(there) == set(own)
        for key, values in own.items():
            torch.testing.assert_close(there[key], values, rtol=0, atol=0)


@pytest.mark.parametrize("name", oochub.names("input"))
def test_the_processor_is_saved_and_known(name: str, tmp_path: Path) -> None:
    """A kind knows its own processor and no other; settings are JSON, and equal after saving and loading."""
    kind, inputs = oochub.get("input", name), inputs_of(name)
    assert find_processor_kind(inputs.processor) is kind and find_input_kinds(rows_of(name)) == [kind]
    inputs.processor.save_pretrained(tmp_path)
    again = kind.of(kind.load_processor(str(tmp_path), rows_of(name)))
    assert json.loads(json.dumps(again.settings())) == inputs.settings()
    assert again.provenance()["processor"]


def test_several_columns_and_none() -> None:
    """Images before texts before arrays, whatever the order of the columns."""
    kinds = [kind.__name__ for kind in find_input_kinds(rows_of("texts", "arrays", "pictures"))]
    assert kinds == ["Pictures", "Texts", "Arrays"]
    masks = rows_of("pictures").add_column("mask", [np.zeros((2, 2)).tolist()] * ROWS)
    assert [kind.__name__ for kind in find_input_kinds(masks)] == ["Pictures"]
    with pytest.raises(OochubError, match=r"no column for any kind of input: .*; only label") as raised:
        find_input_kinds(rows_of("texts").select_columns(["label"]))
    assert all(f"'{oochub.get('input', name).column}' ({name})" in str(raised.value) for name in oochub.names("input"))


@pytest.mark.parametrize("name", oochub.names("input"))
def test_changes_of_pictures_are_refused_by_others(name: str) -> None:
    """Planted fault seen: `changes` of the base class not empty."""
    kind = oochub.get("input", name)
    check_changes(kind, augment="none", odin=None, zoom=None)
    for change in ({"augment": "flip"}, {"odin": 0.001}, {"zoom": 1.2}):
        if name == "pictures":
            check_changes(kind, **change)
        else:
            with pytest.raises(OochubError, match=f"is for images. Omit it for {name}"):
                check_changes(kind, **change)
