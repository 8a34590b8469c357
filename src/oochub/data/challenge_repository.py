"""Makes a challenge set of any data that `datasets` reads and writes it as a Parquet repository with a card."""

import dataclasses
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import datasets

from oochub.data.challenge import KINDS, ChallengeSet, challenge
from oochub.data.columns import Columns
from oochub.data.criterion_arguments import Arguments, check_arguments, check_columns
from oochub.data.load import is_benchmark, load_benchmark, load_columns
from oochub.data.open_source import open_source, source_name
from oochub.data.write_repository import check_replaceable, write_repository
from oochub.errors import OochubError, either
from oochub.records.build_record import OWN, BuildRecord
from oochub.storage.files import sole_writer

_TITLE = "challenge set by"


def challenge_repository(
    source: str,
    out: str | Path,
    criterion: str,
    arguments: Mapping[str, Any],
    *,
    config: str | None = None,
    columns: Columns | None = None,
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
        config: The configuration, where the source has several and does not name one.
        columns: Which columns of own data are what, as `oochub.load` takes them; the criterion then finds `label`,
            `context` and `group`. None takes the columns as they are.
        data_dir: As `load_dataset` takes it; of a benchmark its raw folder.
        options: Of the benchmark's builder, or what else `load_dataset` takes.
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
    >>> datasets.load_dataset(str(folder / "out"))["train"].remove_columns("build")[1]
    {'id': 'b', 'label': 1, 'background': 0, 'challenge': 1}
    """
    checked = check_arguments(criterion, arguments)
    if criterion == "mismatch" and columns is not None and columns.context and "context" not in arguments:
        raise OochubError(
            "mismatch compares each context with the label, so it must be coded like it: name that column with "
            f"{either('context=', '--context')}. A challenge set by usual contexts is what `oochub build` makes of "
            "the same columns."
        )
    target = check_replaceable(out, title=_TITLE, what="a challenge set")
    with sole_writer(target):
        dataset = _opened(
            source,
            columns or Columns(),
            lambda features: check_columns(checked, features, replace=replace),
            config=config,
            data_dir=data_dir,
            options=options,
        )
        challenge_set = challenge(dataset, criterion, restrict_train=restrict_train, replace=replace, **arguments)
        record = _record(source, next(iter(challenge_set.dataset.values())).info)
        write_repository(
            target, challenge_set.dataset, record, _text(source, criterion, checked, challenge_set), tag="challenge-set"
        )
    return challenge_set


def _opened(
    source: str, columns: Columns, check: Callable[[Mapping[str, Any]], None], **options: Any
) -> datasets.DatasetDict:
    """The data as they are; where columns are named, in our row form, less the challenges that follow from these."""
    if not columns.named and not columns.usual:
        return (load_benchmark if is_benchmark(source) else open_source)(source, check=check, **options)
    own = load_columns(source, columns, **options)
    made = BuildRecord.of(next(iter(own.values())).info)
    is_made = made is not None and made.facts.usual_contexts is not None
    return own.remove_columns("challenge") if is_made and "challenge" in own[next(iter(own))].features else own


def _record(source: str, info: datasets.DatasetInfo) -> BuildRecord:
    """The record of the source as one of own data: its sides are now easy and hard rows."""
    before = BuildRecord.of(info)
    name = source_name(source).replace("/", "-")
    if before is None:
        return BuildRecord(benchmark=OWN, config=name, version=str(info.version or "0.0.0"))
    return dataclasses.replace(before, benchmark=OWN, config=name)


def _text(source: str, criterion: str, arguments: Arguments, challenge_set: ChallengeSet) -> str:
    """The card below its metadata."""
    first = next(iter(challenge_set.dataset.values()))
    name = source_name(source)
    parameters = [f"| `{key}` | column `{value}` |" for key, value in arguments.columns.items()]
    parameters += [f"| `{key}` | {_shown(value)} |" for key, value in arguments.values.items()]
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
            f"# {name}: {_TITLE} {criterion}\n",
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
