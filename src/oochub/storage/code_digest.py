"""What tells one state of oochub's own code from another."""

import hashlib
import os
from pathlib import Path

from oochub.storage.file_state import describe_state


def digest_code(*suffixes: str) -> str:
    """A digest of the paths, sizes and times of all our code, which also changes while somebody works on it.

    Args:
        suffixes: Kinds of files that count besides Python's.

    >>> len(digest_code()), digest_code() == digest_code(".jinja")
    (64, False)
    """
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(Path(__file__).parents[1], followlinks=True):
        folders.sort()
        for name in sorted(files):
            if name.endswith((".py", *suffixes)):
                path = f"{folder}/{name}"
                digest.update(f"{path} {describe_state(path)}\n".encode())
    return digest.hexdigest()
