"""Writes own data, with groups and challenges, as a Parquet repository with a card, which plain `datasets` loads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets

from oochub.data.challenge import KINDS
from oochub.data.columns import Columns
from oochub.data.load import load_columns
from oochub.data.write_repository import check_replaceable, write_repository
from oochub.data.write_webdataset import check_shard_size
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord
from oochub.storage.files import sole_writer

_TITLE = "in the form of oochub"


def own_repository(
    source: str,
    out: str | Path,
    *,
    columns: Columns | None = None,
    config: str | None = None,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    num_proc: int | None = None,
    shard_size: float | None = None,
) -> Path:
    r"""Writes what `oochub.load` makes of own data; loaded again, its columns, notes and usual contexts are there.

    Args:
        source: A folder of pictures, a file, an id on the Hub: see `oochub.load`.
        out: The folder of the repository: new, empty, or an earlier one of this kind, which is replaced.
        columns: Which columns of the data are what.
        config: The configuration, where the source has several.
        data_dir: As `load_dataset` takes it.
        options: What else `load_dataset` takes.
        num_proc: Processes to read with.
        shard_size: Write shards of a WebDataset of so many megabytes, see `write_webdataset`; None writes Parquet.

    Returns:
        The folder.

    Raises:
        OochubError: What `oochub.load` raises; a folder that holds something else or cannot be written.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "birds.csv").write_text("label,context\ngull,sea\nwren,land\n")
    >>> out = own_repository(str(folder / "birds.csv"), folder / "out")
    >>> datasets.load_dataset(str(out))["train"].remove_columns("build")[1]
    {'example_id': '1', 'label': 1, 'context': 0, 'group': 1, 'challenge': 0}
    """
    if shard_size is not None:
        check_shard_size(shard_size)
    target = check_replaceable(out, title=_TITLE, what="a repository of own data")
    with sole_writer(target):
        data = load_columns(
            source, columns or Columns(), config=config, data_dir=data_dir, options=options, num_proc=num_proc
        )
        record = BuildRecord.of(next(iter(data.values())).info)
        if record is None:
            raise OochubError(f"{source} is a repository already: copy it, or name its columns to make another of it.")
        write_repository(target, data, record, _text(data, record), tag="own-data", shard_size=shard_size)
    return target


def _text(data: datasets.DatasetDict, record: BuildRecord) -> str:
    """The card below its metadata: the rows of each split, what is usual, the notes."""
    first = next(iter(data.values()))
    kinds = KINDS if "challenge" in first.features else ()
    table = [f"| split | rows |{''.join(f' {kind} |' for kind in kinds)}", f"|---|{'---:|' * (1 + len(kinds))}"]
    for split, part in data.items():
        codes = part["challenge"][:] if kinds else []
        counts = [codes.count(number) for number in range(len(kinds))]
        table.append(f"| {split} | {len(part):,} |{''.join(f' {count:,} |' for count in counts)}")
    usual = record.facts.usual_contexts or {}
    contexts = [f"| {name} | {', '.join(each) or 'none'} |" for name, each in usual.items()]
    return "\n".join(
        [
            f"# {record.config}, {_TITLE}\n",
            *table,
            *(["\n| class | usual contexts |\n|---|---|", *contexts] if usual else []),
            *(["", *(f"- {note}" for note in record.notes)] if record.notes else []),
            "",
        ]
    )
