"""Pushes what the hub makes to the Hugging Face Hub: benchmarks, own data, models, results, metrics.

A model is pushed with its weights, processor, recipe, and a card with its results.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from oochub import catalog
from oochub.errors import OochubError, choose_wording
from oochub.hub.upload import Pushed, open_client, upload
from oochub.report.report import Report
from oochub.settings import only, with_options
from oochub.settings.data_settings import DataSettings
from oochub.settings.hub_settings import HubSettings
from oochub.settings.option import list_options
from oochub.storage.artifacts import REPORT
from oochub.storage.files import make_scratch_folder
from oochub.storage.reading import read_text

_CARD, _REPORT = "README.md", "report.json"
_WEIGHTS = ("*.safetensors", "*.safetensors.index.json")
_PUSHED = (
    *_WEIGHTS,
    *("config.json", "generation_config.json", "recipe.json", "arrays.json"),
    *("preprocessor_config.json", "processor_config.json", "image_processor_config.json", "chat_template.j*"),
    *("tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt", "*.spm", "spiece.model"),
)
"""What of a model's folder is pushed; checkpoints, logs and caches are not."""
_NO_CARD = "---\nlibrary_name: transformers\ntags:\n- oochub\n---\n# {name}\n"


_METRIC = "metric:"
_OF_BENCHMARKS = ("configs", "data_dir", "options", "num_proc", "out")
_OF_DATA = ("without_images", "evaluation_framework")
_OF_RESULTS = ("dataset", "evidence", "pull_request")
_FLAGS = {name: about.flag_alone for kind in (DataSettings, HubSettings) for name, about in list_options(kind).items()}


def _push_model(
    folder: str | Path,
    to: str,
    *,
    private: bool = False,
    revision: str | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
) -> Pushed:
    """Makes the Hub hold a model: its weights, its processor, its recipe, and its card.

    If a report.json lies in the folder, the card says its results too. What else lies there is not pushed.

    Args:
        folder: Folder that `oochub train` or `save_pretrained` wrote.
        to: user/name.
        private: Make the repository private.
        revision: A branch; None is main.
        overwrite: Replace what somebody else put there.
        dry_run: Only say what would change.

    Raises:
        OochubError: A folder without a finished model, a report.json that is none; what `upload` raises.
    """
    open_client(to, dry_run=dry_run)
    source = Path(folder).expanduser()
    names = sorted(path.name for path in source.iterdir() if path.is_file()) if source.is_dir() else []
    names = [name for name in names if any(fnmatchcase(name, pattern) for pattern in _PUSHED)]
    if "config.json" not in names or not any(fnmatchcase(name, pattern) for name in names for pattern in _WEIGHTS):
        raise OochubError(
            f"{source} does not contain a finished model (config.json and safetensors weights). `oochub train` "
            "writes them; the same command finishes an interrupted run."
        )
    for name in names:
        if not (source / name).resolve().is_relative_to(source.resolve()):
            raise OochubError(f"{name} leads out of {source}, so it is not pushed. Copy the file into the folder.")
    card = _make_card(source, to)
    with make_scratch_folder() as staged:
        for name in names:
            (staged / name).symlink_to((source / name).resolve())
        (staged / _CARD).write_text(card, "utf-8")
        return upload(
            staged,
            to,
            repo_type="model",
            message=f"Push {source.absolute().name} with oochub",
            private=private,
            revision=revision,
            delete=_WEIGHTS,
            dry_run=dry_run,
            known_by="config.json",
            overwrite=overwrite,
        )


def _make_card(source: Path, to: str) -> str:
    """The card of the run, and below it what its report says."""
    file = source / _CARD
    card = read_text(file) if file.is_file() else _NO_CARD.format(name=to.partition("/")[2])
    if not (source / _REPORT).is_file():
        return card
    report = Report.load(source / _REPORT)
    return f"{card.rstrip()}\n\n## Evaluation\n\n{report.to_markdown().strip()}\n"


@with_options("push", predictions=Sequence[str | Path])
def push(
    what: str | PathLike[str],
    to: str | None = None,
    *,
    asked: HubSettings,
    data: Annotated[DataSettings, only("data_dir", "options")],
    out: str | Path | None = None,
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
        asked: The options of `HubSettings`.
        data: Options of `DataSettings`.
        out: Benchmarks only: build into this folder, which is kept; None builds in the cache.

    Returns:
        The address, the commit, and the files that were added, changed and deleted.

    Raises:
        OochubError: No token, a name that is none, an unknown source, a setting that is of another kind of source;
            the Hub refuses or cannot be reached.
    """
    source = str(what)
    options = {"to": to, "out": out, **data.given(), **asked.given()}

    def refuse(names: Iterable[str], why: str) -> None:
        """Refuses the options that are not of what is pushed."""
        unread = next((name for name in names if options.get(name)), None)
        if unread is not None:
            raise OochubError(f"{why}: remove {choose_wording(f'{unread}=', _FLAGS.get(unread, f'--{unread}'))}.")

    if asked.leaderboard is not None:
        from oochub.hub.leaderboard_repository import push_entry

        unread = ("to", "revision", "private", "overwrite", "data_dir", *_OF_RESULTS, "configs", "out", "options")
        refuse((*unread, "evaluation_framework"), "Only a leaderboard takes an entry")
        entry_fields = dict(asked.entry or {})
        return push_entry(
            source, asked.leaderboard, predictions=asked.predictions, dry_run=asked.dry_run, **entry_fields
        )
    refuse(("predictions", "entry"), "No leaderboard is named to send an entry to")
    if to is None:
        option = choose_wording("to='user/name'")
        raise OochubError(f"No target repository. Pass {option}; for a report, --leaderboard is an alternative.")
    open_client(to, dry_run=asked.dry_run)
    common: dict[str, Any] = {name: getattr(asked, name) for name in ("private", "revision", "overwrite", "dry_run")}
    if Path(source, "leaderboard.json").expanduser().is_file():
        from oochub.hub.leaderboard_repository import push_site

        refuse((*_OF_BENCHMARKS, *_OF_RESULTS, *_OF_DATA), f"{source} is a site")
        return push_site(source, to, **common)
    kind = _detect_kind(source)
    if kind != "benchmark":
        refuse(_OF_BENCHMARKS, f"{source} is not a benchmark")
    if kind == "report":
        from oochub.hub.push_results import push_results

        refuse((*_OF_DATA, "private", "overwrite"), f"{source} is a report")
        results: dict[str, Any] = {name: getattr(asked, name) for name in _OF_RESULTS}
        return push_results(source, to, revision=asked.revision, dry_run=asked.dry_run, **results)
    refuse(_OF_RESULTS, f"{source} is not a report")
    if kind == "metric":
        from oochub.hub.push_metric import push_metric

        refuse(_OF_DATA, f"{source} is a metric")
        return push_metric(source.removeprefix(_METRIC), to, **common)
    if kind == "model":
        refuse(_OF_DATA, f"{source} is a model")
        return _push_model(source, to, **common)
    from oochub.hub.push_repository import push_repository

    build: dict[str, Any] = {"configs": list(asked.configs), "data_dir": data.data_dir, "options": data.options}
    build |= {"num_proc": asked.num_proc, "out": out}
    build |= {name: getattr(asked, name) for name in _OF_DATA}
    return push_repository(source, to, **build, **common)


def _detect_kind(source: str) -> str:
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
    benchmarks = ", ".join(catalog.names("benchmark"))
    raise OochubError(
        f"Nothing to push at {source!r}: it is not a benchmark ({benchmarks}), folder, report.json or {_METRIC}NAME. "
        "Pass one, such as the folder of `oochub build`, `oochub challenge` or `oochub train`."
    )
