"""Several configurations of one repository, built by one process or shared out to those of torchrun."""

import sys
from pathlib import Path

import pytest

from oochub.cli import main
from oochub.loading_scripts import build_repository as module
from oochub.storage.ownership import MANIFEST

_CONFIGS = ("o2o_hard", "m2m_easy", "o2o_easy")


@pytest.fixture
def built(spawrious, monkeypatch):
    """Builds into a folder as process `rank` of `processes`; returns what it built and its exit code."""

    def build(out, *, rank=0, processes=1, configs=_CONFIGS):
        asked, write = [], module.build_parquet
        noted = lambda name, *rest, **options: asked.append(name) or write(name, *rest, **options)  # noqa: E731
        monkeypatch.setattr(module, "build_parquet", noted)
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", str(processes))
        words = [word for config in configs for word in ("--config", config)]
        words = ["oochub", "build", "spawrious", "--data-dir", str(spawrious), "--out", str(out), *words]
        monkeypatch.setattr(sys, "argv", words)
        try:
            main()
            code = 0
        except SystemExit as stopped:
            code = stopped.code or 0
        monkeypatch.setattr(module, "build_parquet", write)
        return asked, code

    return build


def _content(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != MANIFEST)  # it holds times
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.mark.slow
def test_processes_share_the_configurations_of_one_repository(built, tmp_path):
    """Byte for byte that of one process, whoever ends first; a process too many writes nothing."""
    assert built(tmp_path / "one")[0] == [f"spawrious/{config}" for config in _CONFIGS]
    built_by = [built(tmp_path / "shared", rank=rank, processes=4)[0] for rank in (3, 1, 2, 0)]
    assert built_by == [[], ["spawrious/m2m_easy"], ["spawrious/o2o_easy"], ["spawrious/o2o_hard"]]
    one, shared = _content(tmp_path / "one"), _content(tmp_path / "shared")
    assert one.keys() == shared.keys() and len([name for name in one if name.endswith(".parquet")]) >= 9
    for name, content in one.items():
        assert content == shared[name], name


def test_a_wrong_configuration_stops_every_process_before_it_builds(built, tmp_path, capsys):
    """Planted fault seen: only the process whose share it is says so, after the others have built."""
    for rank in (0, 1):
        asked, code = built(tmp_path / "out", rank=rank, processes=2, configs=("o2o_hard", "o2o_hrad"))
        assert (asked, code) == ([], 2) and "No config of spawrious named 'o2o_hrad'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
