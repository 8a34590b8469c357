"""Builds one config of a benchmark into a Parquet repository with its card, which plain `datasets` loads."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oochub.data.write_webdataset import WrittenSplits
from oochub.loading_scripts.built_repository import built_files, built_repository
from oochub.storage.parquet_file import seal


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
    given: dict[str, Any] = {"data_dir": data_dir, "options": options, "num_proc": num_proc}
    return built_repository(name, out, _named_by_content, suffix=".parquet", **given)


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
