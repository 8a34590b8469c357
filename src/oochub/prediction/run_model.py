"""The rows of all splits through the network of a mode, part by part, and what a report shows of the worst of them.

A network that computes in fewer bits is set beside itself in float32, on a few rows, before all are read. A report
shows small images, or lines of text.
"""

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
import torch
from datasets.distributed import split_dataset_by_node
from numpy.typing import NDArray
from torch import nn

from oochub.errors import OochubError, choose_wording
from oochub.input import BrokenRow, Input, InputBatch
from oochub.models.acceleration import DTYPES, Autocast, Compiled, PassThreads
from oochub.models.extraction import Extraction, FeatureReader, Perturbation
from oochub.models.feature_reader import choose_features
from oochub.models.mode import Mode
from oochub.models.runtimes.exported_network import RuntimeFeatures, open_runtime
from oochub.models.runtimes.quantization import CalibrationImages, CalibrationRows
from oochub.output import Output
from oochub.prediction.context_roles import RowsWithContexts
from oochub.prediction.data_metadata import describe_data
from oochub.prediction.parts import MadePart, Parts, count_part_rows, extract_parts
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import StoredHead, head_file, is_one_file, remove_head
from oochub.prediction.ray_engine import RayEngine
from oochub.prediction.stored_columns import StoredRows
from oochub.process.ranks import Ranks
from oochub.records.metadata import Metadata, ZoomSettings
from oochub.records.origin_records import provenance
from oochub.settings.prediction_settings import PredictionSettings
from oochub.stats.logits import logit_difference
from oochub.stats.row_blocks import choose_shown_rows
from oochub.storage.files import lock_target

_FEW = 8  # rows to look at a network with
_NAMED = 5  # of the rows that are left out


def run_model(
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
    calibration: CalibrationRows | None = None,
) -> Predictions:
    """What the network of a mode says of every row.

    If there are several processes, each makes its share of the missing parts; the first puts them together.

    Args:
        mode: Mode, opened.
        inputs: How rows are read.
        splits: Splits by name.
        asked: The settings.
        notes: Notes on the data.
        computed: What predictions say of how the network was prepared.
        key: What the answers depend on; with one, parts that a killed run left are taken.
        target: The file to write; None writes none.
        ranks: This process among those of the run.
        engine: Engine that reads and answers batches; None is this process.
        calibration: The rows that int8 is calibrated on.

    Raises:
        OochubError: A row that cannot be read, a split without one that can, another process that writes the target;
            for several processes, a stream without ids or a folder that they do not share.
    """
    some, size, device = next(iter(splits.values())), asked.rows_a_pass, asked.device
    read: Callable[..., Iterator[InputBatch]] = partial(inputs.batches, batch_size=size, device=device, zoom=asked.zoom)
    few = _read_few(some, inputs, asked, read)
    features = choose_features(asked.features, mode, few, device=device, dtype=DTYPES.get(asked.dtype, torch.float32))
    head = None if features is None else features.head
    images = None if calibration is None or asked.runtime == "torch" else calibration.open(read)
    prepared = _prepare_network(mode, inputs, asked, features, few, images)
    network, details = prepared.network, {"device": device.type, "dtype": "float32", **computed, **prepared.details}
    perturbation = None
    if asked.odin is not None:
        perturbation = Perturbation(asked.odin, temperature=asked.odin_temperature, std=inputs.std)
    extraction = Extraction(network, features=prepared.features, perturbation=perturbation)
    answer: Callable[[InputBatch], Mapping[str, torch.Tensor]] = extraction
    if engine is not None:
        read = engine.batches(inputs, extraction, batch_size=size, device=device, zoom=asked.zoom)
        answer = engine.answers

    def said(rows: StoredRows, unread: Sequence[str] = ()) -> Metadata:
        return describe_data(
            rows,
            some.info,
            mode.kind,
            class_names=mode.class_names,
            model=mode.about,
            notes=(*mode.notes, *notes, *prepared.notes, *unread),
            training=mode.training,
            provenance=provenance(**inputs.provenance(), batch_size=size, **details, **mode.details),
            odin=None if perturbation is None else perturbation.settings,
            zoom=None if asked.zoom is None else ZoomSettings(factor=asked.zoom),
            **mode.metadata,
        )

    width = len(mode.class_names) + _count_features(network, prepared.features, few)
    numbers_a_row = width * (1 if asked.zoom is None else 2) + len(mode.class_names) * (asked.odin is not None)
    count = count_part_rows(numbers_a_row, size)
    lengths = {name: len(part) if isinstance(part, datasets.Dataset) else None for name, part in splits.items()}
    layout = None if key is None else {"key": key, "part_rows": count, "splits": lengths}
    is_one = ranks.is_alone and None not in lengths.values() and sum(int(n or 0) for n in lengths.values()) <= count
    parts = Parts(None if is_one else target, layout)
    is_locked = ranks.is_first and parts.folder is not None and target is not None
    is_shared = engine is None and device.type == "cpu" and details.get("runtime") is None
    maker = _PartMaker(mode=mode, inputs=inputs, asked=asked, ranks=ranks, parts=parts, part_rows=count, said=said)
    with (
        lock_target(target) if is_locked and target is not None else nullcontext(),
        engine or nullcontext(),
        PassThreads(is_shared=is_shared, given=asked.threads) as threads,
    ):
        complete = _begin_parts(parts, ranks)
        made = maker.make(splits, lengths, complete, read, lambda batch: threads.run(partial(answer, batch)))
        everywhere = {*complete, *(number for several in ranks.values(made) for number in several)}
        if not ranks.is_first:
            ranks.values(None)  # the first puts all together
            return replace(Predictions.load(str(target)), integrity=None)
        parts.check_complete(everywhere)
        stored = None
        if head is not None and mode.is_linear:
            stored = StoredHead(weight=head.weight.cpu().numpy(), bias=head.bias.cpu().numpy())
        predictions = _finish_parts(parts, said, splits, inputs, asked, stored, target)
    ranks.values(None)
    return predictions


def _read_few(
    some: Any, inputs: Input, asked: PredictionSettings, read: Callable[..., Iterator[InputBatch]]
) -> Mapping[str, torch.Tensor]:
    """The first rows that can be read, on the device; nothing where no one looks at them."""
    if not (asked.features is not False or _is_short(asked) or asked.compile or asked.runtime != "torch"):
        return {}
    first = next(read(_take_few(some), broken=[] if asked.skip_broken else None), None)
    if first is None:
        return {name: values.to(asked.device) for name, values in inputs.probe().items()}
    return first.inputs


def _is_short(asked: PredictionSettings) -> bool:
    """Whether the network computes in fewer bits than float32."""
    return asked.dtype not in ("auto", "float32")


class _Prepared(NamedTuple):
    """The network, compiled, exported or in fewer bits; how it was prepared, and how far it is from float32."""

    network: nn.Module
    features: FeatureReader | None
    details: Mapping[str, Any]
    notes: Sequence[str]


def _prepare_network(
    mode: Mode,
    inputs: Input,
    asked: PredictionSettings,
    features: FeatureReader | None,
    few: Mapping[str, torch.Tensor],
    images: CalibrationImages | None,
) -> _Prepared:
    """The network of a mode, prepared as asked for and held against itself in float32 on a few rows."""
    network, notes = mode.network, []
    details: dict[str, Any] = {} if features is None else dict(features.details)
    if asked.compile:
        network = Compiled(mode.network, asked.rows_a_pass)
        details["compiled"] = _describe_dtype_difference("float32", network, mode.network, few, mode.kind)
    if asked.runtime != "torch":
        head = None if features is None else features.head
        first_rows, dtype = len(next(iter(few.values()))), asked.dtype if _is_short(asked) else "float32"

        def describe(logits: torch.Tensor, reference: torch.Tensor) -> str:
            return _describe_difference(dtype, logits[:first_rows], reference[:first_rows], mode.kind)

        choice = open_runtime(
            *(mode.network, _add_rows(few, inputs.probe()), asked),
            describe=describe,
            head=head,
            calibration=images,
            has_classes=mode.kind.has_confidence,
        )
        details |= choice.details
        if choice.network is not None:
            network, earlier = choice.network, " of an earlier run" * choice.is_earlier
            details |= {"dtype": dtype, "runtime_check": choice.check + (earlier and f" on the first rows{earlier}")}
            ran = f"the network computed in {dtype} by {choice.details['runtime']}"
            notes.append(f"{ran}: on the first rows{earlier} {choice.check} from torch in float32")
            if images is not None:
                notes.append(
                    f"int8 was calibrated on {images.count} images of {images.described}; on others of these "
                    f"{choice.details['int8_check']} from float32"
                )
            features = features if head is None else RuntimeFeatures(head, network)
    elif _is_short(asked):
        network = Autocast(network, DTYPES[asked.dtype])
        check = _describe_dtype_difference(asked.dtype, network, mode.network, few, mode.kind)
        details |= {"dtype": asked.dtype, "dtype_check": check}
        notes.append(f"the network computed in {asked.dtype}: on the first rows {check} from float32")
    if inputs.provenance().get("preprocessing") == "draft":
        check = inputs.provenance()["preprocessing_check"]
        notes.append(f"large JPEGs were decoded at a smaller size; beside the model's own processor, {check}")
    return _Prepared(network, features, details, notes)


@dataclass(frozen=True, kw_only=True)
class _PartMaker:
    """Makes the parts that are missing, each process its share; `said` is what predictions say of some rows."""

    mode: Mode
    inputs: Input
    asked: PredictionSettings
    ranks: Ranks
    parts: Parts
    part_rows: int
    said: Callable[[StoredRows], Metadata]

    def make(
        self,
        splits: Mapping[str, Any],
        lengths: Mapping[str, int | None],
        complete: Container[int],
        read: Callable[..., Iterator[InputBatch]],
        answer: Callable[[InputBatch], Mapping[str, torch.Tensor]],
    ) -> list[int]:
        """Makes the missing parts of all splits, those of a stream without a length; gives their numbers."""
        ranks = self.ranks
        first_number, turn, made = 0, 0, []
        for name, part in splits.items():
            length = lengths[name]
            numbers = None if length is None else range(-(-length // self.part_rows))
            missing = [k for k in numbers or () if first_number + k not in complete]
            wanted = None if numbers is None else missing[(ranks.number - turn) % ranks.count :: ranks.count]
            turn += len(missing)
            own: list[int] = []
            if wanted is None or wanted:
                rows = part if length is not None else _own_rows(name, part, ranks)
                own = list(self._make_split(name, rows, first_number, wanted, read, answer))
            made += [first_number + number for number in own]
            first_number += len(numbers) if numbers is not None else 1 + max(ranks.values(max(own, default=-1)))
            if ranks.is_alone:
                _check_read(name, self.parts.made(), self.inputs.unit)
        return made

    def _make_split(
        self,
        name: str,
        part: Any,
        first_number: int,
        wanted: Sequence[int] | None,
        read: Callable[..., Iterator[InputBatch]],
        answer: Callable[[InputBatch], Mapping[str, torch.Tensor]],
    ) -> Iterator[int]:
        """Makes the wanted parts of a split, all of a stream, and gives the number of each within the split."""
        for place, part_made in extract_parts(
            *(name, part, read, answer, self.mode),
            said=self.said,
            unit=self.inputs.unit,
            part_rows=self.part_rows,
            wanted=wanted,
            skip_broken=self.asked.skip_broken,
            is_quiet=not self.ranks.is_first,
        ):
            number = place if wanted is not None else place * self.ranks.count + self.ranks.number
            self.parts.put(first_number + number, part_made)
            del part_made  # before the next one is made
            yield number


def _count_features(network: nn.Module, features: FeatureReader | None, few: Mapping[str, torch.Tensor]) -> int:
    """The length of a vector of features; what is wrong with them is said on a few rows, before all are read."""
    if features is None or features.head is not None:
        return 0 if features is None or features.head is None else features.head.weight.shape[1]
    return Extraction(network, features=features)(InputBatch(few, {}))["features"].shape[1]


def _begin_parts(parts: Parts, ranks: Ranks) -> set[int]:
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
            f"The stream {name} has no column example_id, but {ranks.count} processes read it, and a process's own "
            "row numbers are not unique. Add unique ids to the stream, or predict it in one process."
        )
    return split_dataset_by_node(part, ranks.number, ranks.count)


def _finish_parts(
    parts: Parts,
    said: Any,
    splits: Mapping[str, Any],
    inputs: Input,
    asked: PredictionSettings,
    stored: StoredHead | None,
    target: Path | None,
) -> Predictions:
    """All parts together, with small images of the worst mistakes, in the place that they are for."""
    for name in splits:
        _check_read(name, parts.made(), inputs.unit)
    parts_made, rows, summary = parts.joined()
    broken = {
        name: [row for part_made in parts_made if part_made.split == name for row in part_made.broken]
        for name in splits
    }
    unread = [_describe_unread(name, several, inputs.unit) for name, several in broken.items() if several]
    predictions = Predictions(rows, said(rows, unread), stored_head=stored).remember(summary=summary)
    pictures = None
    if asked.images:
        numbers = {name: [part_made.rows for part_made in parts_made if part_made.split == name] for name in splits}
        pictures = _make_thumbnails(predictions, splits, numbers, inputs)
    if parts.folder is not None and target is not None and not is_one_file(rows):
        parts.become(predictions, pictures)
        if stored is None:
            remove_head(target)
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
    own = [part_made for part_made in made if part_made.split == name]
    if any(part_made.predictions is not None for part_made in own):
        return
    broken = [row for part_made in own for row in part_made.broken]
    if broken:
        raise OochubError(
            f"None of the {len(broken)} {unit}s of the split {name} can be read. The first: {broken[0].fault}"
        )
    raise OochubError(f"The split {name} has no examples.")


def _describe_unread(split: str, broken: Sequence[BrokenRow], unit: str) -> str:
    several = "" if len(broken) == 1 else "s"
    names = ", ".join([row.example for row in broken[:_NAMED]] + ["..."] * (len(broken) > _NAMED))
    verb = "is" if len(broken) == 1 else "are"
    return f"{len(broken)} {unit}{several} of {split} could not be read and {verb} skipped: {names}"


def _add_rows(few: Mapping[str, torch.Tensor], noise: Mapping[str, torch.Tensor]) -> Mapping[str, torch.Tensor]:
    """The first rows and rows of noise of the same shape, which differ even if the first rows are all alike."""
    shapes = [{name: tensor.shape[1:] for name, tensor in several.items()} for several in (few, noise)]
    if shapes[0] != shapes[1]:
        return few
    return {name: torch.cat([tensor, noise[name].to(tensor)]) for name, tensor in few.items()}


def _take_few(part: Any) -> Any:
    return part.select(range(min(_FEW, len(part)))) if isinstance(part, datasets.Dataset) else part.take(_FEW)


def _describe_dtype_difference(
    name: str, shorter: nn.Module, network: nn.Module, inputs: Mapping[str, torch.Tensor], kind: Output
) -> str:
    """`_describe_difference` of the logits of a few rows by a network in a shorter dtype, and in float32."""
    with torch.inference_mode():
        return _describe_difference(name, shorter(**inputs).logits, network(**inputs).logits, kind)


def _describe_difference(name: str, logits: torch.Tensor, reference: torch.Tensor, kind: Output) -> str:
    """What predictions say of it: "logits within 1.30% of their range, 0 of 8 answers differ".

    If the kind of output has one answer per row, the answers are compared too.

    Raises:
        OochubError: Logits in the dtype of that name that are not finite.
    """
    if not reference.is_floating_point():  # the answers themselves
        return f"{int((logits != reference).sum())} of {reference.numel()} tokens differ"
    logits, reference = logits.float(), reference.float()
    difference = logit_difference(logits, reference)
    if not math.isfinite(difference):
        option = choose_wording(f'dtype="{name}"')
        raise OochubError(f"With {option} the logits are not finite numbers: too few bits. Take bfloat16 or float32.")
    words = f"logits within {difference:.2%} of their range"
    if not kind.has_confidence:
        return f"{words} on {len(logits)} rows"
    differ = int((logits.argmax(1) != reference.argmax(1)).sum())
    return f"{words}, {differ} of {len(logits)} answers differ"


def _make_thumbnails(
    predictions: Predictions, parts: Mapping[str, Any], rows: Mapping[str, Sequence[Sequence[int]]], inputs: Input
) -> pa.Table:
    """The column `thumbnail`, a small JPEG for the worst mistakes of each split and group, null elsewhere.

    If the data have found contexts, a few rows as usual and against each have one too (`RowsWithContexts.shown`). If
    rows are no images but have lines of text, a column `thumbnail_text` holds those of the mistakes.

    Args:
        predictions: Predictions of the splits, in their order.
        parts: The splits by name; those of a stream get none.
        rows: Numbers of the rows that were predicted, by split, part by part.
        inputs: Makes images and lines.
    """
    kind, split, count = predictions.output, predictions.split, len(predictions)
    pictures: list[bytes | None] = [None] * count
    lines: list[str | None] = [None] * count
    mistakes = _find_worst_mistakes(predictions)
    shown = np.union1d(mistakes, _select_context_rows(predictions))
    for name, part in parts.items():
        own = shown[split[shown] == name]
        if isinstance(part, datasets.Dataset) and len(own):
            numbers = np.concatenate([np.asarray(several, np.int64) for several in rows[name]])
            first, is_wrong = int(np.argmax(split == name)), np.isin(own, mistakes)
            for row, picture in zip(own, inputs.thumbnails(part, numbers[own - first].tolist()), strict=True):
                pictures[row] = picture
            if is_wrong.any():
                wrong = own[is_wrong]
                arrays = kind.arrays(predictions.take(wrong))
                for place, line in enumerate(inputs.lines(part, numbers[wrong - first].tolist())):
                    lines[wrong[place]] = line or kind.line(arrays, place, inputs.vocabulary)
    table = pa.table({"thumbnail": pa.array(pictures, pa.binary())})
    has_lines = any(line is not None for line in lines)
    return table.append_column("thumbnail_text", pa.array(lines, pa.string())) if has_lines else table


def _find_worst_mistakes(predictions: Predictions) -> NDArray[np.int64]:
    """The numbers of the rows with the highest loss, a few of each split and group."""
    kind, label = predictions.output, predictions.label
    is_wrong = kind.known(label) & kind.wrong({"label": label, "prediction": predictions.prediction})
    if not is_wrong.any():
        return np.empty(0, np.int64)
    wrong = predictions.select(is_wrong)
    arrays = kind.arrays(wrong)
    mistake = kind.mistake_keys(arrays)
    group = wrong.column("group") if "group" in wrong.column_names else mistake
    return np.flatnonzero(is_wrong)[choose_shown_rows(arrays["loss"], mistake, wrong.split, group)]


def _select_context_rows(predictions: Predictions) -> NDArray[np.int64]:
    """The numbers of the rows that a page shows beside findings about contexts."""
    tested = RowsWithContexts.of(predictions)
    several = [] if tested is None else [row for k in range(len(tested.facts.names)) for row in tested.shown(k)]
    return np.unique(np.concatenate([np.empty(0, np.int64), *several]))
