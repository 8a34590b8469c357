"""How many cores a process may use."""

import pytest

from oochub.process import program as cores
from oochub.process.program import count_cores


@pytest.mark.parametrize(("said", "count"), [("max 100000", 64), ("150000 100000", 2), ("50000 100000", 1), ("", 64)])
def test_the_quota_of_a_control_group_counts(said, count, tmp_path, monkeypatch):
    monkeypatch.setattr(cores, "_QUOTA", tmp_path / "cpu.max")
    (tmp_path / "cpu.max").write_text(said)
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    assert count_cores() == count
