"""What is pushed to the Hub, and how."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oochub.errors import OochubError
from oochub.settings.option import Settings, option, parse_paths

_PANEL = "Hub"


def parse_entry(typed: Sequence[str] | None, flag: str) -> dict[str, str] | None:
    """What is said of an entry, by name; a text may hold commas and look like a number.

    Raises:
        OochubError: A text without a name or a value, a name that is given twice.

    >>> parse_entry(["track=open", "seed=1,2"], "--entry")
    {'track': 'open', 'seed': '1,2'}
    """
    pairs: dict[str, str] = {}
    for pair in typed or ():
        key, _, text = pair.partition("=")
        if not key or not text or key in pairs:
            raise OochubError(f"{flag} is written key=text, each key once, as track=open, got {pair!r}.")
        pairs[key] = text
    return pairs or None


@dataclass(frozen=True, kw_only=True)
class HubSettings(Settings):
    """The settings of `oochub.push` besides the source, the repository and the folder that is built into.

    >>> HubSettings(private=True, configs=["ce_car"]).words()
    ('--config', 'ce_car', '--private')
    """

    leaderboard: str | None = option(
        None,
        help="Submit a report.json or a sweep to a leaderboard: a pull request on the Hub, or files in a local folder.",
        more="Instead of `to`: a dataset of results, or a folder of them; see `oochub.hub.leaderboard_repository`.",
        panel="Leaderboard",
        common=True,
        metavar="USER/RESULTS",
    )
    predictions: Any = option(
        (),
        help="Leaderboard entries only: prediction files of the report (default: those in its folder).",
        more="By default those that the report names.",
        panel="Leaderboard",
        typed=list[Path] | None,
        parse=parse_paths,
    )
    entry: Mapping[str, Any] | None = option(
        None,
        help="Leaderboard entries only: field of the entry: track, selection, supervision, model, who, ...",
        more="By name; also external_data and date.",
        panel="Leaderboard",
        metavar="KEY=TEXT",
        typed=list[str] | None,
        parse=parse_entry,
    )
    configs: Iterable[str] = option(
        (),
        help="Benchmarks only: config to push (default: all).",
        more="Configs that need more than the raw folder are skipped and listed.",
        panel="Data",
        common=True,
        flag="--config",
    )
    num_proc: int | None = option(None, help="Benchmarks only: number of build processes.", panel="Speed", least=1)
    without_images: bool = option(
        False,
        help="Push ids, labels, contexts and checksums, but no images.",
        more="Users put their own images back with `oochub.join_images`.",
        panel="Data",
        flag="--without-images",
    )
    private: bool = option(False, help="Make the repository private.", panel=_PANEL, common=True, flag="--private")
    revision: str | None = option(
        None, help="Branch to push to, created if it does not exist (default: main).", panel=_PANEL
    )
    overwrite: bool = option(
        False,
        help="Overwrite files in the repository that oochub did not create, and edited files in the folder of --out.",
        panel=_PANEL,
        flag="--overwrite",
    )
    dry_run: bool = option(
        False,
        help="Show which files would change without pushing. Needs no token.",
        panel=_PANEL,
        common=True,
        flag="--dry-run",
    )
    evaluation_framework: str | None = option(
        None,
        help="Benchmarks only: evaluation framework to set in eval.yaml (default: none).",
        more="The Hub marks eval.yaml as invalid if it does not know the name, and it does not know oochub yet.",
        panel=_PANEL,
        metavar="NAME",
    )
    dataset: str | None = option(
        None,
        help="Results only: dataset on the Hub, if the report does not name one.",
        panel=_PANEL,
        metavar="USER/NAME",
    )
    evidence: str | None = option(
        None,
        help="Results only: URL of the source of the results.",
        more="By default a record of the report's numbers, which is pushed beside the results.",
        panel=_PANEL,
        metavar="URL",
    )
    pull_request: bool = option(
        False,
        help="Results only: open a pull request, for a model of another owner.",
        panel=_PANEL,
        common=True,
        flag="--pull-request",
    )
