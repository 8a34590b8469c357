"""Runs a model over the splits of a data set, once; everything after works on the file it leaves."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import torch
from tqdm import tqdm

from oochub import catalog
from oochub.artifacts import PREDICTIONS
from oochub.build_record import BuildFacts, BuildRecord
from oochub.errors import OochubError, either, unknown_name
from oochub.files import check_writable, written_whole
from oochub.input import Input, InputBatch
from oochub.inputs.pictures.zoom import check_zoom
from oochub.models.extraction import Extraction
from oochub.models.head import find_head
from oochub.models.loaded_model import LoadedModel, class_order, load_model
from oochub.models.perturbation import TEMPERATURE, Perturbation, check_perturbation
from oochub.output import Output, output_of, output_of_features
from oochub.output_columns import vector_array
from oochub.prediction.metadata import RESERVED, VECTORS, Metadata, ZoomSettings, row_counts
from oochub.prediction.predictions import Predictions
from oochub.provenance import provenance
from oochub.stats.worst_rows import kept_rows
from oochub.tensor_file import save_tensors

_MODES = ("auto", "head")
_MEDIA = (datasets.Image, datasets.Audio, datasets.Video)


def predict(
    model: Any,
    dataset: Any,
    *,
    mode: str = "auto",
    features: bool = False,
    batch_size: int | None = None,
    out: str | Path | None = None,
    splits: Iterable[str] | None = None,
    image_processor: Any = None,
    processor: Any = None,
    preprocessing: str = "fused",
    images: bool = True,
    odin: float | None = None,
    odin_temperature: float = TEMPERATURE,
    zoom: float | None = None,
) -> Predictions:
    """Predicts every example of the splits with a model's own head.

    Args:
        model: Folder or Hub id of a model of transformers for pictures, texts or arrays, or the model itself.
        dataset: A Dataset, IterableDataset or DatasetDict with a column `image`, `text` or `array`; `label`,
            `example_id` and any other columns are carried into the predictions, texts too.
        mode: "head", the model's own head; "auto" is the same here.
        features: Store what the head sees (`features`), and the head itself in `<out>.head.safetensors`.
        batch_size: Rows a forward pass; None takes 32 on the CPU, 128 on a GPU.
        out: Parquet file to write, whole or not at all.
        splits: Splits of a DatasetDict; None takes all but "train".
        image_processor: The same as `processor`, for pictures.
        processor: With a model object: its image processor, its tokenizer, or its
            `oochub.models.array_processor.ArrayProcessor`; without that, arrays are taken as they are.
        preprocessing: "fused" decodes and resizes in one pass, within one gray level of the processor; "processor"
            is the model's own. For pictures alone.
        images: Keep a small JPEG of the worst mistakes of each group, for the report.
        odin: Epsilon of ODIN, such as 0.0014: store `odin_logits` too, of pictures perturbed by it. A step of the
            scaled pixels, epsilon / std where the processor normalizes; see `oochub.models.perturbation`.
        odin_temperature: Temperature of ODIN's gradient, that of the detector `odin` which reads the column.
        zoom: Factor above 1, such as 1.2: store `zoom_logits` too (and with `features` `zoom_features`, with `odin`
            `zoom_odin_logits`), of the center of each picture, 1 / zoom of each side; for `oochub evaluate --probe
            zoom`.

    Returns:
        The Predictions; also written to `out`.

    Raises:
        OochubError: An unknown split or mode, a model whose classes are not those of the data set, an output that
            cannot be written, a row that cannot be read (its split and id are named), an odin or zoom out of range or
            for a model that does not read pictures.
    """
    if mode not in _MODES:
        raise unknown_name("mode", mode, _MODES)
    if preprocessing not in ("fused", "processor"):
        raise unknown_name("preprocessing", preprocessing, ("fused", "processor"))
    if batch_size is not None and (isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1):
        raise OochubError(f"batch_size must be a whole number, 1 or larger, got {batch_size!r}. Leave it out for ours.")
    if odin is not None:
        check_perturbation(odin, odin_temperature)
    factor = None if zoom is None else check_zoom(zoom)
    if out is not None:
        check_writable(out, kind=PREDICTIONS)
    if features and (out is None or Path(out).suffix.lower() != ".parquet"):  # a stream has no place beside it
        raise OochubError("features also stores the head, beside the predictions: give out, a .parquet file.")
    parts = _splits(dataset, splits)
    some = next(iter(parts.values()))
    processor = image_processor if processor is None else processor
    loaded = load_model(model, some, processor=processor, preprocessing=preprocessing, odin=odin, zoom=zoom)
    for name, part in parts.items():
        if loaded.inputs.column not in (part.column_names or ()):
            raise OochubError(f"The split {name} has no column {loaded.inputs.column!r}, only {part.column_names}.")
    parts = {name: _without_media(part, loaded.inputs.column) for name, part in parts.items()}
    kind = _kind(loaded.model, some)
    for name, part in parts.items():
        _check_columns(name, part, (*RESERVED, *kind.columns))
    order, class_names = class_order(loaded.model, some, kind)
    if (odin is not None or zoom is not None) and not kind.one_answer:
        options = either("odin= and zoom=", "--odin and --zoom")
        raise OochubError(f"{options} are read by models of one class a row, and this one gives {kind.name}.")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loaded.model.to(device).eval()
    size = batch_size or (128 if device.type == "cuda" else 32)
    read = partial(loaded.inputs.batches, batch_size=size, device=device, zoom=factor)
    head = find_head(loaded.model, next(read(_few(some))).inputs) if features else None
    perturbation = None if odin is None else Perturbation(odin, temperature=odin_temperature, std=loaded.inputs.std)
    extraction = Extraction(loaded.model, order, head=head, perturbation=perturbation)
    table = pa.concat_tables(
        [
            _predict_split(name, part, read, extraction, kind, class_names, unit=loaded.inputs.unit)
            for name, part in parts.items()
        ]
    )
    metadata = replace(
        _metadata(table, loaded, kind, class_names, some, size),
        odin=None if perturbation is None else perturbation.settings,
        zoom=None if factor is None else ZoomSettings(factor=factor),
    )
    predictions = Predictions(table, metadata)
    if images:
        thumbnails = _thumbnails(predictions, parts, loaded.inputs)
        predictions = predictions.with_table(table.append_column("thumbnail", thumbnails))
    if out is not None and head is not None:
        with written_whole(head_file(out)) as draft:
            save_tensors({"weight": head.weight[order].cpu().numpy(), "bias": head.bias[order].cpu().numpy()}, draft)
    if out is not None:
        predictions.save(out)
    return predictions


def head_file(predictions: str | Path) -> Path:
    """Where the head of these predictions lies.

    >>> head_file("runs/preds.parquet").as_posix()
    'runs/preds.head.safetensors'
    """
    return Path(predictions).with_suffix(".head.safetensors")


def _splits(dataset: Any, wanted: Iterable[str] | None) -> dict[str, Any]:
    if not isinstance(dataset, Mapping):
        if wanted is not None:
            raise OochubError("splits chooses among those of a DatasetDict; this data set is a single split.")
        dataset = {str(getattr(dataset, "split", None) or "test"): dataset}
        wanted = list(dataset)
    names = list(wanted) if wanted is not None else [name for name in dataset if name != "train"] or list(dataset)
    for name in names:
        if name not in dataset:
            raise unknown_name("split", name, dataset)
    return {name: dataset[name] for name in dict.fromkeys(names)}


def _check_columns(split: str, part: Any, reserved: Iterable[str]) -> None:
    """Refuses columns that would be lost or taken for the model's own."""
    taken = [name for name in dict.fromkeys(reserved) if name in (part.column_names or ())]
    if taken:
        raise OochubError(
            f"The split {split} has the column {taken[0]!r}, which predictions write themselves. Rename it first: "
            f'dataset.rename_column("{taken[0]}", "own_{taken[0]}").'
        )


def _without_media(part: Any, read: str) -> Any:
    """A split without pictures, sounds and films that the model does not read."""
    features = (part.features or {}).items()
    media = [name for name, feature in features if isinstance(feature, _MEDIA) and name != read]
    return part.remove_columns(media) if media else part


def _few(part: Any) -> Any:
    return part.select(range(min(3, len(part)))) if isinstance(part, datasets.Dataset) else part.take(3)


def _predict_split(
    name: str,
    part: Any,
    read: Callable[[Any], Iterator[InputBatch]],
    extraction: Extraction,
    kind: Output,
    class_names: Sequence[str],
    *,
    unit: str,
) -> pa.Table:
    columns: dict[str, list[Any]] = {}
    vectors: dict[str, list[torch.Tensor]] = {}
    total = len(part) if isinstance(part, datasets.Dataset) else None
    with tqdm(total=total, desc=f"Predicting {name}", unit=unit, disable=None) as bar:
        for batch in read(part):
            outputs = extraction(batch)
            for key, values in outputs.items():
                vectors.setdefault(key, []).append(values)
            for key, values in batch.columns.items():
                columns.setdefault(key, []).extend(values)
            bar.update(len(outputs["logits"]))
    if not vectors:
        raise OochubError(f"The split {name} has no example.")
    matrices = {key: torch.cat(batches).numpy() for key, batches in vectors.items()}
    return _table(name, part, columns, matrices, kind, class_names)


def _table(
    split: str,
    part: Any,
    columns: dict[str, list[Any]],
    vectors: Mapping[str, np.ndarray[Any, Any]],
    kind: Output,
    class_names: Sequence[str],
) -> pa.Table:
    n, known = len(vectors["logits"]), part.features or {}
    ids = columns.pop("example_id", None) or [str(row) for row in range(n)]
    arrays: dict[str, Any] = {
        "example_id": pa.array([str(name) for name in ids]),
        "split": pa.array([split] * n),
        kind.label_column: kind.truth(columns.pop(kind.label_column, None), n, class_names),
        **kind.store(vectors["logits"]),
        **{key: vector_array(matrix) for key, matrix in vectors.items() if key != "logits"},
    }
    for key, values in columns.items():
        feature = known.get(key)
        if isinstance(feature, datasets.ClassLabel):
            arrays[key] = pa.array([None if v is None or v < 0 else feature.names[v] for v in values], pa.string())
        else:
            schema = datasets.Features({key: feature}).arrow_schema if feature is not None else None
            arrays[key] = pa.array(values, schema.field(key).type if schema is not None else None)
    return pa.table(arrays)


def _kind(model: Any, part: Any) -> Output:
    """The kind of output: that of the data set's truth, else of the model's config."""
    features = part.features or {}
    name = output_of_features(features)
    if name is None:
        problem = getattr(model.config, "problem_type", None)
        name = next((each for each in catalog.names("output") if output_of(each).problem_type == problem), None)
        name = name or ("number" if model.config.num_labels == 1 else "classes")
    return output_of(name)


def _thumbnails(predictions: Predictions, parts: Mapping[str, Any], inputs: Input) -> pa.Array:
    """A small JPEG for the worst mistakes of each split and group, null elsewhere."""
    kind, label, split = predictions.output, predictions.label, predictions.split
    is_wrong = kind.known(label) & kind.wrong({"label": label, "prediction": predictions.prediction})
    thumbnails: list[bytes | None] = [None] * len(label)
    if is_wrong.any():
        wrong = predictions.select(is_wrong)
        arrays = kind.arrays(wrong)
        mistake = kind.mistake_keys(arrays)
        group = wrong.column("group") if "group" in wrong.table.column_names else mistake
        first = {name: int(np.argmax(split == name)) for name in parts}
        worst = kept_rows(arrays["loss"], mistake, wrong.split, group)
        for row in np.flatnonzero(is_wrong)[worst].tolist():
            part = parts[split[row]]
            if isinstance(part, datasets.Dataset):
                thumbnails[row] = inputs.thumbnail(part, row - first[split[row]])
    return pa.array(thumbnails, pa.binary())


def _metadata(
    table: pa.Table, loaded: LoadedModel, kind: Output, class_names: list[str], part: Any, batch_size: int
) -> Metadata:
    info, unexpected = part.info, {"unexpected_weights": list(loaded.unexpected)} if loaded.unexpected else {}
    record = BuildRecord.of(info.description)
    rows = table.drop_columns([name for name in {*VECTORS, *kind.columns} if name in table.column_names])
    digest = hashlib.sha256(json.dumps(rows.to_pydict(), sort_keys=True, default=str).encode()).hexdigest()
    return Metadata(
        benchmark=record.benchmark if record else _benchmark_name(info),
        config=record.config if record else info.config_name or "default",
        version=record.version if record else str(info.version or "0.0.0"),
        notes=record.notes if record else (),
        facts=record.facts if record else BuildFacts(),
        kind=kind.name,
        fingerprint=digest,
        model=loaded.about,
        training=loaded.training,
        class_names=tuple(class_names),
        rows=row_counts(table.column("split").to_pylist()),
        provenance=provenance(**loaded.inputs.provenance(), batch_size=batch_size, **unexpected),
    )


def _benchmark_name(info: Any) -> str | None:
    """The benchmark of a Parquet repository by its folder's name; None for someone's own data."""
    name = str(info.dataset_name or "")
    return name if name in catalog.names("benchmark") else None
