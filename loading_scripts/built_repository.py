"""Builds one config of a benchmark into a repository with its card, whatever the form of its files."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import datasets
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard

from oochub import catalog
from oochub.benchmark import data_folder
from oochub.data.build_file import ConfigFiles, store_record
from oochub.data.repository_card import name_size
from oochub.data.write_webdataset import WrittenSplits
from oochub.dataset_cards.card import card
from oochub.dataset_cards.license_text import license_text
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord
from oochub.storage.artifacts import REPOSITORY
from oochub.storage.files import check_writable, folder_written_whole, sole_writer, written_whole

_PATIENCE = 60.0  # seconds
_FORMS = {".parquet": "Parquet", ".tar": "WebDataset"}


def built_repository(
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
        write: Of a folder of Parquet as `datasets` names it, the folder to fill, and the builder.
        suffix: Of the files that it writes; all configs of a repository have the same.
        data_dir: The raw folder; None takes `$OOCHUB_DATA/<benchmark>`.
        options: Options of the builder.
        num_proc: Processes to build with.
        text: What the card says besides.

    Returns:
        The folder.

    Raises:
        OochubError: See `parquet_repository`; configs in another form are there.
    """
    from oochub.data.load import benchmark_builder, builder_class, check_options, split_name

    check_writable(out, kind=REPOSITORY)
    benchmark, config = split_name(name)
    check_options(benchmark, options or {})
    config = builder_class(benchmark).checked_config(config or None)
    if num_proc is not None and num_proc < 1:
        raise OochubError(f"num_proc must be a whole number, 1 or larger, got {num_proc!r}. Leave it out for one.")
    target = Path(out).expanduser()
    if target.name == benchmark and (target / f"{benchmark}.py").exists():
        raise OochubError(f"{target} holds {benchmark}.py; `datasets` refuses such a folder. Choose another one.")
    for other, form in _FORMS.items():
        if other != suffix and any(file.parent.name != config for file in target.glob(f"*/*{other}")):
            raise OochubError(
                f"{target} holds configs as {form}, and all of a repository have one form. Choose another folder."
            )
    data_folder(catalog.get("benchmark", benchmark).of(config), data_dir)  # an error of it leaves no empty folder
    builder = benchmark_builder(benchmark, config, data_dir=data_dir, options=options)
    builder.stores_record = True
    folder = target / builder.config.name
    with sole_writer(folder):
        with folder_written_whole(folder) as draft:
            built = draft / "built"
            builder.download_and_prepare(str(built), file_format="parquet", num_proc=num_proc)
            written = write(built, draft, builder)
            for leftover in [*built.iterdir(), *draft.glob("built*")]:
                leftover.rmdir() if leftover.is_dir() else leftover.unlink()
        with sole_writer(target / "README.md", patience=_PATIENCE):  # of all configs; it takes a moment
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
    paths = [{"split": split, "path": each if len(each) > 1 else each[0]} for split, each in files.items()]
    MetadataConfigs({config: {"data_files": paths}}).to_dataset_card_data(data)
    info = builder.info.copy()
    info.splits = info.download_size = info.dataset_size = None  # the reader would compare them with what filters leave
    info.features = written.features
    datasets.info.DatasetInfosDict({config: info}).to_dataset_card_data(data)
    rows = sum(split.num_examples for split in builder.info.splits.values())
    data["size_categories"] = [name_size(rows, others=data.get("size_categories"))]
    record = BuildRecord.of(builder.info)
    if record is not None:
        store_record(target, config, record, ConfigFiles.of(target, files, written.features))
    notes = [f"- `{config}`: {note}" for note in (record.notes if record else ())]
    kept = [] if not readme.is_file() else _notes_of_others(readme.read_text("utf-8"), config)
    text = card(benchmark).text + about
    if kept or notes:
        of_configs = sorted([*kept, *notes], key=lambda note: note.partition(":")[0])
        text += "\n## This build\n\n" + "\n".join(of_configs) + "\n"
    with written_whole(target / "LICENSE.md") as draft:
        draft.write_text(license_text(benchmark), "utf-8")
    with written_whole(readme) as draft:
        draft.write_text(f"---\n{data.to_yaml()}\n---\n{text}", "utf-8")


def _notes_of_others(readme: str, config: str) -> list[str]:
    section = readme.partition("\n## This build\n")[2]
    return [line for line in section.splitlines() if line.startswith("- ") and not line.startswith(f"- `{config}`")]
