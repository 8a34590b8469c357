"""Runs a model over the splits of a data set, once; everything after works on the file it leaves."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import datasets
import torch

from oochub.errors import OochubError, choose_wording
from oochub.input import Input, check_changes, find_input_kinds
from oochub.models.acceleration import check_compiler, choose_device, fold_batch_norm, warn_of_slow_dtype
from oochub.models.cache_key import cache_key, list_image_paths
from oochub.models.callable_model import leave_as_it_was, wrap_callable
from oochub.models.feature_reader import describe_features
from oochub.models.mode import Mode, PredictedData, choose_mode
from oochub.models.model_file import split_model_file
from oochub.models.model_source import ModelSource
from oochub.models.runtimes.exported_network import check_runtime
from oochub.models.runtimes.quantization import CalibrationRows, choose_calibration_rows
from oochub.prediction.command_question import CommandQuestion
from oochub.prediction.prediction_cache import PredictionCache
from oochub.prediction.prediction_data import (
    Splits,
    check_data_set,
    check_splits,
    choose_splits,
    draw_sample,
    leave_out_classes,
)
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import SUMMARY
from oochub.prediction.ray_engine import RayEngine
from oochub.prediction.run_model import run_model
from oochub.process.ranks import Ranks
from oochub.records.build_record import drop_build_column, unpack_samples
from oochub.records.metadata import RESERVED
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import ODIN_TEMPERATURE, PredictionSettings
from oochub.storage.artifacts import PREDICTIONS
from oochub.storage.files import STREAMS, check_writable

_OWN = ("model", "dataset", "out", "settings")
"""The parameters of `predict` that are no options."""


def predict(
    model: Any,
    dataset: Any,
    *,
    mode: str = "auto",
    features: object = False,
    batch_size: int | None = None,
    out: str | Path | None = None,
    splits: Iterable[str] | None = None,
    image_processor: Any = None,
    processor: Any = None,
    class_names: object = None,
    transform: object = None,
    model_id: str | None = None,
    preprocessing: Literal["auto", "fused", "processor", "draft"] = "auto",
    images: bool = True,
    odin: float | None = None,
    odin_temperature: float = ODIN_TEMPERATURE,
    zoom: float | None = None,
    device: str | torch.device = "auto",
    dtype: Literal["auto", "float32", "bfloat16", "float16", "int8"] = "auto",
    calibrate_on: object = None,
    runtime: Literal["torch", "onnxruntime", "openvino", "auto"] = "torch",
    limit: int | None = None,
    skip_broken: bool = False,
    num_workers: int | None = None,
    threads: int | None = None,
    compile: bool = False,
    cache: bool = True,
    engine: Literal["local", "ray"] = "local",
    ray_address: str | None = None,
    actors: int | None = None,
    **settings: Any,
) -> Predictions:
    """Predicts every example of the splits.

    Args:
        model: Folder or Hub id of a model of transformers for images, texts, arrays or graphs, or the model itself; or
            any function or `torch.nn.Module` from a batch of images float32 (n, c, h, w) to logits (n, k), with
            `class_names` and `transform`. A module is left in the mode and on the device that it had.
        dataset: A Dataset, IterableDataset or DatasetDict with a column `image`, `text` or `array`; `label`,
            `example_id` and any other columns are carried into the predictions, texts too.
        mode: How the model answers: auto, by its architecture, or one of `oochub list mode`. "head" uses the model's
            own head; "linear_probe" fits logistic regression to the features of the split train; ...
        features: Also store the features before the head, and the head. They are `features`, and `Predictions.head`, in
            a file `<out>.head.safetensors`. The name of a layer, such as "layer4" of `net.named_modules()`, stores its
            output instead: (n, d), or the mean over the tokens of (n, t, d) or the places of (n, d, h, w). A function
            or module from the batch of images to floats (n, d) stores what it returns. Both have no head, so detectors
            that need one say so.
        batch_size: Rows per forward pass; default 16, or 128 on a GPU.
        out: Parquet file to write, whole or not at all; for more than 2^28 numbers a folder of Parquet files with a
            manifest. What is complete when a run is killed lies in a hidden folder beside it, and the same call goes
            on from there; a stream and a model object begin anew.
        splits: Splits to predict; default all but train.
        image_processor: Image processor of another model, if this one has no preprocessor_config.json. The same as
            `processor`, for images.
        processor: For a model object, or instead of the one beside the model: an image processor, a tokenizer, an
            `oochub.inputs.arrays.ArrayProcessor`, or the folder or Hub id of one. A model object without a processor
            takes arrays as they are.
        class_names: Names of the outputs, in order, of a model that does not say them: a,b,c or a file with a name a
            line. In Python a list. For a function or a module of PyTorch. The labels of the data are matched to them by
            name.
        transform: For such a model: a function from a PIL image to one float tensor (c, h, w), such as the `transforms`
            of torchvision or timm; or give image_processor.
        model_id: For such a model: its name in reports. A module is cached by its weights and code; a plain function
            only by this name, so change it when the function changes.
        preprocessing: auto: fused (fast) if it agrees with the model's own processor, otherwise processor. "fused"
            decodes and resizes in one pass, within one gray level of the processor; "processor" is the model's own.
            "auto" uses "fused" if pixels are within one gray level and logits within 2% of their range on a few images
            and noise, otherwise "processor"; the provenance says which was used, and what was measured. "draft" lets
            the decoder shrink large JPEGs first, which is faster and less exact; the report says by how much. For
            images only.
        images: Keep small images of the worst mistakes. JPEGs of a few of each group, for the report.
        odin: Also store the logits of images perturbed by ODIN with this epsilon, usually 0.0014. Stored as
            `odin_logits`. The step is in scaled pixels, epsilon / std if the processor normalizes; see
            `oochub.models.extraction`.
        odin_temperature: Temperature of ODIN's gradient. The same as that of the detector `odin`, which reads the
            column.
        zoom: Also store the logits of images zoomed by this factor, above 1, for --probe zoom. For example 1.2. Stored
            as `zoom_logits` (with `features` also `zoom_features`, with `odin` also `zoom_odin_logits`); the network
            sees the center of each image, 1 / zoom of each side.
        device: Device: auto (a GPU if there is one), cpu, cuda, cuda:1, mps. Or a `torch.device`.
        dtype: Precision of the network; auto is float32. int8 needs a runtime and images to calibrate on. By torch's
            autocast; logits are stored in float32. The provenance says how far the first rows move from float32. "int8"
            is for the runtimes onnxruntime and openvino.
        calibrate_on: Images that int8 is calibrated on: a split that is not scored, or a folder. Or a
            `datasets.Dataset`. At most 192 of them are drawn at random by a fixed seed; a third of these measure how
            far the answers move from float32, which the page says. An image that is scored is an error.
        runtime: What runs the network on a processor; auto is the fastest installed, by the first rows. The network is
            exported once into the cache, and refused if its logits on the first rows are not torch's within 1e-4 of
            their range. The provenance names runtime and version. Extras: `oochub[onnx]`, `oochub[openvino]`.
        limit: Predict at most this many rows of each split, chosen at random, for a quick look. The seed is fixed. For
            a stream they are the first rows. Every report says so.
        skip_broken: Leave out and count images that cannot be read. Also those that are refused for safety. Otherwise
            the first one is an error.
        num_workers: Threads that decode images; default one per core, 0 decodes between passes. They decode ahead of
            the network, for a data set or a stream. Rows and numbers stay the same.
        threads: Threads of the network on a processor; default by its size and the cores that are free. The logits are
            the same bits with any number. Other programs and the threads that decode need cores too.
        compile: Compile the network first. Pays off for many rows, needs a C++ compiler, stores logits only. By torch,
            in half a minute or more (on a GPU by triton); not with features or odin. The provenance says how far logits
            move.
        cache: Reuse cached predictions if nothing has changed. Predictions by a model folder or Hub id are cached, and
            reused if model, data, options and versions are the same: no model runs, and `provenance["when"]["cached"]`
            says when it did. A model object and a stream always run. See docs/cache.md.
        engine: local: this process, or those of torchrun, not for a repair; ray: a Ray cluster. Each process of
            torchrun has its own device and its own parts. On a cluster (`pip install 'oochub[ray]'`) tasks read and
            actors hold the model. Rows, ids and numbers stay the same.
        ray_address: Address of a Ray cluster; without it one is started on this machine. For example "auto".
        actors: Copies of the model in the cluster; default one per GPU, or one per CPU without GPUs.
        **settings: Settings of the mode; see its class, `oochub.get("mode", "head")`.

    Returns:
        The Predictions; also written to `out`.

    Raises:
        OochubError: An unknown split, mode or setting, a model whose classes are not those of the data set, an output
            that cannot be written, a row that cannot be read (its split and id are named), an odin or zoom out of range
            or for a model that does not read images, a device that is not here, a dtype whose logits overflow.
    """
    given = locals()
    how, asked = prediction_records({name: given[name] for name in given if name not in _OWN} | settings)
    return predict_splits(model, dataset, how, asked, out=out)


def prediction_records(keywords: Mapping[str, Any]) -> tuple[ModelSettings, PredictionSettings]:
    """The options of `oochub.predict` as records; what is an option of neither is a setting of the mode.

    >>> how, asked = prediction_records({"mode": "head", "limit": 8, "restrict": True})
    >>> how.of_mode, asked.limit
    ({'restrict': True}, 8)
    """
    how, asked = ModelSettings.of(keywords), PredictionSettings.of(keywords)
    known = {*how.keywords(), *asked.keywords()}
    return replace(how, mode_options={name: keywords[name] for name in keywords if name not in known}), asked


def predict_splits(
    model: Any,
    dataset: Any,
    how: ModelSettings,
    asked: PredictionSettings,
    *,
    out: str | Path | None = None,
    recall: CommandQuestion | None = None,
) -> Predictions:
    """What `oochub.predict` gives, with the options as records.

    Args:
        model: See `predict`; so are the others.
        dataset: What is predicted.
        how: How the model answers.
        asked: The other options.
        out: The file to write.
        recall: The question of a command, which notes the key of the predictions.

    Raises:
        OochubError: See `predict`.
    """
    asked = replace(asked, device=choose_device(asked.device))
    ranks = Ranks.here()
    _check_settings(asked, out, ranks)
    cluster = RayEngine.of(asked, ranks)
    dataset = drop_build_column(unpack_samples(check_data_set(dataset)))
    parts = choose_splits(dataset, None if asked.splits is None else list(asked.splits))
    sample = Splits(parts, ()) if asked.limit is None else draw_sample(parts, asked.limit)
    some = next(iter(sample.parts.values()))
    if cluster is not None and asked.compile:
        raise OochubError("A compiled network stays in its process, but Ray's actors have their own. Leave out one.")
    if cluster is not None and not isinstance(some, datasets.Dataset):
        raise OochubError(
            "Ray reads rows by number, and rows of a stream have none. Leave the engine out for a stream."
        )
    source = ModelSource(wrap_callable(model, how, asked))
    changes = {"odin": asked.odin, "zoom": asked.zoom, "skip_broken": asked.skip_broken or None}
    kinds = find_input_kinds(some)
    if len(kinds) == 1:  # said before the model is looked for
        check_changes(kinds[0], **changes)
    chosen = choose_mode(source, how.mode, how.of_mode, some)
    inputs = source.inputs(
        some,
        kind=chosen.reads,
        processor=how.image_processor if how.processor is None else how.processor,
        preprocessing=asked.preprocessing,
        **changes,
    )
    inputs.num_workers = asked.num_workers
    _check_one_pass(chosen, asked)
    parts = check_splits(sample.parts, read=inputs.column, reserved=(*RESERVED, *SUMMARY))
    every = dataset if isinstance(dataset, Mapping) else sample.parts
    calibration = None
    if asked.calibrate_on is not None:
        calibration = choose_calibration_rows(asked.calibrate_on, dataset, parts, inputs.column)
    record = _record_settings(how, asked, parts, calibration)
    key = cache_key(source, inputs, {**every, **parts}, mode=chosen, settings=record)
    if recall is not None and key is not None:
        read = (*every.values(), *parts.values())
        recall.note(key, filter(None, (path for part in read for path in list_image_paths(part, inputs.column))))
    target = None if out is None or str(out) in STREAMS else Path(out).expanduser()
    kept = PredictionCache(key if asked.cache else None)
    ranks.join(asked.device.type)
    found = kept.found(out) if ranks.is_first else None
    if ranks.values(found is not None)[0]:
        return found or Predictions.load(str(target))
    with leave_as_it_was(model), leave_as_it_was(asked.features):
        data = PredictedData(some, every, asked.device, asked.rows_a_pass, asked.cache, asked.skip_broken)
        opened, answered = _open_mode(chosen, source, inputs, data, how, asked, Splits(parts, sample.notes))
        probe = {name: values.to(asked.device) for name, values in inputs.probe().items()}
        # a layer between the two would give something else, and a pass of words has no two that belong together
        is_plain = isinstance(asked.features, bool) and opened.is_one_pass
        with fold_batch_norm(opened.network, probe) if is_plain else nullcontext(0) as pairs:
            predictions = run_model(
                *(opened, inputs, answered.parts, asked),
                notes=answered.notes,
                computed={"folded": pairs} | ({"key": key} if asked.cache and key is not None else {}),
                key=key,
                target=target,
                ranks=ranks,
                engine=cluster,
                calibration=calibration,
            )
        if out is not None and target is None:
            predictions.save(out)
        if ranks.is_first:
            kept.keep(predictions)
        return predictions


def _check_settings(asked: PredictionSettings, out: str | Path | None, ranks: Ranks) -> None:
    """Refuses what cannot be done on this machine, and outputs that cannot be written, before data are read."""
    if asked.compile:
        check_compiler(asked.device)
    check_runtime(asked)
    warn_of_slow_dtype(asked.dtype, asked.device)
    if out is not None:
        check_writable(out, kind=PREDICTIONS)
    if not ranks.is_alone and (out is None or str(out) in STREAMS):
        raise OochubError(
            f"{ranks.count} processes predict into one file: name it with {choose_wording('out=', '--out')}."
        )
    has_place = out is None or Path(out).suffix.lower() == ".parquet"  # a stream has no place beside it
    if asked.features is not False and not has_place:
        raise OochubError("The head is stored beside the predictions, so with features, out must be a .parquet file.")


def _record_settings(
    how: ModelSettings, asked: PredictionSettings, parts: Iterable[str], calibration: CalibrationRows | None
) -> dict[str, Any]:
    """The settings that answers depend on, for the key of the cache."""
    record = {**asked.record(), "features": describe_features(asked.features), "splits": list(parts), **how.of_mode}
    if calibration is not None:
        record["calibrate_on"] = [calibration.described, calibration.digest]
    if how.model_file is not None:
        record["model_file"] = split_model_file(how.model_file)[0]  # a digest of all that stands in it
    return record


def _open_mode(
    chosen: type[Mode],
    source: ModelSource,
    inputs: Input,
    data: PredictedData,
    how: ModelSettings,
    asked: PredictionSettings,
    sample: Splits,
) -> tuple[Mode, Splits]:
    """Opens the model, and gives it with the rows of a sample whose classes it knows."""
    opened = chosen(source, inputs, data, **how.of_mode)
    if inputs.settle(data.part, opened.network, batch_size=asked.rows_a_pass, device=asked.device):
        opened = chosen(source, inputs, data, **how.of_mode)
    reserved = filter(None, (*opened.kind.columns, opened.kind.text_column))
    parts = check_splits(sample.parts, read=inputs.column, reserved=reserved)
    if (asked.odin is not None or asked.zoom is not None) and not opened.kind.has_confidence:
        options = choose_wording("odin= and zoom=", "--odin and --zoom")
        raise OochubError(f"{options} apply to models with one class per row, but this one gives {opened.kind.name}.")
    answered = leave_out_classes(parts, opened.left_out)
    return opened, Splits(answered.parts, (*sample.notes, *answered.notes))


def _check_one_pass(mode: type[Mode], asked: PredictionSettings) -> None:
    """Refuses what needs a network that is one pass, for a mode that scores or writes words."""
    if mode.is_one_pass or not (asked.compile or asked.runtime != "torch"):
        return
    flag = "compile=True", "--compile"
    option = choose_wording(*(flag if asked.compile else (f'runtime="{asked.runtime}"', f"--runtime {asked.runtime}")))
    raise OochubError(
        f"{option} needs one pass of the network for each batch, but the mode {mode.__module__.rpartition('.')[2]} "
        "makes several. Leave it out."
    )
