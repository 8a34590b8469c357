"""The files of a configuration of a repository as they were written: their digests, and the columns of their rows."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from datasets import Features

from oochub.data.features_of_json import features_of_json
from oochub.data.file_digest import FileDigest
from oochub.data.shard_index import INDEX
from oochub.errors import OochubError
from oochub.records.schema import from_json, optional, to_json


@dataclass(frozen=True, kw_only=True)
class WrittenFiles:
    """What `build.json` says of the files of a configuration, so that they are known again.

    Attributes:
        splits: The files of each split, in order.
        columns: The features of a row as the card has them, with the names of classes, as `Features.to_dict` gives
            them.
        beside: Of shards, their index.
        digest: Of all the others.
    """

    splits: Mapping[str, tuple[FileDigest, ...]]
    columns: Mapping[str, Any]
    beside: tuple[FileDigest, ...] = optional(())
    digest: str = ""

    @classmethod
    def of(cls, folder: Path, splits: Mapping[str, Sequence[str]], features: Features) -> "WrittenFiles":
        """The digests of files that were just written, and of the index beside them.

        Args:
            folder: The repository, or a draft of it.
            splits: The paths in it of each split's files.
            features: Of the rows.
        """
        beside = sorted({f"{PurePosixPath(path).parent}/{INDEX}" for paths in splits.values() for path in paths})
        made = cls(
            splits={split: tuple(FileDigest.of(folder, path) for path in paths) for split, paths in splits.items()},
            columns=features.to_dict(),
            beside=tuple(FileDigest.of(folder, path) for path in beside if (folder / path).is_file()),
        )
        return replace(made, digest=made._digest())

    @classmethod
    def read(cls, content: Any, *, what: str) -> "WrittenFiles":
        """The record of JSON types, with a look at its own digest.

        Raises:
            OochubError: A field that is missing or of another type, one that was changed, a path that leads elsewhere.
        """
        found = from_json(cls, content, what=what)
        paths = [PurePosixPath(each.path) for each in found.files]
        if found.digest != found._digest() or any(path.is_absolute() or ".." in path.parts for path in paths):
            raise OochubError(
                f"{what} were changed by hand, or are of another build: their digest is not {found.digest[:12]!r}. "
                "Copy the file again, or build again."
            )
        return found

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """All files, those of the splits first."""
        return (*(each for split in self.splits.values() for each in split), *self.beside)

    @property
    def features(self) -> Features:
        """Of the rows.

        Raises:
            OochubError: `columns` says something else.
        """
        return features_of_json(self.columns, name="build.json", again="Copy it again, or build again.")

    def _digest(self) -> str:
        content = to_json(replace(self, digest=""))
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()
