"""A repository that oochub wrote, of this disk or the Hub: its files are compared with the digests in `build.json`."""

from collections.abc import Mapping
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import Any

import datasets
from datasets.data_files import DataFilesList
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCard

from oochub.data.build_file import RECORDS, ConfigFiles, list_configs, read_builds, read_files
from oochub.errors import OochubError
from oochub.remote.fetch import fetch_file
from oochub.remote.hub_errors import retry

NOTE = "not checked: the files were not compared with digests of their build"
"""For a repository without digests, as an earlier version wrote it, or when nothing was to be compared."""
_CARD = "README.md"
_OWN = ("data_files", "data_dir")  # options that say which files are read


@dataclass(frozen=True, kw_only=True)
class RepositoryFiles:
    """One configuration of a repository, with what was noted of its files when they were written.

    Attributes:
        root: The folder with the card; for a repository on the Hub its snapshot in the cache.
        config: The configuration.
        written: What was noted of its files.
        hub: Id and token, of one on the Hub.
    """

    root: Path
    config: str
    written: ConfigFiles
    hub: tuple[str, Any] | None = None

    @classmethod
    def find(cls, place: Path, config: str | None) -> "RepositoryFiles | None":
        """The repository in a folder, or the one whose shards lie in it; None where there is none with digests.

        Args:
            place: A folder, or anything else.
            config: The configuration; None takes the only one.

        Raises:
            OochubError: `build.json` is broken, or was changed by hand.
        """
        if (place / RECORDS).is_file():
            return cls._of(place, config)
        try:
            names = list_configs(read_builds(place.parent)) if place.is_dir() else []
        except OochubError:  # somebody else's file of that name
            return None
        for name in names:
            found = cls._of(place.parent, name) if config in (None, name) else None
            if found is not None and any(Path(each.path).parent.name == place.name for each in found.written.files):
                return found
        return None

    @classmethod
    def on_hub(cls, name: str, config: str | None, options: Mapping[str, Any]) -> "RepositoryFiles | None":
        """The repository of that id on the Hub, or in the Hub's cache; None where there is none with digests.

        Args:
            name: user/name.
            config: The configuration; None takes the only one.
            options: Options of `load_dataset`, which may name a revision and a token.

        Raises:
            Exception: What the Hub's client raises if the Hub is not reached.
        """
        token = options.get("token")
        file = fetch_file(name, RECORDS, revision=options.get("revision"), token=token)
        return None if file is None else cls._of(file.parent, config, hub=(name, token))

    @classmethod
    def _of(cls, root: Path, config: str | None, hub: tuple[str, Any] | None = None) -> "RepositoryFiles | None":
        found = read_files(root, config)
        return None if found is None else cls(root=root, config=found[0], written=found[1], hub=hub)

    def builder(self, source: str, options: Mapping[str, Any]) -> datasets.DatasetBuilder:
        """The builder of `datasets`, whose cache goes by the digests too, and whose columns are those of the build.

        Args:
            source: The folder, or the id on the Hub.
            options: Other arguments of `load_dataset`, by name.

        Raises:
            OochubError: The card gives a split other files than it was written with.
        """
        given = {**options, "name": self.config, "description": f"written as {self.written.digest}"}
        if self.hub is not None:
            given["revision"] = self.root.name
        elif has_magic(str(self.root)):  # the patterns of the card would take the folder's name for one
            given["data_files"] = {
                split: DataFilesList([str(self.root / each.path) for each in files], [(each.path,) for each in files])
                for split, files in self.written.splits.items()
            }
        builder = retry(lambda: datasets.load_dataset_builder(source, **given))
        self._check_splits(builder)
        if "features" not in options:
            builder.info.features = self.written.features
        return builder

    def check(self, *, whole: bool, is_cached: bool = False) -> None:
        """Compares each file with its digests; those of the Hub that are not here are fetched first.

        Args:
            whole: Compare every byte, also where size and times of a file are those of one that was compared before.
            is_cached: The rows are here already, and files of the Hub that are not need not come.

        Raises:
            OochubError: A file that is missing, or not the one that was written.
        """
        for file in self.written.files:
            if self.hub is not None:
                name, token = self.hub
                if fetch_file(name, file.path, revision=self.root.name, token=token, fetch=not is_cached) is None:
                    continue
            file.check(self.root, again=self._again, whole=whole)

    def note_of_card(self) -> str | None:
        """A note, if the card describes columns differently from the build, whose description is taken; else None."""
        try:
            infos = DatasetInfosDict.from_dataset_card_data(DatasetCard.load(self.root / _CARD).data)
            of_card = infos[self.config].features or {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        others = sorted(_find_changes(self.written.features, of_card))
        if not others:
            return None
        return f"{_CARD} describes {', '.join(others)} differently from the build, whose names and types are used"

    def _check_splits(self, builder: datasets.DatasetBuilder) -> None:
        files = builder.config.data_files or {}
        found = {str(split): [_name(each) for each in paths] for split, paths in files.items()}
        for split in {**self.written.splits, **found}:
            expected = [_name(each.path) for each in self.written.splits.get(split, ())]
            if found and sorted(found.get(split, ())) != sorted(expected):
                raise OochubError(
                    f"{self.root / _CARD} and {RECORDS} beside it name different files for split {split}: "
                    f"{', '.join(found.get(split, ())) or 'none'}, not {', '.join(expected) or 'none'}. {self._again}"
                )

    @property
    def _again(self) -> str:
        if self.hub is not None:
            return "Remove it from the Hub's cache, so that it is fetched again; if that does not help, push again."
        return (
            "Copy it again, or build it again with `oochub build`. If you changed it on purpose, remove "
            f"{self.root / RECORDS}: the folder then counts as your own data, and `oochub build` with the options of "
            "its columns makes a repository of it."
        )


def chooses_files(options: Mapping[str, Any], data_dir: str | None) -> bool:
    """Whether files are read that a user chose, not those that the card names.

    >>> chooses_files({"data_files": "a.parquet"}, None), chooses_files({}, None)
    (True, False)
    """
    return data_dir is not None or any(name in options for name in _OWN)


def _name(path: str) -> str:
    """A file's folder and name: what paths of here and addresses of the Hub have in common."""
    return "/".join(Path(path).parts[-2:])


def _find_changes(built: Any, of_card: Any, name: str = "") -> set[str]:
    """The columns, those in a column of records too, that are described otherwise."""
    if isinstance(built, dict) and isinstance(of_card, dict):
        names = {*built, *of_card}
        return {each for key in names for each in _find_changes(built.get(key), of_card.get(key), key)}
    return set() if built == of_card else {name}
