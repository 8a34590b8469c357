"""A cache of `datasets` that cannot be written is said with words, before anything is built."""

import datasets
import pytest

import oochub


@pytest.mark.parametrize("place", ["/proc/cache", "file/cache"])
def test_a_cache_that_cannot_be_written_is_said(monkeypatch, spawrious, tmp_path, place):
    """It ended in a traceback of os.makedirs. /proc takes no folder, even of root. Planted fault: OSError let pass."""
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / place)
    with pytest.raises(oochub.OochubError, match=r"The cache of `datasets` cannot be written.* Set HF_DATASETS_CACHE"):
        oochub.load("spawrious/o2o_easy", data_dir=str(spawrious))
