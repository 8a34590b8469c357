"""What the tests of uploads share."""

import pytest


@pytest.fixture
def folder(tmp_path):
    """A small repository."""
    (tmp_path / "made" / "one").mkdir(parents=True)
    (tmp_path / "made" / "README.md").write_text("---\nlicense: mit\n---\nwords")
    for name in ("a", "b"):
        (tmp_path / "made" / "one" / f"{name}.parquet").write_bytes(name.encode() * 1000)
    return tmp_path / "made"
