"""A file system of a few megabytes, which can be filled up to any byte; Linux as root."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PAGE = 4096


class SmallDisk:
    """A mounted file system.

    Args:
        root: Its folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._ballast = root / "ballast"

    def fill(self, free: int) -> None:
        """Leaves so many bytes, whole pages of 4096, free; those that are full already keep what they have."""
        with self._ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(_PAGE, shutil.disk_usage(self.root).free - free))

    def clear(self) -> None:
        """Gives the room back."""
        self._ballast.unlink()


@contextmanager
def small_disk(root: Path, size: str = "64m") -> Iterator[SmallDisk]:
    """Mounts one in a folder; the test is skipped where that is not allowed."""
    root.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(root)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"a full disk is a small tmpfs, and mounting is not allowed here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(root)
    finally:
        subprocess.run(["umount", str(root)], check=True)
