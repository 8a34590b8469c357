"""The rows of all splits through the network of a mode, part by part."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import torch
from datasets.distributed import split_dataset_by_node

from oochub.errors import OochubError
from oochub.input import BrokenRow, Input, InputBatch
from oochub.models.acceleration import DTYPES, Autocast, Compiled
from oochub.models.extraction import Extraction, Perturbation
from oochub.models.mode import Mode
from oochub.prediction.data_metadata import data_metadata
from oochub.prediction.dtype_check import dtype_check
from oochub.prediction.extracted_parts import extracted_parts
from oochub.prediction.parts import MadePart, Parts, part_rows
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import is_one_file
from oochub.prediction.ray_engine import RayEngine
from oochub.prediction.stored_head import StoredHead, head_file
from oochub.prediction.stored_rows import StoredRows
from oochub.prediction.thumbnails import thumbnails
from oochub.process.ranks import Ranks
from oochub.records.metadata import Metadata, ZoomSettings
from oochub.records.provenance import provenance
from oochub.settings.prediction_settings import PredictionSettings
from oochub.storage.files import sole_writer

_FEW = 8  # rows to look at a network with
_NAMED = 5  # of the rows that are left out


def predicted(
    mode: Mode,
    inputs: Input,
    splits: Mapping[str, Any],
    asked: PredictionSettings,
    *,
    notes: Sequence[str],
    computed: Mapping[str, Any],
    key: str | None,
    target: Path | None,
    ranks: Ranks,
    engine: RayEngine | None = None,
) -> Predictions:
    """What the network of a mode says of every row.

    Of several processes each makes its parts of the ones that are missing; the first puts them together.

    Args:
        mode: Opened.
        inputs: How rows are read.
        splits: By name.
        asked: The settings.
        notes: Of the data.
        computed: What predictions say of how the network was prepared.
        key: What the answers depend on; with one, parts that a killed run left are taken.
        target: The file to write; None writes none.
        ranks: This process among those of the run.
        engine: Where batches are read and answered; None is this process.

    Raises:
        OochubError: A row that cannot be read, a split without one that can, another process that writes the target;
            of several processes, a stream without ids or a folder that they do not share.
    """
    some, size, device = next(iter(splits.values())), asked.rows_a_pass, asked.device
    read: Callable[..., Iterator[InputBatch]] = partial(inputs.batches, batch_size=size, device=device, zoom=asked.zoom)
    is_short = DTYPES[asked.dtype] != torch.float32
    few: Mapping[str, torch.Tensor] = {}
    if asked.features or is_short or asked.compile:
        first = next(read(_few(some), broken=[] if asked.skip_broken else None), None)
        few = {name: values.to(device) for name, values in inputs.probe().items()} if first is None else first.inputs
    head = mode.head(few) if asked.features else None
    network, computed = mode.network, {"device": asked.device.type, "dtype": "float32", **computed}
    if asked.compile:
        network = Compiled(mode.network, size)
        computed |= {"compiled": dtype_check("float32", network, mode.network, few, mode.kind)}
    if is_short:
        network = Autocast(network, DTYPES[asked.dtype])
        check = dtype_check(asked.dtype, network, mode.network, few, mode.kind)
        computed |= {"dtype": asked.dtype, "dtype_check": check}
        notes = (*notes, f"the network computed in {asked.dtype}: on the first rows {check} from float32")
    perturbation = None
    if asked.odin is not None:
        perturbation = Perturbation(asked.odin, temperature=asked.odin_temperature, std=inputs.std)
    extraction = Extraction(network, head=head, perturbation=perturbation)
    answer: Callable[[InputBatch], Mapping[str, torch.Tensor]] = extraction
    if engine is not None:
        read = engine.batches(inputs, extraction, batch_size=size, device=device, zoom=asked.zoom)
        answer = engine.answers

    def said(rows: StoredRows, unread: Sequence[str] = ()) -> Metadata:
        return data_metadata(
            rows,
            some.info,
            mode.kind,
            class_names=mode.class_names,
            model=mode.about,
            notes=(*mode.notes, *notes, *unread),
            training=mode.training,
            provenance=provenance(**inputs.provenance(), batch_size=size, **computed, **mode.details),
            odin=None if perturbation is None else perturbation.settings,
            zoom=None if asked.zoom is None else ZoomSettings(factor=asked.zoom),
        )

    width = len(mode.class_names) + (0 if head is None else head.weight.shape[1])
    count = part_rows(width * (1 if asked.zoom is None else 2) + len(mode.class_names) * (asked.odin is not None), size)
    lengths = {name: len(part) if isinstance(part, datasets.Dataset) else None for name, part in splits.items()}
    layout = None if key is None else {"key": key, "part_rows": count, "splits": lengths}
    is_one = ranks.is_alone and None not in lengths.values() and sum(int(n or 0) for n in lengths.values()) <= count
    parts = Parts(None if is_one else target, layout)
    is_locked = ranks.is_first and parts.folder is not None and target is not None
    with sole_writer(target) if is_locked and target is not None else nullcontext(), engine or nullcontext():
        complete = _begun(parts, ranks)
        first_number, turn, made = 0, 0, []
        for name, part in splits.items():
            length = lengths[name]
            numbers = None if length is None else range(-(-length // count))
            missing = [k for k in numbers or () if first_number + k not in complete]
            wanted = None if numbers is None else missing[(ranks.number - turn) % ranks.count :: ranks.count]
            turn += len(missing)
            own = [-1]
            if wanted is None or wanted:
                for each in extracted_parts(
                    *(name, part if length is not None else _own_rows(name, part, ranks), read, answer, mode),
                    unit=inputs.unit,
                    part_rows=count,
                    wanted=wanted,
                    skip_broken=asked.skip_broken,
                    is_quiet=not ranks.is_first,
                ):
                    rows = None if each.table is None else Predictions(each.table, said(StoredRows.of(each.table)))
                    number = each.number if length is not None else each.number * ranks.count + ranks.number
                    parts.put(first_number + number, MadePart(name, rows, each.rows, each.broken))
                    own.append(number)
                    del each, rows  # before the next one is made
            made += [first_number + number for number in own[1:]]
            first_number += len(numbers) if numbers is not None else 1 + max(ranks.values(max(own)))
            if ranks.is_alone:
                _check_read(name, parts.made(), inputs.unit)
        everywhere = {*complete, *(number for several in ranks.values(made) for number in several)}
        if not ranks.is_first:
            ranks.values(None)  # the first puts all together
            return replace(Predictions.load(str(target)), integrity=None)
        parts.check_complete(everywhere)
        stored = None
        if head is not None and mode.is_linear:
            stored = StoredHead(weight=head.weight.cpu().numpy(), bias=head.bias.cpu().numpy())
        predictions = _finished(parts, said, splits, inputs, asked, stored, target)
    ranks.values(None)
    return predictions


def _begun(parts: Parts, ranks: Ranks) -> set[int]:
    """The parts that are there before any process makes one."""
    if ranks.is_first:
        parts.begin()
        if not ranks.is_alone:
            parts.share()
    complete = ranks.values(parts.complete() if ranks.is_first else set())[0]
    if not ranks.is_first:
        parts.check_shared()
    return complete


def _own_rows(name: str, part: Any, ranks: Ranks) -> Any:
    """The rows of a stream that are of this process."""
    if ranks.is_alone:
        return part
    if "example_id" not in (part.column_names or ()):
        raise OochubError(
            f"The stream {name} has no column example_id, and {ranks.count} processes read it: a process's own row "
            "numbers name no example. Add unique ids to the stream, or predict it in one process."
        )
    return split_dataset_by_node(part, ranks.number, ranks.count)


def _finished(
    parts: Parts,
    said: Any,
    splits: Mapping[str, Any],
    inputs: Input,
    asked: PredictionSettings,
    stored: StoredHead | None,
    target: Path | None,
) -> Predictions:
    """All parts together, with small pictures of the worst mistakes, in the place that they are for."""
    for name in splits:
        _check_read(name, parts.made(), inputs.unit)
    made, rows, summary = parts.joined()
    broken = {name: [row for each in made if each.split == name for row in each.broken] for name in splits}
    unread = [_unread(name, several, inputs.unit) for name, several in broken.items() if several]
    predictions = Predictions(rows, said(rows, unread), stored_head=stored).remember(summary=summary)
    pictures = None
    if asked.images:
        numbers = {name: [each.rows for each in made if each.split == name] for name in splits}
        pictures = thumbnails(predictions, splits, numbers, inputs)
    if parts.folder is not None and target is not None and not is_one_file(rows):
        parts.become(predictions, pictures)
        if stored is None:
            head_file(target).unlink(missing_ok=True)
        else:
            stored.save(head_file(target))
    else:
        if pictures is not None:
            for name in pictures.column_names:
                rows = rows.with_column(name, pictures.column(name))
            predictions = replace(predictions, rows=rows).remember(summary=summary)
        if target is not None:
            predictions.save(target)
    if parts.folder is None or target is None:
        return predictions
    del predictions, rows, summary  # before the file is opened, which holds the same
    parts.end()
    return replace(Predictions.load(target), integrity=None)


def _check_read(name: str, made: Sequence[MadePart], unit: str) -> None:
    own = [each for each in made if each.split == name]
    if any(each.predictions is not None for each in own):
        return
    broken = [row for each in own for row in each.broken]
    if broken:
        raise OochubError(
            f"None of the {len(broken)} {unit}s of the split {name} can be read. The first: {broken[0].fault}"
        )
    raise OochubError(f"The split {name} has no example.")


def _unread(split: str, broken: Sequence[BrokenRow], unit: str) -> str:
    several = "" if len(broken) == 1 else "s"
    names = ", ".join([row.example for row in broken[:_NAMED]] + ["..."] * (len(broken) > _NAMED))
    verb = "is" if len(broken) == 1 else "are"
    return f"{len(broken)} {unit}{several} of {split} could not be read and {verb} left out: {names}"


def _few(part: Any) -> Any:
    return part.select(range(min(_FEW, len(part)))) if isinstance(part, datasets.Dataset) else part.take(_FEW)
