"""Pushes what the hub makes to the Hugging Face Hub: benchmarks, own data, models, results, metrics."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from oochub import catalog
from oochub.errors import OochubError, either
from oochub.hub.upload import Pushed, open_client
from oochub.storage.artifacts import REPORT

_METRIC = "metric:"


def push(
    what: str | PathLike[str],
    to: str | None = None,
    *,
    leaderboard: str | None = None,
    predictions: Sequence[str | Path] = (),
    entry: Mapping[str, Any] | None = None,
    configs: Sequence[str] = (),
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    num_proc: int | None = None,
    out: str | Path | None = None,
    without_images: bool = False,
    private: bool = False,
    revision: str | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    dataset: str | None = None,
    evidence: str | None = None,
    pull_request: bool = False,
) -> Pushed:
    """Pushes a benchmark, a built repository, a trained model, results or a metric, in one commit.

    Nothing half-pushed is ever seen.

    A second push of the same changes nothing; one that was interrupted goes on where it was.

    Args:
        what: "nooch", "nooch/ce_car"; the folder of `oochub build` or `oochub challenge`; the folder of a model; a
            report.json or a folder of them, whose numbers go to a model's page; "metric:auc_hard", which becomes a
            Space for `evaluate.load`.
        to: The repository, user/name; it is made where it is not there yet. The folder of `oochub leaderboard` becomes
            a static Space.
        leaderboard: In place of `to`: `what` is a report.json, sent as an entry to this data set of results by a pull
            request, or into this folder of results; see `oochub.hub.leaderboard_repository`.
        predictions: Of an entry: the files that its report was made of; none takes those that it names, beside it.
        entry: Of an entry: what is said of it: track, selection, supervision; model, external_data, who, date.
        configs: Of a benchmark: some of its configurations; all where none is named, but those that cannot be built of
            the raw folder alone, which are said.
        data_dir: Of a benchmark: the raw folder; None takes `$OOCHUB_DATA/<benchmark>`.
        options: Of a benchmark: options of its builder.
        num_proc: Of a benchmark: processes to build with.
        out: Of a benchmark: build into this folder, which is kept; None builds in the cache.
        without_images: Of data: leave the pictures out; `oochub.join_images` puts a user's own back.
        private: Make the repository one that others do not see.
        revision: A branch, made where it is not there; None is main.
        overwrite: Replace files that somebody else put there.
        dry_run: Only say what would change; needs no token.
        dataset: Of results: the data set's id on the Hub, where the report does not say it.
        evidence: Of results: the address of a page that says where they come from; None is the data set's.
        pull_request: Of results: open a pull request, as for a model of somebody else.

    Returns:
        The address, the commit, and the files that were added, changed and deleted.

    Raises:
        OochubError: No token, a name that is none, an unknown source, a setting that is of another kind of source;
            the Hub refuses or cannot be reached.
    """
    source = str(what)
    results: dict[str, Any] = {"dataset": dataset, "evidence": evidence, "pull_request": pull_request}
    if leaderboard is not None:
        from oochub.hub.leaderboard_repository import push_entry

        unread = {"to": to, "revision": revision, "private": private, "overwrite": overwrite, "data_dir": data_dir}
        unread |= results | {"configs": configs, "out": out, "options": options}
        _refuse(unread, "An entry is sent to a leaderboard")
        return push_entry(source, leaderboard, predictions=predictions, dry_run=dry_run, **(entry or {}))
    _refuse({"predictions": predictions, "entry": entry}, "No leaderboard is named to send an entry to")
    if to is None:
        option = either("to='user/name'", "--to user/name")
        raise OochubError(f"Where to is not said. Give {option}; a report may go to a leaderboard instead.")
    open_client(to, dry_run=dry_run)
    build: dict[str, Any] = {
        "configs": list(configs),
        "data_dir": data_dir,
        "options": options,
        "num_proc": num_proc,
        "out": out,
    }
    common: dict[str, Any] = {
        "private": private,
        "revision": revision,
        "overwrite": overwrite,
        "dry_run": dry_run,
    }
    if _is_site(source):
        from oochub.hub.leaderboard_repository import push_site

        _refuse(build | results | {"without_images": without_images}, f"{source} is a site")
        return push_site(source, to, **common)
    kind = _kind(source)
    if kind != "benchmark":
        _refuse(build, f"{source} is no benchmark")
    if kind == "report":
        from oochub.hub.push_results import push_results

        unread = {"without_images": without_images, "private": private, "overwrite": overwrite}
        _refuse(unread, f"{source} is a report")
        return push_results(source, to, revision=revision, dry_run=dry_run, **results)
    _refuse(results, f"{source} is no report")
    if kind == "metric":
        from oochub.hub.push_metric import push_metric

        _refuse({"without_images": without_images}, f"{source} is a metric")
        return push_metric(source.removeprefix(_METRIC), to, **common)
    if kind == "model":
        from oochub.hub.push_model import push_model

        _refuse({"without_images": without_images}, f"{source} is a model")
        return push_model(source, to, **common)
    from oochub.hub.push_repository import push_repository

    return push_repository(source, to, without_images=without_images, **build, **common)


def _kind(source: str) -> str:
    """What a source is: "benchmark", "metric", "model", "report" or "repository"."""
    if source.startswith(_METRIC):
        return "metric"
    if source.partition("/")[0] in catalog.names("benchmark"):
        return "benchmark"
    folder = Path(source).expanduser()
    if (folder / "recipe.json").is_file() or (folder / "config.json").is_file() or (folder / "checkpoints").is_dir():
        return "model"
    if source.endswith(".json") or any(REPORT.recognizes(file) for file in folder.glob("*.json")):
        return "report"
    if folder.is_dir():
        return "repository"
    known = ", ".join(catalog.names("benchmark"))
    raise OochubError(
        f"Nothing to push at {source!r}: it is no benchmark ({known}), folder, report.json or {_METRIC}NAME. Give "
        "one, such as the folder of `oochub build`, `oochub challenge` or `oochub train`."
    )


def _is_site(source: str) -> bool:
    return Path(source, "leaderboard.json").expanduser().is_file()


def _refuse(settings: Mapping[str, Any], why: str) -> None:
    given = next((name for name, value in settings.items() if value), None)
    if given is not None:
        option = f"--{'config' if given == 'configs' else given.replace('_', '-')}"
        raise OochubError(f"{why}: leave out {either(f'{given}=', option)}.")
