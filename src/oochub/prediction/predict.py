"""Runs a model over the splits of a data set, once; everything after works on the file it leaves."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq

from oochub.errors import OochubError, choose_wording
from oochub.input import Input, check_changes, find_input_kinds
from oochub.models.acceleration import check_compiler, choose_device, fold_batch_norm, warn_of_slow_dtype
from oochub.models.cache_key import cache_key
from oochub.models.callable_model import leave_as_it_was, split_model_file
from oochub.models.feature_reader import describe_features
from oochub.models.mode import Mode, PredictedData, choose_mode
from oochub.models.model_source import ModelSource
from oochub.models.remembered_checks import MeasuredNetwork
from oochub.models.runtimes.exported_network import check_runtime
from oochub.models.runtimes.quantization import CalibrationRows, choose_calibration_rows
from oochub.prediction.prediction_data import (
    Splits,
    check_data_set,
    check_splits,
    choose_splits,
    draw_sample,
    leave_out_classes,
)
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import SUMMARY, Manifest, is_one_file
from oochub.prediction.ray_engine import RayEngine
from oochub.prediction.run_model import run_model
from oochub.process.ranks import Ranks
from oochub.records.build_record import drop_build_column, unpack_samples
from oochub.records.metadata import RESERVED
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.storage.artifacts import PREDICTIONS
from oochub.storage.cache import keep, read_kept
from oochub.storage.files import STREAMS, check_writable
from oochub.storage.reading import parse_json


def predict_splits(
    source: ModelSource,
    dataset: Any,
    how: ModelSettings,
    asked: PredictionSettings,
    *,
    out: str | Path | None = None,
) -> Predictions:
    """What `oochub.predict` gives for data in memory, with the options as records.

    Args:
        source: The model.
        dataset: See `oochub.predict`; so are the other options.
        how: How the model answers.
        asked: The other options.
        out: The file to write.

    Raises:
        OochubError: See `oochub.predict`.
    """
    asked = replace(asked, device=choose_device(asked.device))
    ranks = Ranks.here()
    cluster = RayEngine.of(asked, ranks)
    _check_settings(asked, out, ranks)
    dataset = drop_build_column(unpack_samples(check_data_set(dataset)))
    parts = choose_splits(dataset, None if asked.splits is None else list(asked.splits))
    sample = Splits(parts, ()) if asked.limit is None else draw_sample(parts, asked.limit)
    some = next(iter(sample.parts.values()))
    if cluster is not None and asked.compile:
        raise OochubError(
            "compile cannot be combined with engine='ray': a compiled network stays in its process. Remove one of them."
        )
    if cluster is not None and not isinstance(some, datasets.Dataset):
        raise OochubError("Ray reads rows by number, and rows of a stream have none. Remove the engine for a stream.")
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
    target = None if out is None or str(out) in STREAMS else Path(out).expanduser()
    ranks.join(asked.device.type)
    kept = _find_kept(key, out) if key is not None and asked.cache and ranks.is_first else None
    if ranks.values(kept is not None)[0]:
        return kept or Predictions.load(str(target))
    with leave_as_it_was(source.given), leave_as_it_was(asked.features):
        data = PredictedData(some, every, asked.device, asked.rows_a_pass, asked.cache, asked.skip_broken)
        opened, answered, measured = _open_mode(
            *(chosen, source, inputs, data, how, asked, Splits(parts, sample.notes)), key is not None and asked.cache
        )
        probe = {name: values.to(asked.device) for name, values in inputs.probe().items()}
        # a layer between the two would give something else, and a pass of words has no two that belong together
        is_plain = isinstance(asked.features, bool) and opened.is_one_pass
        with fold_batch_norm(opened.network, probe, measured=measured) if is_plain else nullcontext(0) as pairs:
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
        if key is not None and asked.cache and ranks.is_first and is_one_file(predictions.rows):
            keep("predictions", f"{key}.parquet", predictions.save, what="The predictions")  # parts lie at `out` alone
        return predictions


def _find_kept(key: str, out: str | Path | None) -> Predictions | None:
    """The predictions of a key in `out`, which then stays as it is, or in the cache; None if there are none.

    Their `provenance["when"]["cached"]` says since when.

    Raises:
        OochubError: `out` cannot be written.
    """
    there = None
    if out is not None:
        with suppress(OSError, KeyError, TypeError, ValueError):
            there = _read_kept(key, Path(out).expanduser())
    kept = there or read_kept("predictions", f"{key}.parquet", partial(_read_kept, key))
    if kept is None:
        return None
    when = kept.metadata.provenance["when"]
    record = {**kept.metadata.provenance, "when": {**when, "cached": when.get("cached", when["created"])}}
    kept = replace(kept, metadata=replace(kept.metadata, provenance=record))
    if out is not None and there is None:
        kept.save(out)
    return kept


def _read_kept(key: str, file: Path) -> Predictions:
    """What a file holds, with its head in memory.

    Raises:
        OSError: There is none. A KeyError, TypeError or ValueError says that it is not whole, or of another key.
    """
    stored = None if file.is_dir() else pq.read_schema(file).metadata[b"oochub"]
    about = Manifest.load(file).metadata if stored is None else parse_json(stored, name=str(file))
    if about["provenance"]["key"] != key or "created" not in about["provenance"]["when"]:
        raise ValueError(file)
    predictions = Predictions.load(file)
    head = predictions.head
    has_head = head is not None or "features" not in predictions.column_names or "head" in about["provenance"]
    if predictions.integrity != "checked" or not has_head:
        raise ValueError(file)
    return replace(predictions, integrity=None, stored_head=head)


def _check_settings(asked: PredictionSettings, out: str | Path | None, ranks: Ranks) -> None:
    """Refuses what cannot be done on this machine, and outputs that cannot be written, before data are read."""
    if asked.compile:
        check_compiler(asked.device)
    check_runtime(asked)
    warn_of_slow_dtype(asked.dtype, asked.device)
    if out is not None:
        check_writable(out, kind=PREDICTIONS)
    if not ranks.is_alone and (out is None or str(out) in STREAMS):
        raise OochubError(f"{ranks.count} processes predict into one file: name it with {choose_wording('out=')}.")
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
    is_kept: bool,
) -> tuple[Mode, Splits, MeasuredNetwork]:
    """Opens the model, and gives it with the rows of a sample whose classes it knows, and what is known of it."""
    opened = chosen(source, inputs, data, **how.of_mode)
    measured = MeasuredNetwork(opened.network, kept=is_kept)
    if inputs.settle(data.part, measured, batch_size=asked.rows_a_pass, device=asked.device):
        opened = chosen(source, inputs, data, **how.of_mode)
        measured = MeasuredNetwork(opened.network, kept=is_kept)
    reserved = filter(None, (*opened.kind.columns, opened.kind.text_column))
    parts = check_splits(sample.parts, read=inputs.column, reserved=reserved)
    if (asked.odin is not None or asked.zoom is not None) and not opened.kind.has_confidence:
        options = choose_wording("odin= and zoom=")
        raise OochubError(f"{options} apply to models with one class per row, but this one gives {opened.kind.name}.")
    answered = leave_out_classes(parts, opened.left_out)
    return opened, Splits(answered.parts, (*sample.notes, *answered.notes)), measured


def _check_one_pass(mode: type[Mode], asked: PredictionSettings) -> None:
    """Refuses what needs a network that is one pass, for a mode that scores or writes words."""
    if mode.is_one_pass or not (asked.compile or asked.runtime != "torch"):
        return
    flag = "compile=True", "--compile"
    option = choose_wording(*(flag if asked.compile else (f'runtime="{asked.runtime}"', f"--runtime {asked.runtime}")))
    raise OochubError(
        f"{option} needs one pass of the network for each batch, but the mode {mode.__module__.rpartition('.')[2]} "
        "makes several. Remove it."
    )
