"""Rows of a user's files that are read here, as `datasets` builds and caches them."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import datasets
import pyarrow as pa
from datasets.builder import Key
from datasets.exceptions import DatasetGenerationError

from oochub.errors import OochubError
from oochub.storage.cache import describe_state

_VERSION = "2"
"""Part of the name in the cache: to be raised with any change of the rows."""


class FileRows(datasets.ArrowBasedBuilder):  # type: ignore[misc]
    """The rows of files, as `datasets` builds and caches them.

    Args:
        name: What the data are called: the name of their folder or file.
        kind: The builder of `datasets` whose rows they are like, such as "imagefolder".
        features: Features of the rows.
        splits: What gives the tables of each split, in order.
        state: What the cache goes by: paths, sizes and times of all files, and how they are read.
    """

    BUILDER_CONFIG_CLASS = datasets.BuilderConfig

    def __init__(
        self,
        name: str,
        kind: str,
        features: datasets.Features,
        splits: Mapping[str, Callable[[], Iterable[pa.Table]]],
        *,
        state: str,
    ) -> None:
        self._features, self._splits = features, splits
        super().__init__(dataset_name=name, config_name="default", hash=state)
        self.info.builder_name = kind

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(features=self._features)

    def download_and_prepare(self, *args: object, num_proc: int | None = None, **kwargs: object) -> None:
        """Writes all rows; see `datasets.DatasetBuilder.download_and_prepare`. One process is enough."""
        try:
            super().download_and_prepare(*args, **kwargs)
        except DatasetGenerationError as error:
            if isinstance(error.__cause__, OochubError):
                raise error.__cause__ from None
            raise

    def _split_generators(self, dl_manager: object) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(name=name, gen_kwargs={"split": name}) for name in self._splits]

    def _generate_tables(self, split: str) -> Iterator[tuple[Key, pa.Table]]:
        for number, table in enumerate(self._splits[split]()):
            yield Key(0, number), table


def digest_files(files: Iterable[Path | str], *how: object) -> str:
    """A digest of the paths, sizes and times of files, and of how they are read."""
    states = [f"{str(file)!r} {describe_state(file)}" for file in files]
    return hashlib.sha256("\n".join([_VERSION, repr(how), *states]).encode()).hexdigest()
