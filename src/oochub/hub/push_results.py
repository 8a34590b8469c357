"""Writes the numbers of reports into a model's repository, where the Hub shows them beside the model.

Each number becomes an entry of `.eval_results/*.yaml` (`_make_result_entries`). What the Hub's leaderboards call one
number of a benchmark, `name_task` says: to them a task is one number.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from pathlib import Path
from typing import Any

import yaml

from oochub.errors import OochubError, OochubWarning, choose_wording
from oochub.exchange.bridge import get_bridge
from oochub.hub.upload import Pushed, open_client, upload
from oochub.records.build_record import OWN
from oochub.records.report_records import Role
from oochub.remote.guard import hide_token
from oochub.remote.hub_errors import ODD_ANSWERS
from oochub.remote.remote_repository import RemoteRepository
from oochub.report.report import Report
from oochub.report.report_record import check_all_rows
from oochub.stats.estimate import Estimate
from oochub.storage.files import make_scratch_folder

_FOLDER = ".eval_results"
_SHOWN = 6  # task ids
_SIDES = {"in": "in context", "out": "out of context"}
_PROGRAM = "oochub"
_LISTED = "benchmark:"
"""How the tag begins by which the Hub marks the data sets on its list of benchmarks."""
_PATIENCE = 60.0  # seconds for one answer
_DIGITS = 12  # of a digest
Entry = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class _ResultEntries:
    """What of a report can stand on the Hub, and what cannot.

    Attributes:
        entries: One `huggingface_hub.EvalResultEntry` for each number.
        left_out: Why a number has none, by its task id.
    """

    entries: tuple[Any, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


def name_task(config: str, metric: str, role: Role = "all") -> str:
    """The id of a task: config, metric, and the side where the number is not of all rows of the evaluation split.

    Args:
        config: Config of the benchmark, such as "ce_car"; a task of `nooch/all` bears the name of its config.
        metric: Name of the metric in a report; "worst_group.accuracy" is one number of a metric that gives several.
        role: "all", or a side of the comparison: "in" or "out".

    >>> name_task("ce_car", "auc_hard"), name_task("ce_car", "auc", "out")
    ('ce_car_auc_hard', 'ce_car_auc_out_of_context')
    >>> name_task("o2o_hard", "worst_group.accuracy")
    'o2o_hard_worst_group_accuracy'
    """
    words = f"{config} {metric} {_SIDES.get(role, '')}"
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


def push_results(
    source: str | Path,
    to: str,
    *,
    dataset: str | None = None,
    evidence: str | None = None,
    revision: str | None = None,
    pull_request: bool = False,
    dry_run: bool = False,
) -> Pushed:
    """Writes `.eval_results/<benchmark>.yaml`, an entry for each task and metric; see `_make_result_entries`.

    Beside it lies the evidence, `.eval_results/<benchmark>-<config>.json`: every number of the report with its
    interval, as a record of Every Eval Ever. It holds no images.

    The file is merged with what is there: an entry of the same data set, task and source is replaced, every other
    one stays, and so does every other file. The same report again changes nothing.

    Args:
        source: A report.json, or a folder of them as `oochub evaluate --task every` writes.
        to: The model's repository, user/model; it must be there.
        dataset: The data set's id on the Hub, user/nooch; None where the predictions were made of one that was loaded
            from the Hub, which the report then says.
        evidence: The address of a page that says where the numbers come from, such as that of the report or its
            predictions; None is the record beside the entries.
        revision: A branch; None is main.
        pull_request: Open a pull request, as for a model of somebody else.
        dry_run: Only say what would change; needs no token where the model is public.

    Returns:
        What changed; `texts` holds the YAML.

    Raises:
        OochubError: No report, or one of another model or on chosen rows; no data set is known; nothing in it can
            stand on the Hub; no such model, or a file there that is no list of entries; as `oochub.hub.upload.upload`.
    """
    client = open_client(to, dry_run=dry_run)
    if dataset is not None:
        open_client(dataset, dry_run=True)  # for its look at the name
    files = _find_reports(Path(source).expanduser())
    reports = [Report.load(path) for path in files]
    for path, report in zip(files, reports, strict=True):
        check_all_rows(report, str(path), why="Numbers on the Hub are of a whole split")
    entries_of_file: dict[str, list[_ResultEntries]] = {}
    records: dict[str, Report] = {}
    hub = hide_token(client.endpoint)
    for report in reports:
        place, commit = _find_data_set(report, dataset)
        name = place.partition("/")[2] if report.benchmark.name == OWN else report.benchmark.name
        record = f"{_FOLDER}/{name}-{name_task(report.benchmark.config, '')}.json"
        if evidence is None:
            records[record] = report
        page = evidence or f"{hub}/{to}/blob/{revision or 'main'}/{record}"
        entries_of_file.setdefault(f"{_FOLDER}/{name}.yaml", []).append(
            _make_result_entries(report, dataset=place, revision=commit, source=page)
        )
    _note_unlisted(client, sorted({_find_data_set(report, dataset)[0] for report in reports}))
    _note_left_out([part for parts in entries_of_file.values() for part in parts], source)
    entries = {path: [entry for part in parts for entry in part.entries] for path, parts in entries_of_file.items()}
    texts: dict[str, str] = {}

    def fitted(remote: RemoteRepository) -> Mapping[str, bytes]:
        if not remote.is_there:  # an empty model would be made for them
            raise OochubError(
                f"The Hub has no model {to} that you may read. Push the model first, `oochub push runs/x --to {to}`, "
                "or check the name."
            )
        for report in reports:
            _check_model(report, remote)
        texts.update({path: _merge_entries(remote, path, own, hub=hub) for path, own in entries.items()})
        return {path: text.encode() for path, text in texts.items()}

    message = f"Results on {', '.join(sorted({report.benchmark.title for report in reports}))}"
    with make_scratch_folder() as folder:
        for record, report in records.items():
            (folder / record).parent.mkdir(exist_ok=True)
            get_bridge("every_eval_ever").write_report(report, folder / record)
        pushed = upload(
            folder,
            to,
            repo_type="model",
            message=message,
            revision=revision,
            pull_request=pull_request,
            dry_run=dry_run,
            fitted=fitted,
        )
    return replace(pushed, texts=texts)


def _find_reports(source: Path) -> list[Path]:
    """The reports of a folder, or the one."""
    if not source.is_dir():
        return [source]
    files = sorted(source.glob("*.json"))
    if not files:
        raise OochubError(
            f"{source} contains no report. Run `oochub evaluate PREDICTIONS --out report.json` to create one."
        )
    return files


def _check_model(report: Report, remote: RemoteRepository) -> None:
    """Refuses numbers of other weights; for several files, or a report that names none, nothing can be said."""
    weights = [file.digest for path, file in remote.files.items() if path.endswith(".safetensors") and file.is_large]
    revision = report.model.revision
    if report.model.id == remote.name or len(weights) != 1 or revision in (None, weights[0][: len(revision or "")]):
        return
    raise OochubError(
        f"The report is for the model {report.model.id} with weights {revision}, but {remote.name} contains others, "
        f"{weights[0][:40]}. Push that model first, or predict with {remote.name} and evaluate again."
    )


def _find_data_set(report: Report, dataset: str | None) -> tuple[str, str | None]:
    """The data set's id on the Hub, and its commit where that is known."""
    data_set = report.benchmark.data_set
    if data_set is not None:
        if dataset not in (None, data_set.id):
            option = choose_wording("dataset=")
            raise OochubError(f"The report is for {data_set.id}, not {dataset}. Remove {option}, or predict with it.")
        return data_set.id, data_set.revision
    if dataset is None:
        raise OochubError(
            f"The report of {report.benchmark.name} does not name its dataset on the Hub, but each entry must name "
            f"one. Pass {choose_wording('dataset=')} user/name: push the data with `oochub push`, or predict from "
            "there."
        )
    return dataset, None


def _note_unlisted(client: Any, names: Sequence[str]) -> None:
    """Says which data sets are not on the Hub's list of benchmarks: their numbers are stored, and not ranked."""
    from huggingface_hub.errors import HfHubHTTPError

    unreached: type[Exception] = HfHubHTTPError.__bases__[0]  # HTTPError of httpx or httpx2, as the version has it
    for name in names:
        try:
            tags = client.dataset_info(name, timeout=_PATIENCE).tags or ()
        except (unreached, OSError, *ODD_ANSWERS):  # whoever pushes hears of a Hub that does not answer
            continue
        if not any(str(tag).startswith(_LISTED) for tag in tags):
            warnings.warn(
                f"{name} is not on the Hub's list of benchmarks, so the Hub may not show these numbers beside the "
                "model. Its staff keeps the list: see docs/hub.md.",
                OochubWarning,
                stacklevel=3,
            )


def _note_left_out(parts: Sequence[_ResultEntries], source: str | Path) -> None:
    by_reason: dict[str, list[str]] = {}
    for part in parts:
        for task, reason in part.left_out.items():
            by_reason.setdefault(reason, []).append(task)
    lines = [f"{_list_names(tasks)} ({reason})" for reason, tasks in by_reason.items()]
    if not any(part.entries for part in parts):
        raise OochubError(
            f"Nothing in {source} can be shown on the Hub: {'; '.join(lines) or 'it has no number'}. Evaluate with a "
            "metric for which higher is better."
        )
    if lines:
        warnings.warn(f"Left out, and only in the report: {'; '.join(lines)}.", OochubWarning, stacklevel=3)


def _list_names(tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - _SHOWN} more" if len(tasks) > _SHOWN else ""
    return ", ".join(tasks[:_SHOWN]) + more


def _merge_entries(remote: RemoteRepository, path: str, own: Iterable[Any], *, hub: str) -> str:
    """The file with our entries in it: each takes the place of one of the same task and source.

    The page of the data set, which earlier versions named as the source, counts as the record beside the entries.
    """
    from huggingface_hub import eval_result_entries_to_yaml

    text = remote.text(path)
    there = _read(text, f"{path} of {remote.name}")
    evidence = f"{hub}/{remote.name}/blob/"
    ours = {_make_entry_key(entry, hub, evidence): entry for entry in eval_result_entries_to_yaml(list(own))}
    keys = [_make_entry_key(entry, hub, evidence) for entry in there]
    old = {key for key in keys if key in ours}  # what stands twice is one number of ours, and stale
    kept = [ours.pop(key, entry) for key, entry in zip(keys, there, strict=True) if key in ours or key not in old]
    if text is not None and kept == there and not ours:
        return text
    return str(yaml.safe_dump([*kept, *ours.values()], sort_keys=False, allow_unicode=True, width=120))


def _read(text: str | None, what: str) -> list[Entry]:
    """The entries of a file of the Hub, as they are: also fields that we do not know."""
    try:
        entries = yaml.safe_load(text) if text else []
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a day that no calendar has
        why = " ".join(str(error).split())
        raise OochubError(f"{what} is not valid YAML: {why}. Fix it on the Hub, then push again.") from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise OochubError(f"{what} is not a list of results. Fix it on the Hub, then push again.")
    return entries


def _make_entry_key(entry: Entry, hub: str, evidence: str) -> str:
    """What tells an entry from others: all of it but the number, its date and notes, and the commit of the data."""
    of = {name: part for name, part in entry.items() if name not in ("value", "date", "notes")}
    source = of.get("source")
    if isinstance(source, dict) and source.get("name") == _PROGRAM:
        is_default = str(source.get("url")).startswith((evidence, f"{hub}/datasets/"))
        of["source"] = {**source, "url": ""} if is_default else source
    if isinstance(of.get("dataset"), dict):
        of["dataset"] = {name: part for name, part in of["dataset"].items() if name != "revision"}
    return str(yaml.safe_dump(of))


def _make_result_entries(report: Report, *, dataset: str, revision: str | None, source: str) -> _ResultEntries:
    """One entry for each task and number of a report; nothing in it is claimed to be verified.

    These are the metrics on all rows of the evaluation split, and the headline metric on either side of the comparison;
    the id of each is that of `name_task`: `ce_car_auc_hard`, `ce_car_auc_out_of_context`. The value is the
    report's, unrounded; n, the 95% interval, the caveats of the data, the model's revision and a digest of the
    predictions stand in the notes.

    A leaderboard of the Hub ranks by higher is better, so numbers of which lower is better (error rate, NLL, ECE) are
    left out, and so is what is undefined (nan); `left_out` says which. Numbers of detectors are of a model and a
    detector together, and stay in the report.

    Args:
        report: Report on one benchmark and config, or on one task of `nooch/all`.
        dataset: The data set's id on the Hub.
        revision: The commit that the predictions were made of; None if unknown.
        source: The address of a page that says where the numbers come from.
    """
    from huggingface_hub import EvalResultEntry

    config, entries, left_out = report.benchmark.config, [], {}
    for metric, role, estimate in _collect_numbers(report):
        task = name_task(config, metric, role)
        direction = report.description(metric).direction
        if isnan(estimate):
            left_out[task] = f"undefined: {estimate.reason or 'nan'}"
        elif direction != "higher":
            left_out[task] = f"{direction} is better, but the Hub ranks by higher"
        else:
            entries.append(
                EvalResultEntry(
                    dataset_id=dataset,
                    task_id=task,
                    value=estimate.value,
                    dataset_revision=revision,
                    date=report.provenance.when.get("created"),
                    source_url=source,
                    source_name=_PROGRAM,
                    notes=_write_notes(report, estimate),
                )
            )
    return _ResultEntries(entries=tuple(entries), left_out=left_out)


def _collect_numbers(report: Report) -> Iterator[tuple[str, Role, Estimate]]:
    every = report.slice_of("all")
    for metric, estimate in (every.metrics if every else {}).items():
        yield metric, "all", estimate
    roles: tuple[Role, ...] = ("in", "out")
    for role in roles:
        headline = report.headline(role)
        if headline is not None:
            yield report.benchmark.primary_metric, role, headline


def _write_notes(report: Report, estimate: Estimate) -> str:
    has_interval = not (isnan(estimate.low) or isnan(estimate.high))
    interval = f", 95% interval [{estimate.low:.6g}, {estimate.high:.6g}]" if has_interval else ""
    origin = [
        f"{report.benchmark.name} {report.benchmark.version}",
        f"model {report.model.revision}" if report.model.revision else "",
        f"predictions sha256 {report.provenance.predictions.sha256[:_DIGITS]}",
        f"{_PROGRAM} {report.provenance.oochub}",
    ]
    return "; ".join([f"n={estimate.n}{interval}", *report.caveats, *filter(None, origin)])
