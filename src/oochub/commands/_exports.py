"""What `--export NAME=PATH` asks for: predictions as the file or folder of another program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oochub.commands._figure_sources import Sources
from oochub.errors import OochubError
from oochub.exchange.bridge import Bridge, get_bridge

if TYPE_CHECKING:
    import datasets

    from oochub.prediction.predictions import Predictions

_SIDE = "side"


@dataclass(frozen=True)
class Export:
    """One export that was asked for.

    Attributes:
        bridge: Program that opens it.
        path: File or folder to write.
    """

    bridge: Bridge
    path: Path

    @classmethod
    def parse(cls, text: str) -> "Export":
        """An export from "NAME=PATH", the name and the path checked.

        Raises:
            OochubError: Another form, an unknown bridge or one that writes nothing, a path that holds something else.

        >>> Export.parse("fiftyone")
        Traceback (most recent call last):
        oochub.errors.OochubError: An export must be written NAME=PATH, as fiftyone=folder, got 'fiftyone'.
        """
        from oochub.exchange.export import check_export

        name, _, path = text.partition("=")
        if not (name and path):
            raise OochubError(f"An export must be written NAME=PATH, as fiftyone=folder, got {text!r}.")
        bridge = get_bridge(name)
        return cls(bridge, check_export(bridge, path))


def write_exports(exports: Sequence[Export], sources: Sources) -> None:
    """Writes each export, whole or not at all.

    Raises:
        OochubError: Sources that are not one file of predictions, and what `oochub.exchange.export` raises.
    """
    from oochub.exchange.export import export

    if sources.kind != "predictions" or len(sources.names) > 1:
        raise OochubError(
            f"--export takes one file of predictions (.parquet of `oochub predict`), got {', '.join(sources.names)}."
        )
    for each in exports:
        each.bridge.check(sources.predictions)
    data = _load_data(sources) if any(each.bridge.needs_images for each in exports) else None
    told = _add_sides(sources.predictions)
    for each in exports:
        export(told, each.bridge.name, each.path, data=data)


def _add_sides(predictions: "Predictions") -> "Predictions":
    """The predictions with a column `side`, "in" or "out" of context, unless they have one or sides are of groups."""
    import numpy as np
    import pyarrow as pa

    from oochub.evaluation.declaration import find_declaration
    from oochub.records.sides import GroupsOfRows

    declared, names = find_declaration(predictions), set(predictions.column_names)
    sides = {"in": declared.in_context, "out": declared.out_of_context}
    needed = {column for side in sides.values() for column in side.where}
    if _SIDE in names or not needed <= names or any(isinstance(side, GroupsOfRows) for side in sides.values()):
        return predictions
    columns = {name: predictions.column(name) for name in {"split", *needed}}
    told = np.full(len(predictions), None, object)
    for name, side in sides.items():
        told[side.mask(columns)] = name
    return predictions.with_table(predictions.rows.with_column(_SIDE, pa.array(told, pa.string())))


def _load_data(sources: Sources) -> "Mapping[str, datasets.Dataset] | None":
    """The splits that were predicted, with their images; None of own data that nobody named."""
    from oochub.data.load import is_benchmark, load

    known = sources.predictions.metadata
    if known.benchmark is not None and is_benchmark(known.benchmark):
        name = known.benchmark if known.config is None else f"{known.benchmark}/{known.config}"
    elif sources.data_dir is None:
        return None
    else:
        own: Mapping[str, datasets.Dataset] = load(sources.data_dir, options=sources.options)
        return own
    data: Mapping[str, datasets.Dataset] = load(name, data_dir=sources.data_dir, options=sources.options)
    return data
