"""Builds one config of a benchmark into a repository with its card and licenses: as Parquet, or as WebDataset shards.

Plain `datasets` loads both; `webdataset` reads the shards too. LICENSE.md names the license of the images and that of
the labels apart.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard

from oochub import catalog
from oochub.benchmark import Benchmark, find_data_folder
from oochub.data.build_file import ConfigFiles, store_record
from oochub.dataset_cards.card import card, list_tasks
from oochub.errors import OochubError
from oochub.process.program import program
from oochub.records.build_record import BUILD_COLUMN, BuildRecord
from oochub.repository.croissant import write_croissant
from oochub.repository.repository_card import LICENSES, describe_columns, name_size
from oochub.repository.write_webdataset import (
    ABOUT_SHARDS,
    SHARD_SIZE,
    SplitRows,
    WrittenSplits,
    check_shard_size,
    write_webdataset,
)
from oochub.storage.artifacts import REPOSITORY
from oochub.storage.files import check_writable, claim_folder, lock_target, write_whole, write_whole_folder
from oochub.storage.parquet_file import seal

Out = Annotated[Path, typer.Option(help="Folder for the repository.")]
FollowLinks = Annotated[bool, typer.Option(help="Also read images that links in the folder point to outside it.")]
"""Options of every script of this folder."""
_PATIENCE = 60.0  # seconds
_FORMS = {".parquet": "Parquet", ".tar": "WebDataset"}


def run(script: Callable[..., None]) -> None:
    """Runs a script of this folder, whose arguments are its options."""
    program(partial(typer.run, script))


def _build_repository(
    name: str,
    out: str | Path,
    write: Callable[[Path, Path, Any], WrittenSplits],
    *,
    suffix: str,
    data_dir: str | None,
    options: Mapping[str, Any] | None,
    num_proc: int | None,
    text: str = "",
) -> Path:
    """Writes the files of a config into `out/<config>`, README.md and build.json; configs that are there already stay.

    Args:
        name: "nooch/ce_car".
        out: The folder of the repository.
        write: Gets a folder of Parquet as `datasets` names it, the folder to fill, and the builder.
        suffix: Suffix of the files that it writes; all configs of a repository have the same.
        data_dir: The raw folder; None takes `$OOCHUB_DATA/<benchmark>`.
        options: Options of the builder.
        num_proc: Processes to build with.
        text: Text to add to the card.

    Returns:
        The folder.

    Raises:
        OochubError: See `build_parquet`; configs in another form are there.
    """
    from oochub.data.load import get_builder_class, make_benchmark_builder, split_name

    check_writable(out, kind=REPOSITORY)
    benchmark, config = split_name(name)
    get_builder_class(benchmark).checked_options(options or {})
    config = get_builder_class(benchmark).checked_config(config or None)
    if num_proc is not None and num_proc < 1:
        raise OochubError(f"num_proc must be a whole number, 1 or larger, got {num_proc!r}. Omit it for one.")
    target = Path(out).expanduser()
    if target.name == benchmark and (target / f"{benchmark}.py").exists():
        raise OochubError(f"{target} contains {benchmark}.py; `datasets` refuses such a folder. Choose another one.")
    for other, form in _FORMS.items():
        if other != suffix and any(file.parent.name != config for file in target.glob(f"*/*{other}")):
            raise OochubError(
                f"{target} contains configs as {form}, but all configs of a repository must have the same format. "
                "Choose another folder."
            )
    find_data_folder(catalog.get("benchmark", benchmark).of(config), data_dir)  # an error of it leaves no empty folder
    builder = make_benchmark_builder(benchmark, config, data_dir=data_dir, options=options)
    builder.stores_record = suffix == ".parquet"
    folder = target / builder.config.name
    with claim_folder(target, REPOSITORY), lock_target(folder):
        with write_whole_folder(folder) as draft:
            built = draft / "built"
            builder.download_and_prepare(str(built), file_format="parquet", num_proc=num_proc)
            written = write(built, draft, builder)
            for leftover in [*built.iterdir(), *draft.glob("built*")]:
                leftover.rmdir() if leftover.is_dir() else leftover.unlink()
        with lock_target(target / "README.md", patience=_PATIENCE):  # of all configs; it takes a moment
            _write_card(target, builder, written, text)
    return target


def built_files(built: Path, builder: Any, split: str) -> list[Path]:
    """The Parquet files of a split that `datasets` built, in order; it calls celebA "celeb_a"."""
    return sorted(built.glob(f"{builder.dataset_name}-{split}*.parquet"))


def _write_card(target: Path, builder: Any, written: WrittenSplits, about: str) -> None:
    readme, config = target / "README.md", builder.config.name
    benchmark = catalog.get("benchmark", builder.BENCHMARK.name)
    data = DatasetCard.load(readme).data if readme.is_file() else card(benchmark).data
    files = {split: [f"{config}/{name}" for name in names] for split, names in written.files.items()}
    paths = [{"split": split, "path": places if len(places) > 1 else places[0]} for split, places in files.items()]
    MetadataConfigs({config: {"data_files": paths}}).to_dataset_card_data(data)
    data["task_categories"] = list_tasks(benchmark, MetadataConfigs.from_dataset_card_data(data))
    is_parquet = all(name.endswith(".parquet") for names in written.files.values() for name in names)
    describe_columns(data, config, None if is_parquet else written.features)
    rows = sum(split.num_examples for split in builder.info.splits.values())
    data["size_categories"] = [name_size(rows, others=data.get("size_categories"))]
    record = BuildRecord.of(builder.info)
    if record is not None:
        store_record(target, config, record, ConfigFiles.of(target, files, written.features))
    limits = (
        ", ".join(f"{name} {value:.6g}" for name, value in record.facts.name_thresholds().items()) if record else ""
    )
    lines = [*(record.notes if record else ()), *([f"thresholds: {limits}"] if limits else [])]
    notes = [f"- `{config}`: {note}" for note in lines]
    kept = [] if not readme.is_file() else _notes_of_others(readme.read_text("utf-8"), config)
    text = card(benchmark).text + about
    if kept or notes:
        of_configs = sorted([*kept, *notes], key=lambda note: note.partition(":")[0])
        text += "\n## This build\n\n" + "\n".join(of_configs) + "\n"
    with write_whole(target / LICENSES) as draft:
        draft.write_text(_license_text(benchmark), "utf-8")
    with write_whole(readme) as draft:
        draft.write_text(f"---\n{data.to_yaml()}\n---\n{text}", "utf-8")
    write_croissant(target)


def _notes_of_others(readme: str, config: str) -> list[str]:
    section = readme.partition("\n## This build\n")[2]
    return [line for line in section.splitlines() if line.startswith("- ") and not line.startswith(f"- `{config}`")]


def build_parquet(
    name: str,
    out: str | Path,
    *,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    num_proc: int | None = None,
) -> Path:
    """Writes `out/<config>/<split>-<hash>.parquet`, README.md and build.json; configs that are there already stay.

    The files' names carry a hash of their content: `datasets` caches by name, so a rebuilt config is never read from
    an old cache. The folder loads with `load_dataset(out, config)` without oochub, and can be uploaded as it is. The
    metadata of each file say which build it is of; see `BuildRecord.mark`.

    Args:
        name: "nooch/ce_car".
        out: The folder of the repository.
        data_dir: The raw folder; None takes `$OOCHUB_DATA/<benchmark>`.
        options: Options of the builder.
        num_proc: Processes to build with.

    Returns:
        The folder.

    Raises:
        OochubError: An unknown benchmark, config or option, raw data that are missing or broken, a folder that cannot
            be written, or in which another process builds the config. Nothing is half-written then.
    """
    options_of_build: dict[str, Any] = {"data_dir": data_dir, "options": options, "num_proc": num_proc}
    return _build_repository(name, out, _named_by_content, suffix=".parquet", **options_of_build)


def _named_by_content(built: Path, target: Path, builder: Any) -> WrittenSplits:
    files: dict[str, list[str]] = {}
    for split in builder.info.splits:
        for file in built_files(built, builder, split):
            seal(file)
            with file.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()[:12]
            renamed = file.rename(target / file.name.replace(f"{builder.dataset_name}-{split}", f"{split}-{digest}"))
            files.setdefault(split, []).append(renamed.name)
    return WrittenSplits(files, builder.info.features)


_ROWS = 100  # held at once


def build_webdataset(
    name: str,
    out: str | Path,
    *,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    num_proc: int | None = None,
    shard_size: float = SHARD_SIZE,
) -> Path:
    """Writes `out/<config>/<split>-<number>-<hash>.tar`, an index beside them, README.md and build.json.

    Args:
        name: "nooch/ce_car".
        out: The folder of the repository; configs that are there already, shards as well, stay.
        data_dir: The raw folder; None takes `$OOCHUB_DATA/<benchmark>`.
        options: Options of the builder.
        num_proc: Processes to build with.
        shard_size: Megabytes after which a new shard begins; see `write_webdataset`.

    Returns:
        The folder.

    Raises:
        OochubError: See `build_parquet`; a size that is not above 0, a folder with Parquet configs.
    """
    check_shard_size(shard_size)
    write = partial(_sharded, shard_size=shard_size)
    options_of_build: dict[str, Any] = {"data_dir": data_dir, "options": options, "num_proc": num_proc}
    return _build_repository(name, out, write, suffix=".tar", text=ABOUT_SHARDS, **options_of_build)


def _sharded(built: Path, target: Path, builder: Any, *, shard_size: float) -> WrittenSplits:
    record = BuildRecord.of(builder.info)
    assert record is not None  # noqa: S101  every builder writes one
    splits = {
        split: SplitRows(info.num_examples, partial(_read_tables, built_files(built, builder, split), record))
        for split, info in builder.info.splits.items()
    }
    features = record.beside(builder.info.features)
    return write_webdataset(splits, target, name=builder.config.name, features=features, shard_size=shard_size)


def _read_tables(files: list[Path], record: BuildRecord) -> Iterator[pa.Table]:
    for file in files:
        with pq.ParquetFile(file) as content:
            for rows in content.iter_batches(_ROWS):
                text = pa.repeat(pa.scalar(record.text), len(rows))
                yield pa.Table.from_batches([rows]).append_column(BUILD_COLUMN, text)


def _license_text(benchmark: Benchmark) -> str:
    """Markdown, from the declaration.

    >>> from oochub import get
    >>> print(_license_text(get("benchmark", "nooch")).splitlines()[2])
    - Images: Flickr terms of use; each image has its own licence.
    """
    files = "\n".join(
        f"| {', '.join(f'`{path}`' for path in paths)} | {url} | {license} |"
        for (url, _, license), paths in benchmark.downloads.items()
    )
    return f"""# Licenses of {benchmark.title}

- Images: {benchmark.images_license}.
- Labels: {benchmark.annotations_license}.

What it was built from:

| files | from | license |
|---|---|---|
{files}
"""
