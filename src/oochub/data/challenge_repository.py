"""Makes a challenge set of any data that `datasets` reads and writes it as a Parquet repository with a card."""

import hashlib
import re
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import datasets
from datasets.arrow_writer import ParquetWriter
from datasets.exceptions import DatasetGenerationError
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCardData
from tqdm import tqdm

from oochub import catalog
from oochub.build_record import BuildRecord
from oochub.data.challenge import KINDS, ChallengeSet, challenge
from oochub.data.criterion_arguments import Arguments, check_arguments, check_columns
from oochub.data.load import builder_class, check_options, split_name
from oochub.errors import OochubError
from oochub.files import check_writable, folder_written_whole, sole_writer
from oochub.hub.check_source import check_source
from oochub.parquet_file import check_seal, seal
from oochub.reading import read_text

_TITLE = "challenge set by"
_DATA_FILE = re.compile(r".+-\d{5}-[0-9a-f]{12}\.parquet")
_FILE = 500_000_000  # bytes after which a new file begins, as `datasets` does


def challenge_repository(
    source: str,
    out: str | Path,
    criterion: str,
    arguments: Mapping[str, Any],
    *,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    restrict_train: bool = False,
    replace: bool = False,
) -> ChallengeSet:
    r"""Writes `out/data/<split>-<number>-<hash>.parquet` and `out/README.md`; `load_dataset(out)` reads them.

    Pictures keep their bytes; those that the source only points to are copied into the files.

    Args:
        source: A benchmark as "nooch/ce_car"; a folder of `save_to_disk`; a folder or file that `load_dataset` reads
            (Parquet, CSV, JSON, pictures with a metadata.csv); or an id on the Hub. A benchmark comes before a folder
            of the same name.
        out: The folder of the repository: new, empty, or an earlier challenge set, which is replaced.
        criterion: A name of `oochub list criterion`.
        arguments: Of the criterion: names of columns and other values, as `challenge` takes them.
        data_dir: As `load_dataset` takes it; of a benchmark its raw folder.
        options: Of the benchmark's builder, or what else `load_dataset` takes, such as name= for a configuration.
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
    >>> _ = challenge_repository(str(folder / "birds.csv"), folder / "out", "mismatch", {"context": "background"})
    >>> datasets.load_dataset(str(folder / "out"))["train"][1]
    {'id': 'b', 'label': 1, 'background': 0, 'challenge': 1}
    """
    checked = check_arguments(criterion, arguments)
    target = check_writable(out)
    if target.exists() and not (target.is_dir() and _is_replaceable(target)):
        raise OochubError(
            f"{target} exists and is not an empty folder, nor a challenge set and nothing else. Choose another one, or "
            "remove it first."
        )
    with sole_writer(target):
        dataset = _load(
            source, data_dir, dict(options or {}), lambda features: check_columns(checked, features, replace=replace)
        )
        challenge_set = challenge(dataset, criterion, restrict_train=restrict_train, replace=replace, **arguments)
        _write_repository(target, source, criterion, checked, challenge_set)
    return challenge_set


def _is_replaceable(folder: Path) -> bool:
    """Whether a folder is empty or holds a challenge set of ours and no file of anyone else."""
    names = {path.name for path in folder.iterdir()}
    card = folder / "README.md"
    return not names or (
        names == {"README.md", "data"}
        and _TITLE in read_text(card)
        and all(_DATA_FILE.fullmatch(path.name) for path in (folder / "data").iterdir())
    )


def _write_repository(
    target: Path, source: str, criterion: str, checked: Arguments, challenge_set: ChallengeSet
) -> None:
    with folder_written_whole(target) as draft:
        (draft / "data").mkdir()
        files = {name: _write(part, draft / "data", name) for name, part in challenge_set.dataset.items()}
        (draft / "README.md").write_text(_card(source, criterion, checked, challenge_set, files), "utf-8")


def _load(
    source: str, data_dir: str | None, options: dict[str, Any], check: Callable[[Mapping[str, Any]], None]
) -> datasets.DatasetDict:
    place = Path(source).expanduser().absolute()
    path, stored = str(place) if place.is_dir() else source, False
    if source.partition("/")[0] in catalog.names("benchmark"):
        path, config = split_name(source)
        check_options(path, options)
        options["name"] = builder_class(path).checked_config(config or None)
    elif place.is_file():
        path, options = str(place.parent), {"data_files": place.name} | options
    else:
        known = ", ".join(catalog.names("benchmark"))
        check_source(source, kind="dataset", hint=f"Give benchmark/config ({known}), a folder, a file, or a Hub id.")
        stored = any((place / name).is_file() for name in ("dataset_dict.json", "state.json"))
    repository = (
        [place] if place.suffix == ".parquet" else [*place.glob("[!.]*.parquet"), *place.glob("*/[!.]*.parquet")]
    )
    try:
        for file in repository:  # none where the source is no place on this disk
            check_seal(file)
        if stored:
            loaded = datasets.load_from_disk(path)
        else:
            builder = datasets.load_dataset_builder(path, data_dir=data_dir, **options)
            if builder.info.features:  # known before the data are read
                check(builder.info.features)
            builder.download_and_prepare()
            loaded = builder.as_dataset()
    except OochubError:
        raise
    except (ValueError, TypeError, OSError, DatasetGenerationError) as error:
        cause = error.__cause__ if isinstance(error, DatasetGenerationError) and error.__cause__ else error
        known = ", ".join(catalog.names("benchmark"))
        raise OochubError(
            f"Could not load {source}: {str(cause).rstrip('.')}. Give benchmark/config ({known}), a folder or file "
            "that datasets.load_dataset reads, or an id on the Hub; --option passes on what load_dataset takes."
        ) from error
    if isinstance(loaded, datasets.Dataset):
        return datasets.DatasetDict({str(loaded.split or "train"): loaded})
    return loaded


def _write(part: datasets.Dataset, folder: Path, split: str) -> list[str]:
    """Writes one split and returns its files, named by content: `datasets` caches by name."""
    names: list[str] = []
    rows = part.with_format("arrow")
    bar = tqdm(total=len(part), desc=split, unit=" rows", disable=None)
    start = 0
    while start < len(part) or not names:
        draft = folder / "draft"
        writer = ParquetWriter(path=str(draft), features=part.features, embed_local_files=True)
        while start < len(part) and draft.stat().st_size < _FILE:
            end = min(start + writer.writer_batch_size, len(part))  # 100 rows with pictures, else 1,000
            writer.write_table(rows[start:end])
            bar.update(end - start)
            start = end
        writer.finalize()
        seal(draft)
        with draft.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()[:12]
        names.append(draft.rename(folder / f"{split}-{len(names):05d}-{digest}.parquet").name)
    bar.close()
    return names


def _card(
    source: str, criterion: str, arguments: Arguments, challenge_set: ChallengeSet, files: Mapping[str, list[str]]
) -> str:
    data = DatasetCardData(tags=["out-of-context", "challenge-set"])
    paths = [{"split": split, "path": [f"data/{name}" for name in names]} for split, names in files.items()]
    MetadataConfigs({"default": {"data_files": paths}}).to_dataset_card_data(data)
    first = next(iter(challenge_set.dataset.values()))
    info = datasets.DatasetInfo(features=first.features)
    datasets.info.DatasetInfosDict({"default": info}).to_dataset_card_data(data)
    name = Path(source).name if Path(source).expanduser().exists() else source
    parameters = [f"| `{key}` | column `{value}` |" for key, value in arguments.columns.items()]
    parameters += [f"| `{key}` | {_shown(value)} |" for key, value in arguments.values.items()]
    counts = [
        f"| {split} | {' | '.join(f'{n[kind]:,}' for kind in KINDS)} |" for split, n in challenge_set.counts.items()
    ]
    record = BuildRecord.of(first.info.description)
    notes = [f"- {note}" for note in (record.notes if record else ())]
    if challenge_set.dropped:
        notes.append(
            f"- the {challenge_set.dropped:,} hard examples of train are counted above and left out of the data"
        )
    if first.info.license:
        notes.append(f"- license of the source: {first.info.license}")
    return "\n".join(
        [
            f"---\n{data.to_yaml()}\n---\n\n# {name}: {_TITLE} {criterion}\n",
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


def _shown(value: Any) -> str:
    if isinstance(value, range):
        return f"{value.start} to {value.stop - 1}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
