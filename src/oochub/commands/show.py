"""The command `oochub show`."""

import json
from collections.abc import Iterable
from typing import Annotated

import typer
from rich.table import Table

from oochub import catalog
from oochub.commands._options import AsJson, out_console
from oochub.errors import OochubError, unknown_name


def show(
    kind: Annotated[
        str,
        typer.Argument(help="What it is, as `oochub list` has it: benchmark, metric, ...; models; or its name alone."),
    ],
    name: Annotated[
        str | None, typer.Argument(help="Its name; nooch/all is one config of a benchmark; of models, a model_type.")
    ] = None,
    data_dir: Annotated[
        str | None,
        typer.Option(help="Of a benchmark: the raw folder whose files are marked found; default $OOCHUB_DATA."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Shows one thing: a benchmark's files, others' documentation; `show models` which models are served, and how."""
    if kind == "models":
        _show_models(name, as_json)
        return
    if name is None:
        kind, name = _find_thing(kind)
    from oochub.commands._showing import describe

    text = describe(kind, name, data_dir=data_dir)
    if as_json:
        out_console.print_json(json.dumps({"kind": kind, "name": name, "text": text}))
        return
    out_console.print(text, markup=False)


def _find_thing(name: str) -> tuple[str, str]:
    """The one thing of that name, with its kind."""
    if name in catalog.kinds():
        raise OochubError(f"show needs the name of a {name}: oochub show {name} NAME. `oochub list {name}` has them.")
    plain = name.partition("/")[0]  # of nooch/all
    found = [kind for kind in catalog.kinds() if (plain if kind == "benchmark" else name) in catalog.names(kind)]
    if not found:
        known = [each for kind in catalog.kinds() for each in catalog.names(kind)]
        raise unknown_name("thing or kind of thing", name, [*catalog.kinds(), *known], "`oochub list` shows all.")
    if len(found) > 1:
        several = ", ".join(f"oochub show {kind} {name}" for kind in found)
        raise OochubError(f"{len(found)} things are called {name}. Say which: {several}.")
    return found[0], name


def _show_models(name: str | None, as_json: bool) -> None:
    """The modes, a line each; what each serves by model_type of transformers; what is not served, and why."""
    from oochub.models.supported_models import list_supported_models

    models = list_supported_models()
    modes = {mode: catalog.summary("mode", mode) for mode in catalog.names("mode")}
    if name is not None:
        known = [each.model_type for each in models]
        models = [each for each in models if each.model_type == name]
        if not models:
            raise unknown_name("model_type of images in the installed transformers", name, known)
    if as_json:
        types = [{"model_type": m.model_type, "modes": list(m.modes), "reason": m.reason} for m in models]
        out_console.print_json(json.dumps({"modes": modes, "models": types}))
        return
    out_console.print(_build_table("How a model answers (--mode)", list(modes.items())))
    served = [(m.model_type, ", ".join(m.modes), m.reason) for m in models if m.modes]
    if served:
        out_console.print(_build_table(f"\nServed, by the model_type of a config.json ({len(served)})", served))
    reasons: dict[str, list[str]] = {}
    for each in models:
        if not each.modes:
            reasons.setdefault(each.reason, []).append(each.model_type)
    if reasons:
        rows = [(reason, ", ".join(types)) for reason, types in sorted(reasons.items(), key=lambda row: -len(row[1]))]
        out_console.print(_build_table(f"\nNot served ({sum(map(len, reasons.values()))})", rows))


def _build_table(title: str, rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table(title=title, title_justify="left", box=None, show_header=False, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    return table
