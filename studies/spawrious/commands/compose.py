"""The command `oochub spawrious compose`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from oochub.commands._options import AsJson, out_console, print_result, shown, without_weight_bars, writes
from oochub.errors import OochubError, unknown_name
from oochub.settings.data_settings import DataSettings
from oochub.storage.artifacts import CSV
from oochub.studies.file_kinds import COMPOSED

if TYPE_CHECKING:
    import pandas as pd

    from oochub.builders.sources.spawrious_compositions import SpawriousComposition
    from oochub.studies.spawrious.composition.challenge_kind import ChallengeKind
    from oochub.studies.spawrious.composition.composition_search import CompositionSearch

_SHOWN = 3  # sentences on a terminal; the JSON has them all


def compose(
    raw: Annotated[DataSettings, shown(only=("data_dir", "options"))],
    composition: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE.toml|CHALLENGE",
            help="Composition, or a challenge of the paper such as o2o_hard. Without --out it is only checked.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            callback=writes(COMPOSED),
            help="Output folder for the dataset, or for the compositions that --search proposes.",
        ),
    ] = None,
    search: Annotated[
        int | None, typer.Option(help="Instead of a file: try this many random compositions of each form.", min=1)
    ] = None,
    form: Annotated[
        Literal["o2o", "m2m"] | None,
        typer.Option(help="With --search: only one-to-one or only many-to-many compositions (default: both)."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="With --search: model whose features the heads are trained on, such as microsoft/resnet-50; a "
            "folder or Hub id."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="With --search: random seed for the draw and the heads.", min=0)] = 0,
    num_proc: Annotated[int | None, typer.Option(help="Number of build processes.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Compose a challenge from Spawrious images, or search for easy and hard ones."""
    from oochub.storage.files import lock_target

    if (composition is None) == (search is None):
        raise OochubError(
            "Pass one of two: a composition, oochub spawrious compose FILE.toml (or a challenge, o2o_hard), or "
            "--search N."
        )
    options = raw.options or {}
    if composition is not None:
        if form or model or seed:
            raise OochubError("--form, --model and --seed are for the search: remove them, or give --search N.")
        _compose(composition, out, as_json, data_dir=raw.data_dir, options=options, num_proc=num_proc)
    elif search is not None:
        if out is None or model is None:
            raise OochubError(
                "A search trains heads on what a network sees, and leaves files: pass --model, as "
                "microsoft/resnet-50, and --out FOLDER."
            )
        if num_proc is not None:
            raise OochubError("--num-proc is for building a composition: remove it.")
        with lock_target(out, kind=COMPOSED):
            _search(
                search,
                (form,) if form else ("o2o", "m2m"),
                out,
                model,
                as_json,
                seed=seed,
                data_dir=raw.data_dir,
                options=options,
            )


def _read_composition(typed: str) -> "SpawriousComposition":
    """The composition of a file, or that of a challenge of the paper by its name: o2o_hard, spawrious/o2o_hard."""
    from oochub.builders.sources.spawrious_compositions import TABLE_2, read_composition

    name = typed.removeprefix("spawrious/")
    if name in TABLE_2:
        return TABLE_2[name]
    if Path(typed).suffix or Path(typed).exists():
        return read_composition(typed)
    raise unknown_name("challenge of Spawrious", name, TABLE_2, "A composition of your own is a FILE.toml.")


def _compose(typed: str, out: Path | None, as_json: bool, **given: Any) -> None:
    from oochub.builders.sources.spawrious_compositions import RELEASED_N, TABLE_2
    from oochub.data.build_file import read_record
    from oochub.loading_scripts.build_repository import build_parquet
    from oochub.storage.artifacts import format_csv
    from oochub.storage.files import lock_target, write_whole
    from oochub.studies.spawrious.composition.background_correlations import background_correlations
    from oochub.studies.spawrious.composition.challenge_kind import challenge_kind
    from oochub.studies.spawrious.composition.composition_counts import composition_counts

    composition, name = _read_composition(typed), typed.removeprefix("spawrious/")
    if out is not None and name in TABLE_2:
        raise OochubError(f"{name} is a challenge of the paper: `oochub build spawrious/{name} --out {out}` builds it.")
    counts = composition_counts(composition, RELEASED_N)
    kind, correlations = challenge_kind(counts), background_correlations(counts)
    if not as_json:
        _show(correlations, kind)
    written: dict[str, Any] = {"kind": kind.name, "pairs": dict(kind.pairs), "groups": kind.groups}
    written |= {"not_one_to_one": kind.not_one_to_one, "not_many_to_many": kind.not_many_to_many}
    if out is not None:
        options = {**given.pop("options"), "composition": typed}
        with lock_target(out, kind=COMPOSED):
            repository = build_parquet("spawrious/composed", out, options=options, **given)
            record = read_record(repository, "composed")
            n = record.facts.other["n"] if record else RELEASED_N
            with write_whole(repository / "correlations.csv", kind=CSV) as draft:
                draft.write_text(format_csv(background_correlations(composition_counts(composition, n))), "utf-8")
        written |= {"repository": str(repository), "correlations": str(repository / "correlations.csv")}
    if as_json:
        print_result(written, as_json)
    else:
        print_result({name: written[name] for name in ("correlations", "repository") if name in written}, as_json)


def _show(correlations: "pd.DataFrame", kind: "ChallengeKind") -> None:
    backgrounds = list(dict.fromkeys(correlations["background"]))
    table = Table("", "", *backgrounds, "images", box=None)
    for column in table.columns[2:]:
        column.justify = "right"
    shown = correlations[(correlations["environment"] == "all") | (correlations["split"] == "train")]
    for (split, environment), rows in shown.groupby(["split", "environment"], sort=False):
        for number, (label, cells) in enumerate(rows.groupby("label", sort=False)):
            where = "" if number else str(split) if environment == "all" else f"  {environment}"
            numbers = ("-" if value != value else f"{value:+.2f}" for value in cells["correlation"])
            table.add_row(where, str(label), *numbers, f"{cells['images'].sum():,}")
    out_console.print(table)
    out_console.print("Correlation (phi) of each background with each breed, in folders of 3,168 images.")
    if shown["reason"].any():
        out_console.print("- undefined: no image there, or every one, is on that background or of that breed.")
    pairs = ", ".join(f"{label} with {background}" for label, background in kind.pairs)
    first, second = (f"{' and '.join(labels)} with {' and '.join(places)}" for labels, places in kind.groups)
    _print_faults("One-to-one (Eq. 1)", pairs, kind.not_one_to_one)
    _print_faults("Many-to-many (Eq. 2)", f"{first}; {second}", kind.not_many_to_many)


def _print_faults(what: str, holds: str, faults: tuple[str, ...]) -> None:
    more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
    out_console.print(f"{what}: {'no, ' + '; '.join(faults[:_SHOWN]) + more if faults else holds}.")


def _search(
    count: int, forms: tuple[Any, ...], out: Path, model: str, as_json: bool, *, seed: int, **given: Any
) -> None:
    from oochub.storage.artifacts import format_csv
    from oochub.storage.files import write_whole
    from oochub.studies.spawrious.composition.composition_search import composition_search
    from oochub.studies.spawrious.composition.features_by_folder import features_by_folder
    from oochub.studies.spawrious.composition.random_compositions import random_compositions

    drawn = {form: random_compositions(count, form=form, seed=seed) for form in forms}
    without_weight_bars()
    features = features_by_folder(model, out / "features", **given)
    written: dict[str, Any] = {}
    for form, compositions in drawn.items():
        result = composition_search(compositions, features, seed=seed)
        for level, proposal in result.proposed.items():
            about = (
                f"{proposal.composition.about} The {level} one of {count} by heads on features of {Path(model).name}."
            )
            written[f"{form}_{level}"] = str(out / f"{form}_{level}.toml")
            with write_whole(out / f"{form}_{level}.toml") as draft:
                draft.write_text(replace(proposal.composition, about=about).toml, "utf-8")
        written |= {f"{form}_agreement": result.agreement.to_dict(), f"{form}_ranking": str(out / f"{form}.csv")}
        with write_whole(out / f"{form}.csv", kind=CSV) as draft:
            draft.write_text(format_csv(result.table), "utf-8")
        if not as_json:
            _show_search(form, result)
    print_result(written, as_json)


def _show_search(form: str, found: "CompositionSearch") -> None:
    names = {"in_context": "in context %", "accuracy": "out of context %", "confirmed": "on other images %"}
    table = Table("rank", form, *names.values(), box=None)
    rows = found.table[found.table["proposed"] != ""] if found.proposed else found.table
    for row in rows.to_dict("records"):
        ends = ((100 * row[name + end] for end in ("", "_low", "_high")) for name in names)
        table.add_row(
            str(row["rank"]), str(row["proposed"]), *("{:.1f} ({:.1f} to {:.1f})".format(*end) for end in ends)
        )
    out_console.print(table)
    agreement = found.agreement
    if agreement.reason:
        out_console.print(f"Whether compositions differ is unknown: {agreement.reason}.")
        return
    verdict = "compositions differ in how hard they are" if agreement.low > 0 else "chance alone may give that"
    out_console.print(f"Accuracies on the two halves of the images correlate at {agreement}: {verdict}.")
