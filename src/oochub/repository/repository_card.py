"""The card of a Parquet repository: which files its configurations have, its sheet of images, one card of two."""

import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import datasets
from datasets import DatasetInfo, Features
from datasets.info import DatasetInfosDict
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard, DatasetCardData
from PIL import Image
from yaml import YAMLError, safe_load

from oochub.errors import OochubError, first_line
from oochub.storage.picture_file import open_picture, scale_to_bytes, turn_upright

_LONGEST = 4 * 10**6  # characters of a card: YAML is read slowly
_BUILD = "\n## This build\n"
_CHANGES = "\n## Changes\n"
_EXAMPLES = "\n## Examples\n"
LICENSES = "LICENSE.md"
"""The name of the file with the licenses of images and labels."""
PLACE = "<folder or repository>"
"""What a card calls its own place; a push writes the name of the repository instead."""
EXAMPLES = "examples.webp"
"""The name of the sheet of a few images that a card shows."""


@dataclass(frozen=True)
class RepositoryCard:
    """The card of a Parquet repository.

    Attributes:
        card: Card as the Hub's client reads it.
    """

    card: DatasetCard

    @classmethod
    def read(cls, content: str, *, place: str) -> "RepositoryCard":
        """Parses a README.md.

        Args:
            content: The whole file.
            place: Where the file is, for the error.

        Raises:
            OochubError: The file is too long, or its metadata are not YAML or not those of a Parquet repository.

        >>> RepositoryCard.read("# Words", place="README.md").files
        {}
        """
        if len(content) > _LONGEST:
            raise OochubError(
                f"{place} has {len(content):,} characters, but at most {_LONGEST:,} are allowed. Correct or remove it."
            )
        try:
            _check_aliases(content.partition("\n---")[0])
            read = cls(DatasetCard(content, ignore_metadata_errors=False))
            if not all(isinstance(name, str) for name in [*read.folders, *read.infos]):
                raise TypeError("a configuration has no name")
            read.of(())  # what it says of files, features and size is looked at too
        except (ValueError, TypeError, KeyError, AttributeError, YAMLError, RecursionError) as error:
            raise OochubError(
                f"The metadata of {place} are not those of an oochub repository: {first_line(error)}. "
                "Correct or remove them."
            ) from error
        return read

    @property
    def files(self) -> dict[str, dict[str, list[str]]]:
        """The paths of each split of each configuration."""
        configs = MetadataConfigs.from_dataset_card_data(self.card.data)
        return {
            name: {entry["split"]: _read_listed(entry["path"]) for entry in config["data_files"]}
            for name, config in configs.items()
            if "data_files" in config
        }

    @property
    def folders(self) -> dict[str, set[str]]:
        """Patterns of the data files of each configuration: its folders, with the suffixes that they have."""
        return {
            name: {
                f"{PurePosixPath(path).parent}/*{PurePosixPath(path).suffix}"
                for paths in splits.values()
                for path in paths
            }
            for name, splits in self.files.items()
        }

    @property
    def infos(self) -> Mapping[str, Any]:
        """The `DatasetInfo` of each configuration, without counts: `datasets` compares them with what filters leave."""
        infos: Mapping[str, Any] = DatasetInfosDict.from_dataset_card_data(self.card.data)
        for info in infos.values():
            info.splits = info.download_size = info.dataset_size = None
        return infos

    def of(self, configs: Collection[str]) -> "RepositoryCard":
        """The card with these configurations alone; with all where none is named."""
        names = [name for name in self.files if not configs or name in configs]
        text, _, notes = self.card.text.partition(_BUILD)
        return self._replace_fields(
            {name: config for name, config in self._configs.items() if name in names},
            {name: info for name, info in self.infos.items() if name in names},
            text,
            [line for line in _parse_notes(notes) if _parse_config(line) in names],
            sizes=self._sizes,
        )

    def over(self, there: "RepositoryCard") -> "RepositoryCard":
        """The card of a repository that holds this one's configurations, and those of another that it lacks.

        Whatever the order in which two repositories are pushed, the card is the same.

        Args:
            there: The card that is there already.
        """
        kept = {name: config for name, config in there._configs.items() if name not in self._configs}
        changes = _parse_notes(there.card.text.partition(_BUILD)[0].partition(_CHANGES)[2])
        text, _, notes = self.with_changes(changes).card.text.partition(_BUILD)
        others = _parse_notes(there.card.text.partition(_BUILD)[2])
        return self._replace_fields(
            {**self._configs, **kept},
            {**self.infos, **{name: info for name, info in there.infos.items() if name in kept}},
            text,
            [*_parse_notes(notes), *(line for line in others if _parse_config(line) in kept)],
            sizes=[*self._sizes, *(there._sizes if kept else [])],
            tasks=[*self._tasks, *(there._tasks if kept else [])],
        )

    def renamed(self, paths: Mapping[str, str], infos: Mapping[str, Any], *, note: str) -> "RepositoryCard":
        """The card of the same configurations in other files, with other features.

        Args:
            paths: The new path of each old one.
            infos: The `DatasetInfo` of each configuration.
            note: What is said of each.
        """
        configs = {
            name: {
                **self._configs[name],
                "data_files": [
                    {"split": split, "path": new if len(new) > 1 else new[0]}
                    for split, old in splits.items()
                    for new in [[paths[path] for path in old]]
                ],
            }
            for name, splits in self.files.items()
        }
        text, _, notes = self.card.text.partition(_BUILD)
        text = re.sub(rf"{_EXAMPLES}.*?(?=\n## |\Z)", "", text, flags=re.S)  # the sheet of images does not come along
        return self._replace_fields(
            configs,
            infos,
            text,
            [*_parse_notes(notes), *(f"- `{name}`: {note}" for name in configs)],
            sizes=self._sizes,
        )

    def with_files(self, config: str, splits: Mapping[str, Sequence[str]], *, note: str) -> "RepositoryCard":
        """The card with one more configuration, whose files say their columns themselves.

        Args:
            config: Its name.
            splits: Paths of the files of each split.
            note: What is said of it.
        """
        text, _, notes = self.card.text.partition(_BUILD)
        files = [{"split": split, "path": list(paths)} for split, paths in splits.items()]
        configs = {**self._configs, config: {"data_files": files}}
        lines = [*_parse_notes(notes), f"- `{config}`: {note}"]
        return self._replace_fields(configs, self.infos, text, lines, sizes=self._sizes)

    def without(self, left_out: Mapping[str, str]) -> "RepositoryCard":
        """The card that says which configurations it lacks, of a benchmark that was pushed whole.

        Args:
            left_out: Each with the reason; those that are there all the same are not named.
        """
        names = [name for name in left_out if name not in self.files]
        if not names:
            return self
        others = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
        text, _, notes = self.card.text.partition(_BUILD)
        line = f"- `{names[0]}`{others}: left out. {left_out[names[0]]}"
        return self._replace_fields(self._configs, self.infos, text, [*_parse_notes(notes), line], sizes=self._sizes)

    def at(self, place: str) -> "RepositoryCard":
        """The card that calls its own place by name.

        Args:
            place: user/name.
        """
        card = copy(self.card)
        card.text = self.card.text.replace(PLACE, place)
        return RepositoryCard(card)

    def with_changes(self, lines: Sequence[str]) -> "RepositoryCard":
        """The card that says what differs from earlier versions, the latest first.

        Args:
            lines: What this version changes; what the card says already stays.
        """
        text, heading, notes = self.card.text.partition(_BUILD)
        text, _, before = text.partition(_CHANGES)
        every = [*lines, *(line for line in _parse_notes(before) if line not in lines)]
        if not every:
            return self
        card = copy(self.card)
        card.text = f"{text.rstrip()}\n{_CHANGES}\n" + "\n".join(every) + f"\n{heading}{notes}"
        return RepositoryCard(card)

    def __str__(self) -> str:
        """The whole README.md."""
        return f"---\n{self.card.data.to_yaml()}\n---\n{self.card.text}"

    @property
    def _sizes(self) -> list[str]:
        return [str(size) for size in self.card.data.get("size_categories") or ()]

    @property
    def _tasks(self) -> list[str]:
        return [str(task) for task in self.card.data.get("task_categories") or ()]

    @property
    def _configs(self) -> dict[str, Any]:
        return dict(MetadataConfigs.from_dataset_card_data(self.card.data))

    def _replace_fields(
        self,
        configs: Mapping[str, Any],
        infos: Mapping[str, Any],
        text: str,
        notes: list[str],
        *,
        sizes: Collection[str],
        tasks: Collection[str] = (),
    ) -> "RepositoryCard":
        card = copy(self.card)  # to parse 1,000 names of classes again takes a second
        card.data = deepcopy(self.card.data)
        for key in ("configs", "dataset_info"):
            card.data.pop(key)
        MetadataConfigs(configs).to_dataset_card_data(card.data)
        DatasetInfosDict(dict(sorted(infos.items()))).to_dataset_card_data(card.data)
        if sizes:
            card.data["size_categories"] = [name_size(0, others=sizes)]
        if tasks:
            card.data["task_categories"] = sorted(set(tasks))
        listed = "\n".join(sorted(notes, key=lambda line: line.partition(":")[0]))
        card.text = f"{text.rstrip()}\n{_BUILD}\n{listed}\n" if notes else text
        return RepositoryCard(card)


def _read_listed(path: str | list[str]) -> list[str]:
    return [path] if isinstance(path, str) else list(path)


def _parse_notes(section: str) -> list[str]:
    return [line for line in section.splitlines() if line.startswith("- `")]


def _parse_config(line: str) -> str:
    return line.partition("`")[2].partition("`")[0]


def _check_aliases(header: str) -> None:
    """Checks that YAML whose aliases stand for aliases is no billion of texts when it is written out."""
    sizes: dict[int, int] = {}

    def size(value: Any) -> int:
        if not isinstance(value, dict | list):
            return 1
        if id(value) not in sizes:
            sizes[id(value)] = _LONGEST  # of one that holds itself
            inner = [*value, *value.values()] if isinstance(value, dict) else value
            sizes[id(value)] = 1 + sum(map(size, inner))
        return sizes[id(value)]

    if "&" in header and size(content := safe_load(header)) > _LONGEST:
        raise ValueError(f"its aliases stand for {size(content):,} values")


def describe_columns(data: DatasetCardData, config: str, features: Features | None) -> None:
    """Says in a card's metadata what the columns of a configuration are; those of others stay.

    Args:
        data: The metadata, which are changed.
        config: The configuration.
        features: The columns of shards; None leaves them out, as Parquet files say it themselves.

    >>> data = DatasetCardData()
    >>> describe_columns(data, "default", Features.from_dict({"label": {"dtype": "int64", "_type": "Value"}}))
    >>> data["dataset_info"]
    {'features': [{'name': 'label', 'dtype': 'int64'}]}
    """
    infos = DatasetInfosDict.from_dataset_card_data(data)
    infos.pop(config, None)
    if features is not None:
        infos[config] = DatasetInfo(features=features)
    data.pop("dataset_info")
    infos.to_dataset_card_data(data)


def show_examples(split: str, words: str) -> str:
    """The section of a card that shows the sheet of examples.

    Args:
        split: The split that they are of.
        words: What is on them.
    """
    return f"{_EXAMPLES}\n![Examples of {split}]({EXAMPLES})\n\n{words}\n"


_LICENSES = frozenset(
    "apache-2.0 mit openrail bigscience-openrail-m creativeml-openrail-m afl-3.0 artistic-2.0 bsl-1.0 bsd bsd-2-clause "
    "bsd-3-clause bsd-3-clause-clear c-uda cc cc0-1.0 cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 "
    "cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 "
    "cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cdla-sharing-1.0 cdla-permissive-1.0 cdla-permissive-2.0 wtfpl ecl-2.0 epl-1.0 "
    "epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 agpl-3.0 gfdl gpl gpl-2.0 gpl-3.0 lgpl lgpl-2.1 lgpl-3.0 isc lppl-1.3c "
    "ms-pl apple-ascl mpl-2.0 odc-by odbl openrail++ osl-3.0 postgresql ofl-1.1 ncsa unlicense zlib pddl "
    "lgpl-lr".split()
)


def find_license(name: str) -> str | None:
    """The Hub's identifier of a license; None for one that it does not know.

    >>> find_license("CC BY 4.0"), find_license("CC0 1.0"), find_license("MIT License"), find_license("ask us")
    ('cc-by-4.0', 'cc0-1.0', 'mit', None)
    """
    words = re.sub(r"[\s_-]+", "-", re.sub(r"\blicen[cs]e\b", "", name.casefold()).strip())
    return words if words in _LICENSES else None


_NAMES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "n>1B")


def name_size(rows: int, *, others: Iterable[str] | None = None) -> str:
    """The name for so many rows, or the largest of the names of other configurations.

    >>> name_size(999), name_size(1000), name_size(49_000), name_size(10**9)
    ('n<1K', '1K<n<10K', '10K<n<100K', 'n>1B')
    >>> name_size(999, others=["10K<n<100K", "something else"])
    '10K<n<100K'
    """
    own = min(max(len(str(rows)) - 3, 0), len(_NAMES) - 1)
    return _NAMES[max([own, *(_NAMES.index(name) for name in others or () if name in _NAMES)])]


_SIDE = 200  # pixels of a tile
_PER_LINE = 3
_TRIED = 4  # images for a tile, where some cannot be read


def write_examples(folder: Path, data: datasets.DatasetDict) -> str:
    """Writes `examples.webp`, and gives the part of the card that shows it; "" for data without images.

    Args:
        folder: The repository, or a draft of it.
        data: Its splits; the images are those of the split test, else of the last.
    """
    split = "test" if "test" in data else list(data)[-1]
    part = data[split]
    if not isinstance(part.features.get("image"), datasets.Image):
        return ""
    part = part.cast_column("image", datasets.Image(decode=False))
    lines = [tiles for rows in _divide(part) if (tiles := list(_find_tiles(part, rows)))]
    if not lines:
        return ""
    sheet = Image.new("RGB", (_SIDE * _PER_LINE, _SIDE * len(lines)), "white")
    for line, tiles in enumerate(lines):
        for place, (tile, _) in enumerate(tiles):
            left, top = (_SIDE - tile.width) // 2, (_SIDE - tile.height) // 2
            sheet.paste(tile, (place * _SIDE + left, line * _SIDE + top))
    content = io.BytesIO()
    sheet.save(content, "WEBP", quality=80)
    (folder / EXAMPLES).write_bytes(content.getvalue())
    words = "; ".join(", ".join(words for _, words in tiles) for tiles in lines)
    return show_examples(split, f"Row by row: {words}.")


def _divide(part: datasets.Dataset) -> list[list[int]]:
    """The numbers of rows in context and out of context; where nothing says it, of the first half and the second."""
    feature = part.features.get("challenge")
    if isinstance(feature, datasets.ClassLabel):
        names = [feature.names[code] if code >= 0 else "" for code in part["challenge"][:]]
        sides = [[row for row, name in enumerate(names) if name == "easy"]]
        sides.append([row for row, name in enumerate(names) if name.startswith("hard")])
        if all(sides):
            return sides
    rows = list(range(len(part)))
    return [rows[: -(-len(rows) // 2)], rows[-(-len(rows) // 2) :]]


def _find_tiles(part: datasets.Dataset, rows: list[int]) -> Iterator[tuple[Image.Image, str]]:
    """Three images of some rows, of as many classes as they have, with what is said of each."""
    count = 0
    for row in _alternate(part, rows)[: _PER_LINE * _TRIED]:
        record = part[row]
        try:
            tile = _read_tile(record["image"])
        except (OochubError, OSError, ValueError, SyntaxError):
            continue
        yield tile, _describe(part, record)
        count += 1
        if count == _PER_LINE:
            return


def _alternate(part: datasets.Dataset, rows: list[int]) -> list[int]:
    """The rows in an order in which classes take turns."""
    if not isinstance(part.features.get("label"), datasets.ClassLabel):
        return rows
    labels, seen = part["label"][:], Counter[int]()
    turns = {}
    for row in rows:
        turns[row] = (seen[labels[row]], -1 if labels[row] is None else labels[row])
        seen[labels[row]] += 1
    return sorted(rows, key=turns.__getitem__)


def _read_tile(stored: Any) -> Image.Image:
    content = stored["bytes"] if stored["bytes"] is not None else Path(stored["path"]).read_bytes()
    image = scale_to_bytes(turn_upright(open_picture(content, name="image")), name="image").convert("RGB")
    image.thumbnail((_SIDE - 8, _SIDE - 8))
    return image


def _describe(part: datasets.Dataset, record: dict[str, Any]) -> str:
    """Label and context of a row, by name."""
    words = []
    for column in ("label", "context"):
        feature, value = part.features.get(column), record.get(column)
        if isinstance(feature, datasets.ClassLabel) and isinstance(value, int) and value >= 0:
            words.append(" ".join(str(feature.names[value]).split()))
    return words[0] + "".join(f" ({context})" for context in words[1:]) if words else str(record.get("example_id"))
