"""What the files that run commands in processes share: a TMPDIR, and what the commands read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from killed_command import ended, short_folder
from writing_commands import Inputs


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    """The TMPDIR of all commands."""
    with short_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, scratch: Path) -> Inputs:
    """What the commands read."""
    folder = tmp_path_factory.mktemp("inputs")

    def finish(words: list[str]) -> None:
        end = ended(words, folder / "cache", scratch, ours=folder / "ours")
        assert end.code == 0, end

    return Inputs(folder, finish)
