"""Writes a data set as a Parquet repository with its card, whole or not at all; plain `datasets` reads it.

Own data are written with their groups and challenges (`write_user_repository`), and any data that `datasets` reads as a
challenge set (`write_challenge_repository`).

What is seen of images while a repository is written: copies in two splits, and files that are no images.
"""

import dataclasses
import hashlib
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets.arrow_writer import ParquetWriter
from datasets.table import embed_table_storage
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCardData

from oochub.data.benchmark_file import BenchmarkFile
from oochub.data.build_file import ConfigFiles, store_record
from oochub.data.challenge import (
    KINDS,
    LOSSES,
    Arguments,
    ChallengeSet,
    add_losses,
    challenge,
    check_arguments,
    check_columns,
)
from oochub.data.load import is_benchmark, load_benchmark, open_data
from oochub.data.open_source import name_source, open_source
from oochub.data.user_columns import list_picture_paths
from oochub.errors import OochubError, OochubWarning, choose_wording
from oochub.prediction.image_copies import find_copies, number_digests
from oochub.prediction.predictions import Predictions
from oochub.process.follow import follow
from oochub.records.build_record import BUILD_COLUMN, OWN, BuildRecord, OwnDeclaration
from oochub.repository.croissant import write_croissant
from oochub.repository.repository_card import LICENSES, PLACE, describe_columns, find_license, name_size, write_examples
from oochub.repository.write_webdataset import ABOUT_SHARDS, SplitRows, check_shard_size, write_webdataset
from oochub.settings.data_settings import DataSettings
from oochub.storage.artifacts import REPOSITORY
from oochub.storage.files import check_writable, lock_target, write_whole_folder
from oochub.storage.parquet_file import seal
from oochub.storage.picture_file import check_beginning, check_inside
from oochub.storage.reading import read_text

_ROWS = 100  # of a table for shards
_FILE = 500_000_000  # bytes after which a new file begins, as `datasets` does


class EmbeddedImages:
    """Takes each table on its way into a file, its images embedded, and keeps 16 bytes of a digest per image.

    Args:
        skip_broken: Embed nothing in place of a file that is no image; else the first is an error.
    """

    def __init__(self, *, skip_broken: bool = False) -> None:
        self._digests: dict[str, dict[int, bytes]] = {}
        self._skips = skip_broken
        self._left_out = 0

    def take(
        self, split: str, start: int, table: pa.Table, given: pa.Table, features: Mapping[str, object]
    ) -> pa.Table:
        """Looks at the images of some rows.

        Args:
            split: Name of the split.
            start: Number of the first row.
            table: The rows, their images embedded.
            given: The same as they were given: where an image was a path, its file is embedded now.
            features: The features of the data.

        Returns:
            The rows, without a byte of each file that is no image and is left out.

        Raises:
            OochubError: A file that was embedded is no image: a table of somebody else may name any file of this
                machine.
        """
        for name, feature in features.items():
            if not isinstance(feature, datasets.Image):
                continue
            was_path = pc.is_null(pc.struct_field(given.column(name), "bytes")).to_pylist()
            contents = pc.struct_field(table.column(name), "bytes")
            is_image = np.ones(len(table), bool)
            for place, (content, is_file) in enumerate(zip(contents, was_path, strict=True)):
                if not content.is_valid:
                    continue
                data = content.as_buffer()
                if is_file:
                    try:
                        check_beginning(
                            data.to_pybytes(), name=f"The image {name!r} of row {start + place}, split {split}"
                        )
                    except OochubError:
                        if not self._skips:
                            raise
                        is_image[place] = False
                        continue
                if name == "image":
                    self._digests.setdefault(split, {})[start + place] = hashlib.sha256(data).digest()[:16]
            if not is_image.all():
                self._left_out += int((~is_image).sum())
                column = table.column(name)
                rows = column.to_pylist()  # of a block
                kept = [row if is_plain else row | {"bytes": b""} for row, is_plain in zip(rows, is_image, strict=True)]
                place = table.column_names.index(name)
                table = table.set_column(place, table.schema.field(name), pa.array(kept, column.type))
        return table

    def describe_left_out(self) -> Iterator[str]:
        """How many files are no images and were left out, in a sentence; none if none was."""
        if self._left_out:
            is_one = self._left_out == 1
            yield (
                f"{self._left_out:,} {'file that is no image was' if is_one else 'files that are no images were'} "
                f"skipped: the {'image of its row has' if is_one else 'images of their rows have'} no bytes."
            )

    def describe_copies(self) -> Iterator[str]:
        """A sentence for each two splits that hold the same image."""
        images = number_digests({split: own.values() for split, own in self._digests.items()})
        for name, other, copies in find_copies(images):
            yield (
                f"The images of {copies:,} of {len(images[other]):,} rows of {other} also stand in {name}, byte for "
                f"byte: what is measured on these is not new to a model that saw {name}."
            )


def write_repository(
    target: Path,
    dataset: datasets.DatasetDict,
    record: BuildRecord,
    text: str,
    *,
    tag: str,
    shard_size: float | None = None,
    skip_broken: bool = False,
) -> None:
    """Writes `target/data/<split>-<number>-<hash>.parquet`, `README.md`, `build.json` and `croissant.json`.

    Images keep their bytes; those that the data only point to are copied into the files.

    Args:
        target: A folder that `check_replaceable` passed.
        dataset: The splits.
        record: Record of the data; it stands in build.json, and in the column `build` of each row.
        text: The card below its metadata.
        tag: Tag by which the Hub finds it, besides "out-of-context".
        shard_size: Megabytes per shard of a WebDataset; None writes Parquet.
        skip_broken: Leave out and count files that are to be embedded as images and are none.

    Raises:
        OochubError: The repository cannot be written; a file that is to be embedded as an image is none.

    Warns:
        OochubWarning: Images stand in two splits, byte for byte, or files were left out; the card says it too.
    """
    with write_whole_folder(target, kind=REPOSITORY) as draft:
        (draft / "data").mkdir()
        features = record.mark(next(iter(dataset.values())).features)
        images = EmbeddedImages(skip_broken=skip_broken)
        if shard_size is None:
            files = {name: _write(part, draft / "data", name, record, images) for name, part in dataset.items()}
        else:
            splits = {
                name: SplitRows(len(part), partial(_iterate_tables, name, part, record, images))
                for name, part in dataset.items()
            }
            files, features = write_webdataset(
                splits,
                draft / "data",
                name="default",
                features=record.beside(next(iter(dataset.values())).features),
                shard_size=shard_size,
            )
            text += ABOUT_SHARDS
        for note in (*images.describe_left_out(), *images.describe_copies()):
            warnings.warn(note, OochubWarning, stacklevel=2)
            text += f"\n- {note}\n"
        first = next(iter(dataset.values())).features
        is_classified = "image" in first and isinstance(first.get("label"), datasets.ClassLabel)
        declared = record.facts.declared
        data = DatasetCardData(
            tags=["out-of-context", tag],
            size_categories=[name_size(sum(map(len, dataset.values())))],
            task_categories=["image-classification"] if is_classified else None,
            **(_describe_license(declared) if declared else {}),
        )
        if declared and (declared.license or declared.labels_license):
            (draft / LICENSES).write_text(_write_licenses(declared), "utf-8")
        text += _describe_use(record) + write_examples(draft, dataset)
        written = {split: [f"data/{name}" for name in names] for split, names in files.items()}
        paths = [{"split": split, "path": names} for split, names in written.items()]
        MetadataConfigs({"default": {"data_files": paths}}).to_dataset_card_data(data)
        describe_columns(data, "default", None if shard_size is None else features)
        store_record(draft, "default", record, ConfigFiles.of(draft, written, features))
        (draft / "README.md").write_text(f"---\n{data.to_yaml()}\n---\n\n{text}", "utf-8")
        write_croissant(draft)


def check_links(data: Mapping[str, datasets.Dataset], source: str, options: Mapping[str, object] | None) -> None:
    """Checks that no image that is to be copied is a link out of a user's folder, before one is copied.

    Args:
        data: The splits.
        source: What they were loaded from.
        options: Options of loading; with `follow_links` every link is followed.

    Raises:
        OochubError: An image is a link that leads out of the folder.
    """
    declared = None if is_benchmark(source) else BenchmarkFile.find(source)
    place = Path(source if declared is None else declared.source).expanduser().absolute()
    if is_benchmark(source) or not place.exists() or (options or {}).get("follow_links"):
        return
    folder = place if place.is_dir() else place.parent
    roots = {folder, folder.resolve()}
    for part in data.values():
        for path in filter(None, list_picture_paths(part)):
            if any(Path(path).is_relative_to(root) for root in roots):
                check_inside(Path(path), root=folder)


def check_replaceable(out: str | Path, *, title: str, what: str) -> Path:
    """The folder of a repository, checked to be new, empty, or an earlier repository of the same kind.

    Args:
        out: The folder.
        title: What stands in the card of such a repository.
        what: Its kind, for the error ("a challenge set").

    Raises:
        OochubError: The folder holds something else, or cannot be written.
    """
    target = check_writable(out, kind=REPOSITORY)
    card = target / "README.md"
    if card.is_file() and title not in read_text(card):
        raise OochubError(
            f"{target} already exists and contains something other than {what}. Choose another folder or delete it "
            "first."
        )
    return target


def _iterate_tables(
    split: str, part: datasets.Dataset, record: BuildRecord, images: EmbeddedImages
) -> Iterator[pa.Table]:
    for start in range(0, len(part), _ROWS):
        block = part.with_format("arrow")[start : start + _ROWS]
        rows = images.take(split, start, embed_table_storage(block), block, part.features)
        yield rows.append_column(BUILD_COLUMN, pa.repeat(pa.scalar(record.text), len(rows)))


def _write(part: datasets.Dataset, folder: Path, split: str, record: BuildRecord, images: EmbeddedImages) -> list[str]:
    """Writes one split and returns its files, named by content: `datasets` caches by name."""
    names: list[str] = []
    rows = part.with_format("arrow")
    bar = follow(total=len(part), desc=split, unit=" rows", disable=None)
    start = 0
    while start < len(part) or not names:
        draft = folder / "draft"
        writer = ParquetWriter(path=str(draft), features=record.mark(part.features), embed_local_files=True)
        while start < len(part) and draft.stat().st_size < _FILE:
            end = min(start + writer.writer_batch_size, len(part))  # 100 rows with images, else 1,000
            block = rows[start:end]
            writer.write_table(images.take(split, start, embed_table_storage(block), block, part.features))
            bar.update(end - start)
            start = end
        writer.finalize()
        seal(draft)
        with draft.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()[:12]
        names.append(draft.rename(folder / f"{split}-{len(names):05d}-{digest}.parquet").name)
    bar.close()
    return names


def _describe_license(declared: OwnDeclaration) -> dict[str, str]:
    """The name and the license in the form of the Hub: its identifier, or "other" with a name and a link."""
    about = {"pretty_name": declared.title}
    licenses = dict.fromkeys(filter(None, (declared.license, declared.labels_license)))
    if not licenses:
        return about
    if (identifier := find_license(next(iter(licenses)))) and len(licenses) == 1:
        return about | {"license": identifier}
    name = re.sub(r"[^a-z0-9.]+", "-", " and ".join(licenses).casefold()).strip("-")
    return about | {"license": "other", "license_name": name or "other", "license_link": LICENSES}


def _write_licenses(declared: OwnDeclaration) -> str:
    """The text of LICENSE.md."""
    licenses = {"Images": declared.license, "Labels": declared.labels_license}
    lines = [f"- {what}: {license}" for what, license in licenses.items() if license]
    return "\n".join([f"# Licenses of {declared.title}", "", *lines, ""])


def _describe_use(record: BuildRecord) -> str:
    """How the rows are loaded and a model is audited on them, for the card."""
    declared = record.facts.declared
    tag = f"@{declared.version}" if declared else ""
    exact = f"\n`{PLACE}{tag}` names this version on the Hub, also after a later one is pushed.\n" if tag else ""
    return f"""
## Use

```python
from datasets import load_dataset

data = load_dataset("{PLACE}")
```

To measure how much a model relies on context: `pip install 'oochub[models]'`, then

```bash
oochub audit MODEL {PLACE}
```
{exact}"""


_OWN_TITLE = "in the form of oochub"


def write_user_repository(
    source: str,
    out: str | Path,
    *,
    settings: DataSettings | None = None,
    num_proc: int | None = None,
    shard_size: float | None = None,
) -> Path:
    r"""Writes what `oochub.load` makes of own data; loaded again, its columns, notes and usual contexts are there.

    Args:
        source: A folder of images, a file, an id on the Hub: see `oochub.load`.
        out: The folder of the repository: new, empty, or an earlier one of this kind, which is replaced.
        settings: Configuration to take, if the source has several, and which columns of the data are what; `data_dir`
            and `options` are as `load_dataset` takes them.
        num_proc: Processes to read with.
        shard_size: Megabytes per shard of a WebDataset, see `write_webdataset`; None writes Parquet.

    Returns:
        The folder.

    Raises:
        OochubError: What `oochub.load` raises; a folder that holds something else or cannot be written.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "birds.csv").write_text("label,context\n" + "gull,sea\n" * 9 + "wren,land\n" * 9)
    >>> out = write_user_repository(str(folder / "birds.csv"), folder / "out")
    >>> datasets.load_dataset(str(out))["train"][9]
    {'example_id': '9', 'label': 1, 'context': 0, 'group': 1, 'challenge': 0}
    """
    if shard_size is not None:
        check_shard_size(shard_size)
    target = check_replaceable(out, title=_OWN_TITLE, what="a repository of own data")
    with lock_target(target):
        data = open_data(source, settings or DataSettings(), num_proc=num_proc).rows
        check_links(data, source, settings.options if settings else None)
        record = BuildRecord.of(next(iter(data.values())).info)
        if record is None:
            raise OochubError(
                f"{source} is already a repository: copy it, or name its columns to make another one from it."
            )
        write_repository(target, data, record, _describe_own(data, record), tag="own-data", shard_size=shard_size)
    return target


def _describe_own(data: datasets.DatasetDict, record: BuildRecord) -> str:
    """The card below its metadata: the rows of each split, what is usual, the notes."""
    first = next(iter(data.values()))
    kinds = KINDS if "challenge" in first.features else ()
    table = [f"| split | rows |{''.join(f' {kind} |' for kind in kinds)}", f"|---|{'---:|' * (1 + len(kinds))}"]
    for split, part in data.items():
        codes = part["challenge"][:] if kinds else []
        counts = [codes.count(number) for number in range(len(kinds))]
        table.append(f"| {split} | {len(part):,} |{''.join(f' {count:,} |' for count in counts)}")
    usual = record.facts.usual_contexts or {}
    contexts = [f"| {name} | {', '.join(names) or 'none'} |" for name, names in usual.items()]
    declared = record.facts.declared
    return "\n".join(
        [
            f"# {declared.title if declared else record.config}, {_OWN_TITLE}\n",
            *(_describe_declared(declared) if declared else []),
            *table,
            *(["\n| class | usual contexts |\n|---|---|", *contexts] if usual else []),
            *(["", *(f"- {note}" for note in record.notes)] if record.notes else []),
            "",
        ]
    )


def _describe_declared(declared: OwnDeclaration) -> list[str]:
    """What the author says of the data, in the card."""
    lines = [f"{declared.summary}\n"] if declared.summary else []
    sides = {"in context": declared.in_context, "out of context": declared.out_of_context}
    facts = [
        *((words, side.make_rows().description) for words, side in sides.items() if side is not None),
        ("headline", declared.headline),
        ("license of the images", declared.license),
        ("license of the labels", declared.labels_license),
        ("authors", ", ".join(declared.authors)),
        ("homepage", declared.homepage),
    ]
    rows = [f"| {name} | {value} |" for name, value in facts if value]
    lines += ["| | |", "|---|---|", *rows, ""] if rows else []
    return [*lines, *([f"```bibtex\n{declared.citation.strip()}\n```\n"] if declared.citation.strip() else [])]


CHALLENGE_TITLE = "challenge set by"
"""What stands in the card of a challenge set."""


def write_challenge_repository(
    source: str,
    out: str | Path,
    criterion: str,
    arguments: Mapping[str, Any],
    *,
    ensemble: Sequence[Predictions] = (),
    settings: DataSettings | None = None,
    restrict_train: bool = False,
    replace: bool = False,
) -> ChallengeSet:
    r"""Writes `out/data/<split>-<number>-<hash>.parquet` and `out/README.md`; `load_dataset(out)` reads them.

    Images keep their bytes; those that the source only points to are copied into the files.

    Args:
        source: A benchmark as "nooch/ce_car"; a folder of `save_to_disk`; a folder or file that `load_dataset` reads
            (Parquet, CSV, JSON, images with a metadata.csv); or an id on the Hub. A benchmark comes before a folder
            of the same name.
        out: The folder of the repository: new, empty, or an earlier challenge set, which is replaced.
        criterion: A name of `oochub list criterion`.
        arguments: Arguments of the criterion: names of columns and other values, as `challenge` takes them.
        ensemble: Predictions whose losses become the column `losses`, which `hardest` reads; see `add_losses`.
        settings: Which configuration, where the source has several and does not name one; where it lies; and which
            columns of own data are what, as `oochub.load` takes them: the criterion then finds `label`, `context` and
            `group`. Without any the columns are as they are.
        restrict_train: See `challenge`.
        replace: See `challenge`.

    Returns:
        The challenge set, as `challenge` gives it.

    Raises:
        OochubError: What `challenge` raises; a source that is not found or cannot be read; a folder that holds
            something else, cannot be written, or is written by another process. What can be known without reading the
            data is checked first.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "birds.csv").write_text("id,label,background\na,1,1\nb,1,0\n")
    >>> _ = write_challenge_repository(str(folder / "birds.csv"), folder / "out", "mismatch", {"context": "background"})
    >>> datasets.load_dataset(str(folder / "out"))["train"][1]
    {'id': 'b', 'label': 1, 'background': 0, 'challenge': 1}
    """
    settings = settings or DataSettings()
    checked = check_arguments(criterion, arguments)
    if criterion == "mismatch" and settings.context and "context" not in arguments:
        raise OochubError(
            "mismatch compares each context with the label, so both must use the same codes: name that column with "
            f"{choose_wording('context=')}. A challenge set by usual contexts is what `oochub build` "
            "makes from the same columns."
        )
    target = check_replaceable(out, title=CHALLENGE_TITLE, what="a challenge set")
    with lock_target(target):
        columns = LOSSES if ensemble else {}
        dataset = _open_data(
            source, settings, lambda features: check_columns(checked, {**features, **columns}, replace=replace)
        )
        check_links(dataset, source, settings.options)
        dataset = add_losses(dataset, ensemble) if ensemble else dataset
        challenge_set = challenge(dataset, criterion, restrict_train=restrict_train, replace=replace, **arguments)
        record = _record(source, next(iter(challenge_set.dataset.values())).info)
        write_repository(
            target,
            challenge_set.dataset,
            record,
            _describe_challenge(source, criterion, checked, challenge_set),
            tag="challenge-set",
        )
    return challenge_set


def _open_data(source: str, settings: DataSettings, check: Callable[[Mapping[str, Any]], None]) -> datasets.DatasetDict:
    """The data as they are; where columns are named, in our row form, less the challenges that follow from these."""
    if not settings.named and not settings.usual:
        if is_benchmark(source):
            return load_benchmark(source, settings, check=check)
        return open_source(source, settings, check=check).rows
    own = open_data(source, settings).rows
    record = BuildRecord.of(next(iter(own.values())).info)
    is_made = record is not None and record.facts.usual_contexts is not None
    return own.remove_columns("challenge") if is_made and "challenge" in own[next(iter(own))].features else own


def _record(source: str, info: datasets.DatasetInfo) -> BuildRecord:
    """The record of the source as one of own data: its sides are now easy and hard rows."""
    before = BuildRecord.of(info)
    name = name_source(source).replace("/", "-")
    if before is None:
        return BuildRecord(benchmark=OWN, config=name, version=str(info.version or "0.0.0"))
    return dataclasses.replace(before, benchmark=OWN, config=name)


def _describe_challenge(source: str, criterion: str, arguments: Arguments, challenge_set: ChallengeSet) -> str:
    """The card below its metadata."""
    first = next(iter(challenge_set.dataset.values()))
    name = name_source(source)
    parameters = [f"| `{key}` | column `{value}` |" for key, value in arguments.columns.items()]
    parameters += [f"| `{key}` | {_format_value(value)} |" for key, value in arguments.values.items()]
    counts = [
        f"| {split} | {' | '.join(f'{n[kind]:,}' for kind in KINDS)} |" for split, n in challenge_set.counts.items()
    ]
    record = BuildRecord.of(first.info)
    notes = [f"- {note}" for note in (record.notes if record else ())]
    if challenge_set.dropped:
        notes.append(
            f"- the {challenge_set.dropped:,} hard examples of train are counted above and left out of the data"
        )
    if first.info.license:
        notes.append(f"- license of the source: {first.info.license}")
    return "\n".join(
        [
            f"# {name}: {CHALLENGE_TITLE} {criterion}\n",
            f"The rows of {name} with the column `challenge`: out of context by the criterion `{criterion}` of oochub "
            f"{version('oochub')}.",
            *(
                [f"`challenge_value` is the `{arguments.behind}` behind it."]
                if "challenge_value" in first.features
                else []
            ),
            "\n| parameter | value |\n|---|---|",
            *parameters,
            f"\n| split | {' | '.join(KINDS)} |\n|---|{'---:|' * len(KINDS)}",
            *counts,
            *(["", *notes] if notes else []),
            "",
        ]
    )


def _format_value(value: Any) -> str:
    if isinstance(value, range):
        return f"{value.start} to {value.stop - 1}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
