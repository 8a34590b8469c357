"""Builds one config of a benchmark into a Parquet repository with its card, which plain `datasets` loads."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard

from oochub import catalog
from oochub.artifacts import REPOSITORY
from oochub.build_record import BuildRecord
from oochub.data.stored_record import store_record
from oochub.dataset_cards.card import card
from oochub.errors import OochubError
from oochub.files import check_writable, folder_written_whole, sole_writer, written_whole
from oochub.parquet_file import seal

_PATIENCE = 60.0  # seconds


def parquet_repository(
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
    last column of each row, `build`, says which build it is of; see `BuildRecord.text`.

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
    from oochub.data.load import builder_class, check_options, split_name

    check_writable(out, kind=REPOSITORY)
    benchmark, config = split_name(name)
    check_options(benchmark, options or {})
    config = builder_class(benchmark).checked_config(config or None)
    if num_proc is not None and num_proc < 1:
        raise OochubError(f"num_proc must be a whole number, 1 or larger, got {num_proc!r}. Leave it out for one.")
    target = Path(out).expanduser()
    if target.name == benchmark and (target / f"{benchmark}.py").exists():
        raise OochubError(f"{target} holds {benchmark}.py; `datasets` refuses such a folder. Choose another one.")
    builder = datasets.load_dataset_builder(benchmark, config, data_dir=data_dir, **(options or {}))
    builder.stores_record = True
    folder = target / builder.config.name
    with sole_writer(folder), folder_written_whole(folder) as draft:
        built = draft / "built"
        builder.download_and_prepare(str(built), file_format="parquet", num_proc=num_proc)
        files = _named_by_content(built, draft, benchmark, list(builder.info.splits))
        for leftover in [*built.iterdir(), *draft.glob("built*")]:
            leftover.rmdir() if leftover.is_dir() else leftover.unlink()
    with sole_writer(target / "README.md", patience=_PATIENCE):  # of all configs; it takes a moment
        _write_card(target, builder, files)
    return target


def _named_by_content(built: Path, target: Path, benchmark: str, splits: list[str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for split in splits:
        for file in sorted(built.glob(f"{benchmark}-{split}*.parquet")):
            seal(file)
            with file.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()[:12]
            renamed = file.rename(target / file.name.replace(f"{benchmark}-{split}", f"{split}-{digest}"))
            names.setdefault(split, []).append(renamed.name)
    return names


def _write_card(target: Path, builder: Any, files: Mapping[str, list[str]]) -> None:
    readme, config = target / "README.md", builder.config.name
    benchmark = catalog.get("benchmark", builder.BENCHMARK.name)
    data = DatasetCard.load(readme).data if readme.is_file() else card(benchmark).data
    paths = [
        {"split": split, "path": [f"{config}/{name}" for name in names] if len(names) > 1 else f"{config}/{names[0]}"}
        for split, names in files.items()
    ]
    MetadataConfigs({config: {"data_files": paths}}).to_dataset_card_data(data)
    builder.info.download_size = None  # nothing was downloaded; the reader would check it
    datasets.info.DatasetInfosDict({config: builder.info}).to_dataset_card_data(data)
    record = BuildRecord.of(builder.info)
    if record is not None:
        store_record(target, config, record)
    notes = [f"- `{config}`: {note}" for note in (record.notes if record else ())]
    kept = [] if not readme.is_file() else _notes_of_others(readme.read_text("utf-8"), config)
    text = card(benchmark).text
    if kept or notes:
        of_configs = sorted([*kept, *notes], key=lambda note: note.partition(":")[0])
        text += "\n## This build\n\n" + "\n".join(of_configs) + "\n"
    with written_whole(readme) as draft:
        draft.write_text(f"---\n{data.to_yaml()}\n---\n{text}", "utf-8")


def _notes_of_others(readme: str, config: str) -> list[str]:
    section = readme.partition("\n## This build\n")[2]
    return [line for line in section.splitlines() if line.startswith("- ") and not line.startswith(f"- `{config}`")]
