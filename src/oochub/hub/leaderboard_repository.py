"""A leaderboard on the Hub: entries are sent to its data set and fetched from there, its site is a static Space.

An entry is sent as a pull request on a data set of results, or as a folder in one here.
"""

import hashlib
import json
import re
import shlex
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from oochub.comparison.methods_over_seeds import PREDICTIONS
from oochub.errors import OochubError, OochubWarning, choose_wording
from oochub.hub.upload import Pushed, open_client, upload
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.leaderboard.leaderboard_entry import WITHDRAWN, LeaderboardEntry
from oochub.leaderboard.site import Site, join_truth, load_truth
from oochub.process.follow import follow
from oochub.records.schema import to_json
from oochub.records.typed_values import check_parameters
from oochub.remote.check_source import check_source
from oochub.remote.guard import hide_token
from oochub.remote.hub_errors import explain_refusals
from oochub.remote.remote_repository import fetch_snapshot
from oochub.report.report import Report
from oochub.storage.artifacts import ENTRY, SITE
from oochub.storage.files import make_scratch_folder, write_whole_folder
from oochub.storage.ownership import MANIFEST
from oochub.storage.parquet_file import read_parquet
from oochub.sweep.selection import ORACLES

_TOGETHER = 500  # paths that the Hub is asked about at once
_ON_HUB = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_SAID = ("track", "selection", "supervision")
_FILES = ("*/entry.json", "*/report.json", "*/*.parquet", "*/*.parquet/*", "truth/*/truth.json", WITHDRAWN)


def push_entry(
    report: str | Path,
    results: str,
    *,
    predictions: Sequence[str | Path] = (),
    dry_run: bool = False,
    **said: Any,
) -> Pushed:
    """Sends a report, its predictions and what you say of them, after a check that the numbers can be verified.

    Args:
        report: The path of a report.json; or the folder of a sweep, of whose selected settings each run becomes an
            entry, one seed of its method.
        results: The leaderboard's data set on the Hub, user/results, on which a pull request is opened; or a folder
            here, made where it is not there. A name with one slash is the Hub's, unless there is such a folder.
        predictions: The files that the report was made of; none takes those that it names, beside it.
        dry_run: For the Hub only: check, and say what would be sent, but send nothing.
        **said: track, selection and supervision; if you like model, method, external_data, who and date. See
            `oochub.leaderboard.leaderboard_entry`.

    Raises:
        OochubError: What `write_entry` and `oochub.hub.upload.upload` raise; if there is no token, before anything is
            read.
    """
    is_here = not _ON_HUB.fullmatch(results) or Path(results).is_dir()
    if not is_here:
        open_client(results, dry_run=dry_run)
    runs = _list_runs(Path(report).expanduser(), said) or [(Path(report), predictions)]

    def write(folder: str | Path) -> list[Path]:
        files = follow(runs, desc="Checking", unit="entry", delay=2, disable=None)
        return [write_entry(path, folder, predictions=own, **said) for path, own in files]

    if is_here:
        entries = write(results)
        files = [path for entry in entries for path in entry.rglob("*") if path.is_file() and path.name != MANIFEST]
        top = entries[0] if len(entries) == 1 else entries[0].parent
        return Pushed(url=str(top), added={path.relative_to(top).as_posix(): path.stat().st_size for path in files})
    with make_scratch_folder() as draft:
        entries = write(draft)
        return upload(
            draft,
            results,
            repo_type="dataset",
            message=f"Entry {entries[0].name}" if len(entries) == 1 else f"{len(entries)} entries of a sweep",
            pull_request=True,
            delete=[f"{entry.name}/*" for entry in entries],
            dry_run=dry_run,
        )


def _list_runs(folder: Path, said: Mapping[str, object]) -> list[tuple[Path, Sequence[str | Path]]]:
    """The report and predictions of each run of a sweep that has a selected setting; none for what is no sweep."""
    table = folder / "runs.parquet"
    if not (folder / "sweep.json").is_file() or not table.is_file():
        return []
    runs = read_parquet(table).table.to_pandas()
    taken = runs[runs["selected"] & (runs["stage"] == "final")]
    places = [folder / path for path in taken["path"] if (folder / path / "report.json").is_file()]
    if not places:
        raise OochubError(f"{folder} has no finished run with a report. Run `oochub sweep` to its end, then push.")
    oracles = sorted({*taken["rule"]} & {*ORACLES})
    if oracles and said.get("selection") != "oracle":
        raise OochubError(
            f"The settings of {folder} were selected by {oracles[0]}, on test groups. Pass "
            f"{choose_wording('selection=oracle', '--entry selection=oracle')}."
        )
    for name in ("model", "method"):
        if name in said:
            raise OochubError(f"{name} of a run of a sweep is the recipe's. Remove {name}.")
    return [(place / "report.json", [place / PREDICTIONS]) for place in places]


def push_site(folder: str | Path, to: str, **options: Any) -> Pushed:
    """Makes a static Space hold a site, in one commit; pages of entries that are gone are deleted.

    Args:
        folder: Folder that `oochub leaderboard` wrote.
        to: The Space, user/board.
        options: Options of `oochub.hub.upload.upload`: private, revision, dry_run, overwrite.

    Raises:
        OochubError: The folder holds no site, or something else too; as `oochub.hub.upload.upload`.

    >>> push_site("nowhere", "user/board")
    Traceback (most recent call last):
    oochub.errors.OochubError: nowhere contains no leaderboard site. Run `oochub leaderboard RESULTS --out nowhere`...
    """
    site = Path(folder).expanduser()
    if not site.is_dir() or not any(site.iterdir()) or not SITE.recognizes(site):
        raise OochubError(
            f"{site} contains no leaderboard site. Run `oochub leaderboard RESULTS --out {site}` to create one."
        )
    return upload(
        site,
        to,
        repo_type="space",
        message="The leaderboard",
        space_sdk="static",
        delete=["boards/*", "entries/*"],
        known_by="leaderboard.json",
        **options,
    )


@dataclass(frozen=True, kw_only=True)
class ResultsSnapshot:
    """What was fetched.

    Attributes:
        name: Id of the repository.
        folder: The folder here that holds it.
        commit: Its commit.
        address: Address of its files of this commit on the Hub.
    """

    name: str
    folder: Path
    commit: str
    address: str

    def first_commits(self, entries: Sequence[CheckedEntry]) -> dict[str, int]:
        """The number of the commit since which the answers of each entry are what they are, by the entry's name.

        Args:
            entries: Entries of the snapshot.

        Raises:
            OochubError: The Hub could not be asked.
        """
        from huggingface_hub import HfApi

        files = {
            part.relative_to(self.folder).as_posix(): entry.name
            for entry in entries
            for file in entry.files
            for part in ([file] if file.is_file() else file.rglob("*"))
        }
        client, asked = HfApi(), {"repo_type": "dataset", "revision": self.commit}
        with explain_refusals(self.name, token=None):
            commits = [commit.commit_id for commit in client.list_repo_commits(self.name, **asked)]
            paths = [*files]
            told = [
                info
                for start in range(0, len(paths), _TOGETHER)
                for info in client.get_paths_info(self.name, paths[start : start + _TOGETHER], expand=True, **asked)
            ]
        number = {commit: place for place, commit in enumerate(reversed(commits))}
        sizes = dict.fromkeys(files.values(), -1)
        for info in told:
            last = getattr(info, "last_commit", None)
            place = number.get(last.oid, len(commits)) if last is not None else len(commits)
            sizes[files[info.path]] = max(sizes[files[info.path]], place)
        return {name: len(commits) if place < 0 else place for name, place in sizes.items()}


def fetch_results(name: str) -> ResultsSnapshot:
    """Fetches the entries of a data set repository; files that are here already are not fetched again.

    Args:
        name: Id of the repository, user/results.

    Raises:
        OochubError: There is no such folder or data set, or the Hub could not be asked.
    """
    check_source(name, kind="dataset", hint="`oochub push report.json --leaderboard` sends an entry to one.")
    from huggingface_hub import constants

    folder = fetch_snapshot(name, repo_type="dataset", patterns=_FILES)
    address = f"{hide_token(constants.ENDPOINT)}/datasets/{name}/tree/{folder.name}"
    return ResultsSnapshot(name=name, folder=folder, commit=folder.name, address=address)


def write_site_of(results: str, out: str | Path, *, truth: Sequence[str | Path] = ()) -> Site:
    """Writes the site of the entries in a dataset; benchmarks' own rows that are given become part of it.

    Args:
        results: Id of the dataset, user/results.
        out: The folder of the site.
        truth: See `Site.write`.

    Raises:
        OochubError: What `fetch_results` and `Site.write` raise.

    Warns:
        OochubWarning: The rows could not be sent to the dataset, so that they count for this site only.
    """
    snapshot, given = fetch_results(results), load_truth(truth)
    own = join_truth(snapshot.folder, given)
    fresh = [rows for key, rows in given.items() if own[key] is rows]
    if fresh:
        with make_scratch_folder() as draft:
            for rows in fresh:
                rows.save(draft)
            names = ", ".join(str(rows.key) for rows in fresh)
            try:
                upload(draft, results, repo_type="dataset", message=f"The rows of {names}")
            except OochubError as error:
                words = f"The rows of {names} were not kept in {results}, so they count for this site only: {error}"
                warnings.warn(words, OochubWarning, stacklevel=2)
            else:
                snapshot = fetch_results(results)
    return Site.write(
        snapshot.folder,
        out,
        source=results,
        commit=snapshot.commit,
        link=snapshot.address,
        first_commits=snapshot.first_commits,
        truth=[*given.values()],
    )


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
