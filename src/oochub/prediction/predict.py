"""Runs a model over the splits of a data set, once; everything after works on the file it leaves."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import torch
from safetensors.torch import save_file
from tqdm import tqdm

from oochub import catalog
from oochub.build_record import BuildFacts, BuildRecord
from oochub.errors import OochubError, unknown_name
from oochub.evaluation.mistakes import worst_of_each
from oochub.files import check_writable, written_whole
from oochub.input import Input, InputBatch
from oochub.inputs.pictures.zoom import check_zoom
from oochub.models.extraction import VECTORS, Extraction
from oochub.models.heads import find_head
from oochub.models.loaded_model import LoadedModel, class_order, load_model
from oochub.models.perturbation import TEMPERATURE, Perturbation, check_perturbation
from oochub.prediction.metadata import Metadata, ZoomSettings, row_counts
from oochub.prediction.predictions import Predictions
from oochub.provenance import provenance

_MODES = ("auto", "head")


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
        preprocessing: "fused" decodes and resizes in one pass, within one grey level of the processor; "processor"
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
    if odin is not None:
        check_perturbation(odin, odin_temperature)
    factor = None if zoom is None else check_zoom(zoom)
    if out is not None:
        check_writable(out)
    if features and out is None:
        raise OochubError("features=True also stores the head, beside the predictions: give out=FILE.parquet.")
    parts = _splits(dataset, splits)
    some = next(iter(parts.values()))
    processor = image_processor if processor is None else processor
    loaded = load_model(model, some, processor=processor, preprocessing=preprocessing, odin=odin, zoom=zoom)
    for name, part in parts.items():
        if loaded.inputs.column not in (part.column_names or ()):
            raise OochubError(f"The split {name} has no column {loaded.inputs.column!r}, only {part.column_names}.")
    order, class_names = class_order(loaded.model, some)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loaded.model.to(device).eval()
    size = batch_size or (128 if device.type == "cuda" else 32)
    read = partial(loaded.inputs.batches, batch_size=size, device=device, zoom=factor)
    head = find_head(loaded.model, next(read(_few(some))).inputs) if features else None
    perturbation = None if odin is None else Perturbation(odin, temperature=odin_temperature, std=loaded.inputs.std)
    extraction = Extraction(loaded.model, order, head=head, perturbation=perturbation)
    table = pa.concat_tables(
        [_predict_split(name, part, read, extraction, unit=loaded.inputs.unit) for name, part in parts.items()]
    )
    metadata = replace(
        _metadata(table, loaded, class_names, some, size),
        odin=None if perturbation is None else perturbation.settings,
        zoom=None if factor is None else ZoomSettings(factor=factor),
    )
    if images:
        table = table.append_column("thumbnail", _thumbnails(table, parts, loaded.inputs))
    if out is not None and head is not None:
        with written_whole(head_file(out)) as draft:
            weight, bias = head.weight[order].contiguous().cpu(), head.bias[order].contiguous().cpu()
            save_file({"weight": weight, "bias": bias}, draft)
    predictions = Predictions(table, metadata)
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
            raise OochubError("splits= chooses among those of a DatasetDict; this data set is a single split.")
        dataset = {str(getattr(dataset, "split", None) or "test"): dataset}
        wanted = list(dataset)
    names = list(wanted) if wanted is not None else [name for name in dataset if name != "train"] or list(dataset)
    for name in names:
        if name not in dataset:
            raise unknown_name("split", name, dataset)
    return {name: dataset[name] for name in dict.fromkeys(names)}


def _few(part: Any) -> Any:
    return part.select(range(min(3, len(part)))) if isinstance(part, datasets.Dataset) else part.take(3)


def _predict_split(
    name: str, part: Any, read: Callable[[Any], Iterator[InputBatch]], extraction: Extraction, *, unit: str
) -> pa.Table:
    columns: dict[str, list[Any]] = {}
    found: dict[str, list[torch.Tensor]] = {}
    total = len(part) if isinstance(part, datasets.Dataset) else None
    with tqdm(total=total, desc=f"Predicting {name}", unit=unit, disable=None) as bar:
        for batch in read(part):
            outputs = extraction(batch)
            for key, vectors in outputs.items():
                found.setdefault(key, []).append(vectors)
            for key, values in batch.columns.items():
                columns.setdefault(key, []).extend(values)
            bar.update(len(outputs["logits"]))
    if not found:
        raise OochubError(f"The split {name} has no example.")
    return _table(name, part, columns, {key: torch.cat(batches).numpy() for key, batches in found.items()})


def _table(
    split: str, part: Any, columns: dict[str, list[Any]], vectors: Mapping[str, np.ndarray[Any, Any]]
) -> pa.Table:
    n, known = len(vectors["logits"]), part.features or {}
    ids = columns.pop("example_id", None) or [str(row) for row in range(n)]
    label = columns.pop("label", None) or [-1] * n
    arrays: dict[str, Any] = {
        "example_id": pa.array([str(one) for one in ids]),
        "split": pa.array([split] * n),
        "label": pa.array([-1 if one is None else one for one in label], pa.int64()),
        **{key: _vectors(matrix) for key, matrix in vectors.items()},
    }
    for key, values in columns.items():
        feature = known.get(key)
        if isinstance(feature, datasets.ClassLabel):
            arrays[key] = pa.array([None if v is None or v < 0 else feature.names[v] for v in values], pa.string())
        else:
            schema = datasets.Features({key: feature}).arrow_schema if feature is not None else None
            arrays[key] = pa.array(values, schema.field(key).type if schema is not None else None)
    return pa.table(arrays)


def _vectors(matrix: np.ndarray[Any, Any]) -> pa.Array:
    flat = pa.array(np.ascontiguousarray(matrix, dtype=np.float32).ravel())
    return pa.ListArray.from_arrays(np.arange(0, len(flat) + 1, matrix.shape[1], dtype=np.int32), flat)


def _thumbnails(table: pa.Table, parts: Mapping[str, Any], inputs: Input) -> pa.Array:
    """A small JPEG for the worst mistakes of each split and group, null elsewhere."""
    logits = np.stack(table.column("logits").to_numpy())
    label, split = table.column("label").to_numpy(), np.array(table.column("split").to_pylist())
    group = np.array(table.column("group").to_pylist() if "group" in table.column_names else label.tolist())
    if (label < 0).all():
        return pa.nulls(len(label), pa.binary())
    shifted = logits - logits.max(axis=1, keepdims=True)
    loss = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(label)), label]
    wrong = np.flatnonzero((logits.argmax(axis=1) != label) & (label >= 0))
    chosen = wrong[worst_of_each(loss[wrong], split[wrong], group[wrong])]
    found: list[bytes | None] = [None] * len(label)
    first = {name: int(np.argmax(split == name)) for name in parts}
    for row in chosen.tolist():
        part = parts[split[row]]
        if isinstance(part, datasets.Dataset):
            found[row] = inputs.thumbnail(part, row - first[split[row]])
    return pa.array(found, pa.binary())


def _metadata(table: pa.Table, loaded: LoadedModel, class_names: list[str], part: Any, batch_size: int) -> Metadata:
    info = part.info
    record = BuildRecord.of(info.description)
    rows = table.drop_columns([name for name in VECTORS if name in table.column_names])
    digest = hashlib.sha256(json.dumps(rows.to_pydict(), sort_keys=True, default=str).encode()).hexdigest()
    return Metadata(
        benchmark=record.benchmark if record else _benchmark_name(info),
        config=record.config if record else info.config_name or "default",
        version=record.version if record else str(info.version or "0.0.0"),
        notes=record.notes if record else (),
        facts=record.facts if record else BuildFacts(),
        fingerprint=digest,
        model=loaded.about,
        training=loaded.training,
        class_names=tuple(class_names),
        rows=row_counts(table.column("split").to_pylist()),
        provenance=provenance(**loaded.inputs.provenance(), batch_size=batch_size),
    )


def _benchmark_name(info: Any) -> str | None:
    """The benchmark of a Parquet repository by its folder's name; None for someone's own data."""
    name = str(info.dataset_name or "")
    return name if name in catalog.names("benchmark") else None
