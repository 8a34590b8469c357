"""`oochub.predict` takes the data as the command does: by name, or in memory."""

from pathlib import Path

import numpy as np
import pytest
from array_rows import array_data, array_model

import oochub


def test_data_that_are_named_give_what_the_same_data_in_memory_give(tmp_path: Path) -> None:
    """Planted fault seen: one split of a name alone."""
    array_model(tmp_path / "model")
    data = array_data(validation=6, test=9)
    data.save_to_disk(tmp_path / "data")
    named, in_memory = (oochub.predict(tmp_path / "model", each) for each in (tmp_path / "data", data))
    assert len(named) == 15
    np.testing.assert_array_equal(named.logits, in_memory.logits)
    np.testing.assert_array_equal(named.label, in_memory.label)
    assert len(oochub.predict(tmp_path / "model", str(tmp_path / "data"), splits=["test"])) == 9


def test_options_of_named_data_are_refused_for_data_in_memory(tmp_path: Path) -> None:
    array_model(tmp_path / "model")
    with pytest.raises(oochub.OochubError, match=r"need a dataset that is named, not one in memory: label=\. Remove"):
        oochub.predict(tmp_path / "model", array_data(test=3), label="breed")


def test_a_name_that_is_nothing_is_said_before_the_model_runs(tmp_path: Path) -> None:
    array_model(tmp_path / "model")
    with pytest.raises(oochub.OochubError, match="Did you mean 'spawrious/o2o_hard'"):
        oochub.predict(tmp_path / "model", "spawriuos/o2o_hard")
