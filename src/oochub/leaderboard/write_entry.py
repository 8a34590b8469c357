"""Puts an entry of a leaderboard together: a folder with a report, its predictions, and what its sender says."""

import hashlib
import json
import re
import shlex
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from oochub.errors import OochubError, choose_wording
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.leaderboard.leaderboard_entry import LeaderboardEntry
from oochub.records.schema import to_json
from oochub.records.typed_values import check_parameters
from oochub.report.report import Report
from oochub.storage.artifacts import ENTRY
from oochub.storage.files import write_whole_folder
from oochub.storage.ownership import MANIFEST

_SAID = ("track", "selection", "supervision")


def write_entry(report: str | Path, folder: str | Path, *, predictions: Sequence[str | Path] = (), **said: Any) -> Path:
    """Writes the folder of an entry into a folder of results, after a check that its numbers can be verified.

    The folder is called by benchmark, config, model and content: the same entry twice is one folder.

    Args:
        report: The path of a report.json.
        folder: The results, a folder with one folder an entry; made where it is not there.
        predictions: The files that the report was made of, in its order; none takes those that it names, beside it.
        **said: The fields of `LeaderboardEntry`: track, selection and supervision are asked for; model, method,
            external_data, who and date may be given. Method and model of a run of a sweep are those of its recipe.

    Returns:
        The folder of the entry.

    Raises:
        OochubError: A report or predictions that cannot be read or do not belong together, a field that is missing or
            wrong, or the folder cannot be written.
    """
    path = Path(report).expanduser()
    loaded = Report.load(path)
    files = [Path(file).expanduser() for file in predictions] or _find_predictions(path, loaded)
    for file in files:
        if not file.exists():
            raise OochubError(f"There are no predictions at {file}. {_describe_hint()}")
        if file.is_file() and file.suffix != ".parquet":
            keep = f"oochub evaluate {shlex.quote(file.name)} ... --keep {shlex.quote(file.stem)}.parquet"
            raise OochubError(
                f"An entry holds predictions as Parquet, and {file.name} holds answers. Evaluate them again with "
                f"`{keep}`, and send that report."
            )
    entry = _make_entry(loaded, files, said)
    name = _name(loaded, entry)
    target = Path(folder).expanduser() / name
    with write_whole_folder(target, kind=ENTRY) as draft:
        shutil.copyfile(path, draft / "report.json")
        for file, stored in zip(files, entry.predictions, strict=True):
            if file.is_dir():
                shutil.copytree(file, draft / stored, ignore=shutil.ignore_patterns(MANIFEST))
            else:
                shutil.copyfile(file, draft / stored)
        entry.save(draft)
        checked = CheckedEntry.of(draft)
        if checked.reason:
            raise OochubError(
                f"The entry would not be verified: {checked.reason.rstrip('.')}. Evaluate these predictions again, "
                "and send the new report."
            )
    return target


def _find_predictions(path: Path, report: Report) -> list[Path]:
    names = report.provenance.predictions.file
    if names == "in memory" or "/" in names:
        raise OochubError(f"{path} was made from predictions in memory. {_describe_hint()}")
    whole = path.parent / names
    return [whole] if whole.exists() else [path.parent / name for name in names.split()]


def _describe_hint() -> str:
    return f"Name the files behind the report: {choose_wording('predictions=[...]', '--predictions FILE')}."


def _make_entry(report: Report, files: Sequence[Path], said: dict[str, Any]) -> LeaderboardEntry:
    missing = [name for name in _SAID if name not in said]
    if missing:
        allowed = "; ".join(f"{name}: {_list_allowed(name)}" for name in missing)
        given = choose_wording(
            f"entry={{{', '.join(f'{name!r}: ...' for name in missing)}}}",
            " ".join(f"--entry {name}=..." for name in missing),
        )
        raise OochubError(f"An entry must state its {', '.join(missing)}, but none is given. Pass {given}. {allowed}.")
    about = report.model
    method = f"{about.method} ({about.setting})" if about.setting else about.method or ""
    seeds = ", ".join(map(str, about.seeds))
    own: dict[str, Any] = {
        "model": f"{method}, seed {seeds}" if method and seeds else about.id or about.objective or "",
        "method": method if seeds else "",
        "date": datetime.now(UTC).date().isoformat(),
        **{name: str(value) for name, value in said.items()},
    }
    stored = tuple(_make_plain_name(file.name, number) for number, file in enumerate(files))
    check_parameters(LeaderboardEntry, own, kind="field of an entry")
    return LeaderboardEntry(**{**own, "predictions": stored})


def _list_allowed(name: str) -> str:
    from oochub.leaderboard.leaderboard_entry import RULES, SUPERVISIONS, TRACKS

    choices: dict[str, Any] = {"track": TRACKS, "selection": RULES, "supervision": SUPERVISIONS}
    return ", ".join(choices[name])


def _make_plain_name(name: str, number: int) -> str:
    """A file's name in an entry: plain, and never that of another file of it."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).stem).strip("-.")[:80] or "predictions"
    return f"{number}-{stem}.parquet" if number else f"{stem}.parquet"


def _name(report: Report, entry: LeaderboardEntry) -> str:
    fields_sent = {name: value for name, value in to_json(entry).items() if name != "method" or value}
    content = json.dumps([fields_sent | {"date": ""}, report.provenance.predictions.sha256])
    digest = hashlib.sha256(content.encode()).hexdigest()
    words = f"{report.benchmark.name}-{report.benchmark.config}-{entry.model}"
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", words).strip("-.")[:80]
    return f"{plain}-{digest[:8]}"
