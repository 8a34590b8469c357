"""Measures runs of a sweep on fixed features: images go through a backbone once, heads train in stacks.

What several tasks and runs show is seen once, see `FeatureCache`.
"""

import copy
import hashlib
import json
import time
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from oochub import catalog
from oochub.data.declaration import find_declaration
from oochub.data.load import find_data_declaration, load
from oochub.data.open_source import name_source
from oochub.errors import OochubError
from oochub.evaluation.evaluate import evaluate
from oochub.predicting import predict
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildFacts, BuildRecord
from oochub.records.metadata import IMAGE_DIGEST, HeldOut, Metadata, PredictedBy, Training
from oochub.records.origin_records import provenance
from oochub.records.output_columns import make_vectors
from oochub.storage.files import write_whole
from oochub.storage.tensor_file import save_tensors
from oochub.sweep.measurement import collect_numbers, measure_held_out, name_method
from oochub.sweep.runs import Run, RunResult
from oochub.sweep.sweep_recipe import name_features_track
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.backbone import open_backbone
from oochub.trainers.fit_linear_probe import fit_linear_probe
from oochub.trainers.heads.fitted_head import FittedHead, Probe
from oochub.trainers.heads.head_stack import group_by
from oochub.trainers.rows.context_environments import context_environments
from oochub.trainers.rows.examples import Examples, read_column
from oochub.trainers.rows.holdout_split import check_hold_out, choose_holdout
from oochub.trainers.rows.targets import CLASSES, find_task
from oochub.training import DEFAULTS

_PARTS = ("weight", "bias")


@dataclass(frozen=True)
class _Prepared:
    """What runs on the same rows and features share; `validation` is the split that stops and selects.

    `digests` tell copies of images, by `example_id`. If rows are held out, `choosing` are the row numbers of that
    split that do.
    """

    data: Mapping[str, Any]
    features: Mapping[str, Tensor]
    processor: Any
    environments: str
    validation: str
    digests: Mapping[str, str | None]
    choosing: NDArray[np.int64] | None = None
    held_out: HeldOut | None = None

    @cached_property
    def rows(self) -> pa.Table:
        """What predictions say of the rows of every split but the training split, without the answers."""
        rows = pa.concat_tables(_read_columns(split, part) for split, part in self.data.items() if split != "train")
        digests = pa.array([self.digests.get(str(name)) for name in rows["example_id"].to_pylist()], pa.string())
        return rows if digests.null_count == len(digests) else rows.append_column(IMAGE_DIGEST, digests)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the ids of the predicted examples."""
        return hashlib.sha256(json.dumps(self.rows["example_id"].to_pylist()).encode()).hexdigest()

    def examples(self, split: str, left_out: str | None) -> tuple[Examples, Tensor]:
        """The rows of a split but those of the environment that is left out, and their features."""
        part, features = self.data[split], self.features[split]
        if split == self.validation and self.choosing is not None:
            part, features = part.select(self.choosing), features[self.choosing]
        if left_out is not None:
            rows = np.flatnonzero(read_column(part, self.environments) != left_out)
            part, features = part.select(rows), features[rows]
        task = find_task(part)
        inputs, names = catalog.get("input", "pictures")(self.processor), task.names or []
        environments = self.environments if split == "train" else None
        return Examples(part, inputs, split=split, task=task, names=names, environment_column=environments), features


def measure_on_features(
    runs: list[Run], folder: Path, *, data_dir: str | None = None, hidden: int = 0
) -> Iterator[tuple[Run, RunResult]]:
    """Trains a head for each run on features of its backbone, and measures it as `measure` does.

    The backbone stays as it is: pretrained, or, for a network from scratch, with the weights of seed 0. An image is
    seen once, without augmentation.

    Args:
        runs: Runs to train.
        folder: Folder of the sweep. `features/` holds the extracted features, `runs/<id>/` each run's head
            (head.safetensors), predictions.parquet and report.json.
        data_dir: The raw folder; None takes `$OOCHUB_DATA/<benchmark>`.
        hidden: Width of a hidden layer of the heads; 0 for linear ones.

    Yields:
        Each run with its result; a run that fails stops no other.
    """
    for together in group_by(runs, _make_source_key).values():
        started = time.monotonic()
        try:
            prepared = _prepare_source(together[0], folder, data_dir)
            heads = _fit_heads(prepared, together, hidden)
        except Exception as error:
            yield from ((run, RunResult.failure(error)) for run in together)
            continue
        share = (time.monotonic() - started) / len(together)
        for run, head in zip(together, heads, strict=True):
            began = time.monotonic()
            try:
                result = _measure_run(prepared, run, head, folder / "runs" / run.id)
            except Exception as error:
                result = RunResult.failure(error)
            yield run, replace(result, seconds=round(share + time.monotonic() - began, 1))


def _make_source_key(run: Run) -> Hashable:
    """What runs on the same rows and features share."""
    normalize = run.arguments.get("normalize", True)
    options = json.dumps(dict(run.options), sort_keys=True)
    rows = run.task, run.environments, run.left_out, run.hold_out, options
    return *rows, run.model, run.pretrained, run.image_size, normalize


def _prepare_source(run: Run, folder: Path, data_dir: str | None) -> _Prepared:
    data = load(run.task, data_dir=data_dir, options=run.options)
    declared = find_data_declaration(data)
    if run.hold_out:
        check_hold_out(declared, data, source=run.task)
    task = find_task(data["train"])
    if task.problem_type != CLASSES or "image" not in data["train"].column_names:
        raise OochubError(f"{run.task} is not a classification of images, which the features track is for.")
    network, processor = open_backbone(
        run.model,
        class_names=task.names or [],
        image_size=run.image_size,
        pretrained=run.pretrained,
    )
    if not run.arguments.get("normalize", True):
        processor = copy.deepcopy(processor)
        processor.do_normalize = False
    look = json.dumps([run.model, run.pretrained, json.loads(processor.to_json_string())], sort_keys=True)
    rows = declared.name if declared else name_source(run.task)
    name = f"{rows}-{Path(run.model).name}-{hashlib.sha256(look.encode()).hexdigest()[:8]}"
    cache = FeatureCache(folder / "features" / name)
    validation = declared.validation_split if declared else "validation"
    features = cache.features(network, processor, data)
    data, named = context_environments(data, run.environments, needed=("train", validation), source=run.task)
    environments = named or (declared.environments if declared else "group")
    held_out: tuple[Any, Any] = (None, None)
    if run.hold_out:
        cluster = declared.cluster if declared else None
        held_out = choose_holdout(data[validation], split=validation, cluster=cluster)
    return _Prepared(data, features, processor, environments, validation, cache.digests, *held_out)


def _fit_heads(prepared: _Prepared, runs: list[Run], hidden: int) -> list[FittedHead]:
    probes = []
    for run in runs:
        arguments = {**DEFAULTS, **run.arguments}
        args = RobustTrainingArguments(output_dir="unused", environment_column=prepared.environments, **arguments)
        probes.append(Probe(catalog.get("objective", run.objective)(**run.hyperparameters), args))
    train, features = prepared.examples("train", runs[0].left_out)
    evaluation = prepared.examples(prepared.validation, runs[0].left_out)
    task = find_task(prepared.data["train"])
    return fit_linear_probe(train, features, probes, task=task, evaluation=evaluation, hidden=hidden)


def _measure_run(prepared: _Prepared, run: Run, head: FittedHead, out: Path) -> RunResult:
    if head.error:
        return RunResult.failure(head.error)
    predictions = _make_predictions(prepared, run, head)
    primary = find_declaration(predictions).primary_metric
    layers = {
        f"{i}.{part}": values for i, layer in enumerate(head.layers) for part, values in zip(_PARTS, layer, strict=True)
    }
    with write_whole(out / "head.safetensors") as draft:
        save_tensors({name: values.cpu().numpy() for name, values in layers.items()}, draft)
    predictions.save(out / "predictions.parquet")
    if run.left_out:
        column, split = prepared.environments, prepared.validation
        numbers = measure_held_out(predictions, column, run.left_out, split=split)
    else:
        report = name_method(evaluate(predictions), run)
        report.save(out / "report.json")
        numbers = collect_numbers(predictions, report)
    return RunResult(headline=primary, numbers=numbers)


def _make_predictions(prepared: _Prepared, run: Run, head: FittedHead) -> Predictions:
    splits = [split for split in prepared.data if split != "train"]
    logits = np.concatenate([head.logits(prepared.features[split]).numpy() for split in splits])
    table = prepared.rows.append_column("logits", make_vectors(logits))
    record = BuildRecord.of(prepared.data["train"].info)
    widths = [len(bias) for _, bias in head.layers[:-1]]
    held_out = prepared.held_out
    part = "" if held_out is None else f"{held_out.words} of "
    kind = f"an MLP head ({widths[0]} hidden)" if widths else "a linear head"
    return Predictions(
        table,
        Metadata(
            benchmark=record.benchmark if record else None,
            config=record.config if record else name_source(run.task),
            version=record.version if record else "0.0.0",
            notes=(*(record.notes if record else ()), f"{kind} on fixed features of {Path(run.model).name}"),
            facts=record.facts if record else BuildFacts(),
            fingerprint=prepared.fingerprint,
            model=PredictedBy(id=run.id, mode="features"),
            training=Training(
                objective=run.objective,
                hyperparameters=run.hyperparameters,
                environments=prepared.environments,
                seed=run.seed,
                epochs=len(head.history),
                selection=f"epoch {head.best_epoch}, chosen on {part}the validation split",
                arguments=run.arguments,
                data={"benchmark": record.benchmark, "config": record.config} if record else None,
                held_out=held_out,
            ),
            class_names=tuple(find_task(prepared.data["train"]).names or ()),
            rows={split: len(prepared.data[split]) for split in splits},
            provenance=provenance(track=name_features_track(widths[0] if widths else 0)),
        ),
    )


def _read_columns(split: str, part: Any) -> pa.Table:
    """The columns of a split but the images, as `predict` writes them: classes by name, labels by number."""
    table = part.remove_columns("image").with_format("arrow")[:]
    columns = {"example_id": table["example_id"], "split": pa.array([split] * len(table)), "label": table["label"]}
    for name in table.column_names:
        feature = part.features[name]
        if name not in columns:
            named = isinstance(feature, datasets.ClassLabel)
            columns[name] = pa.array(read_column(part, name).tolist(), pa.string()) if named else table[name]
    return pa.table(columns)


class FeatureCache:
    """What a model's head sees of each image, by `example_id`, kept in a folder.

    Images count by their id: the tasks of a benchmark that show the same images share a cache. An extraction that
    was killed is done again; those before it stay.

    Args:
        folder: Folder of this backbone and this benchmark alone.

    Attributes:
        digests: Digest of each image's bytes by `example_id`; an extraction of an earlier version has none.
    """

    def __init__(self, folder: Path) -> None:
        self.digests: dict[str, str | None] = {}
        self._folder = folder
        self._row: dict[str, int] = {}
        self._parts: list[NDArray[np.float32]] = []
        for file in sorted(folder.glob("[!.]*.parquet"), key=lambda file: int(file.stem)):
            self._take(Predictions.load(file))

    def features(self, model: Any, image_processor: Any, data: Mapping[str, Any]) -> dict[str, Tensor]:
        """The features of each split, float32 (n, d), in the order of its rows.

        Args:
            model: An image classifier; its head is not used.
            image_processor: Image processor of the model.
            data: The splits, with `example_id` and `image`.

        Raises:
            OochubError: An image that cannot be read, or a model whose features cannot be found.
        """
        ids = {split: [str(name) for name in part["example_id"]] for split, part in data.items()}
        missing = {
            split: [row for row, name in enumerate(names) if name not in self._row] for split, names in ids.items()
        }
        new = {split: data[split].select(rows) for split, rows in missing.items() if rows}
        if new:
            out = self._folder / f"{len(self._parts)}.parquet"
            splits = datasets.DatasetDict(new)
            predictions = predict(
                model, splits, image_processor=image_processor, features=True, out=out, splits=list(new), images=False
            )
            self._take(predictions)
        rows = np.concatenate(self._parts)
        return {split: torch.from_numpy(rows[[self._row[name] for name in names]]) for split, names in ids.items()}

    def _take(self, predictions: Predictions) -> None:
        start, features = sum(map(len, self._parts)), predictions.features
        assert features is not None  # noqa: S101  predict stores them
        names = [str(name) for name in predictions.column("example_id")]
        self._row |= {name: start + row for row, name in enumerate(names)}
        if IMAGE_DIGEST in predictions.column_names:
            self.digests |= zip(names, predictions.rows.light.column(IMAGE_DIGEST).to_pylist(), strict=True)
        self._parts.append(features)
