"""Repairs a model that relies on context: its last layer is fitted anew, and what that changes is proven on other rows.

The rows stand in three parts. One fits new heads, one chooses among them, and one, which neither the model nor any
choice has seen, proves the chosen one beside the model. See `oochub.repairs`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import datasets
import numpy as np
from torch import nn

from oochub.context_finder import ContextWay
from oochub.context_finding.context_columns import find_contexts, make_way_for_model
from oochub.data.load import open_data
from oochub.errors import OochubError, choose_wording
from oochub.models.callable_model import leave_as_it_was, wrap_callable
from oochub.models.mode import choose_mode, list_mode_options
from oochub.models.model_source import ModelSource
from oochub.models.onnx_file import OnnxFile, is_onnx_file
from oochub.output import find_output_of_features
from oochub.prediction.predict import predict_splits
from oochub.prediction.predictions import Predictions
from oochub.prediction.ray_engine import RayEngine
from oochub.process.ranks import Ranks
from oochub.records.origin_records import provenance
from oochub.repairs.choose_head import ChosenHead, choose_head, choose_network, refit_plainly
from oochub.repairs.collect_images import (
    UnlabeledImages,
    check_collecting,
    collect_rows,
    predict_unlabeled,
    rank_unlabeled,
)
from oochub.repairs.fine_tune import FineTuning
from oochub.repairs.prove_repair import (
    NO_GAP,
    Judgment,
    Proof,
    compare_proof,
    judge_proof,
    judge_without_gap,
    measure_gap,
    measure_gap_on_unseen,
    prove_repair,
)
from oochub.repairs.repair import Repair, RepairDraw
from oochub.repairs.repair_data import (
    RepairRows,
    RowParts,
    check_challenge,
    check_kind,
    check_sides,
    check_some_side,
    count_parts,
    describe_left_out,
    divide_rows,
    find_sides,
    find_trained_splits,
)
from oochub.repairs.repaired_folder import RepairedFolder
from oochub.report.report_commands import write_command
from oochub.settings import listing, with_options, without
from oochub.settings.context_settings import ContextSettings, MeasurementSettings
from oochub.settings.data_settings import DataSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.option import Settings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.settings.repair_settings import RepairSettings
from oochub.storage.artifacts import REPAIR
from oochub.storage.files import lock_target, make_scratch_folder


@with_options("repair", others=list_mode_options, contexts=str | ContextWay | None)
def repair(
    model: Any,
    source: Any,
    *,
    data: Annotated[DataSettings, without("revision")],
    out: str | Path | None = None,
    found: ContextSettings,
    settings: RepairSettings,
    how: Annotated[ModelSettings, listing()],
    asked: Annotated[PredictionSettings, listing()],
    **prediction: Any,
) -> Repair:
    """Retrain a model's last layer so that it relies less on context, and test the result on held-out rows.

    Args:
        model: Folder or Hub id of a classifier, or the model itself with `image_processor=`; with
            `mode="linear_probe"` any image encoder; or a `torch.nn.Module` with `class_names=` and `transform=`, which
            is stored only if it is that of `--model-file`. It is never changed.
        source: A benchmark, a folder of images, files, an id on the Hub, or a data set that is loaded already, see
            `oochub.load`.
        data: The options of `DataSettings`.
        out: A folder for the repaired model, the record, the page, and the predictions before and after. What stands
            there and is of the same model, data and settings is not made again. None writes nothing.
        found: The options of `ContextSettings`.
        settings: The options of `RepairSettings`.
        how: Its options are among `**prediction`.
        asked: Its options are among `**prediction`.
        **prediction: Other arguments of `oochub.predict`: mode, batch_size, device, dtype, limit, ...

    Returns:
        The Repair.

    Raises:
        OochubError: A model or data that cannot be read or do not fit each other; a model without a head that can be
            replaced; data that say nothing of context, or whose rows the model was all trained on.

    >>> import tempfile
    >>> from oochub.studies.demo.example import example
    >>> images, model = example(tempfile.mkdtemp() + "/example", size=40)
    >>> made = repair(model, images, label="breed", context="background", draws=1)
    >>> made.outcome in ("better", "no_worse", "not_shown", "nothing_to_repair"), len(made.parts)
    (True, 5)
    """
    how = replace(how, mode_options=prediction or how.mode_options)
    with leave_as_it_was(model):
        _check_asked(asked)
        _check_processes(asked)
        check_collecting(settings, has_out=out is not None)
        _check_callable(model, how, settings, has_out=out is not None)
        opened = ModelSource(wrap_callable(model, how, asked))
        if isinstance(file := getattr(opened.given, "function", None), OnnxFile):
            file.last_layer  # noqa: B018  it says that there is none
        folder = None if out is None else RepairedFolder.at(out, given=opened.given)
        opened.check_place()
        way = None if found.contexts is None else make_way_for_model(found, opened, how)
        loaded = open_data(source, data, in_place=True, guess=("label", "context") if way is None else ("label",))
        if way is None:
            loaded.check_context()
        splits = _check_no_stream(loaded.splits)
        first = next(iter(splits.values()))
        check_kind(find_output_of_features(first.features or {}) or "no label")
        if way is None:
            check_challenge(first.column_names or ())
            check_some_side(side for part in splits.values() for side in part.unique("challenge"))
        _check_mode(opened, how, first)
        if way is not None:
            measurement = MeasurementSettings(
                skip_broken=asked.skip_broken,
                seed=settings.seed,
                engine=asked.engine,
                ray_address=asked.ray_address,
                actors=asked.actors,
            )
            splits = find_contexts(splits, way, choose_on=found.choose_on, asked=measurement)
        images = None if settings.unlabeled is None else UnlabeledImages.open(settings.unlabeled)
        command = _write_command(model, source, how, (data, how, asked, found, settings), out)
        asked = replace(asked, features=True, splits=tuple(asked.splits or splits))
        with nullcontext() if folder is None else lock_target(folder.path, kind=REPAIR):
            predictions = predict_splits(opened, splits, how, asked, out=None if folder is None else folder.features)
            key = _make_key(predictions, found, settings)
            answers = None
            if images is not None and folder is not None:
                answers = predict_unlabeled(opened, images, how, asked, labeled=splits, out=folder.images)
            stored = None if folder is None else folder.read(key)
            if stored is not None and folder is not None:
                folder.write_page(stored)
            else:
                with _open_runs(folder, key) if settings.deep else nullcontext() as runs:
                    is_probe = predictions.metadata.model.mode == "linear_probe"
                    tuning = FineTuning.of(opened, how, asked, splits, Path(runs), is_probe=is_probe) if runs else None
                    stored, proof, chosen = repair_predictions(predictions, settings, tuning)
                    stored = replace(stored, command=command, key=key)
                    if settings.collect:
                        stored = replace(stored, collection=collect_rows(predictions, settings))
                    if folder is not None:
                        stored = folder.write(stored, proof, chosen, source=opened, how=how, asked=asked, data=splits)
            if images is not None and answers is not None and folder is not None and stored.collection is not None:
                ranked = rank_unlabeled(stored.collection, predictions, settings, images, answers, folder.ranking)
                stored = folder.write_again(replace(stored, collection=ranked))
            return stored


def repair_predictions(
    predictions: Predictions, settings: RepairSettings, tuning: FineTuning | None = None
) -> tuple[Repair, Proof | None, ChosenHead | None]:
    """The record of a repair, and of the first division the proof and what was chosen; no model is written.

    Args:
        predictions: Predictions of all rows, with features.
        settings: How the model is repaired.
        tuning: What fine-tunes the whole network; None for last layers alone.

    Raises:
        OochubError: Rows that say nothing of context, or too few of them.
    """
    metadata, lost = predictions.metadata, settings.at_most_lost / 100
    trained = find_trained_splits(metadata)
    shared: dict[str, Any] = {
        "at_most_lost": lost,
        "notes": metadata.notes,
        "provenance": {**provenance(seed=settings.seed), "model": metadata.model.id, "data": metadata.config},
    }
    sides = find_sides(predictions, trained)
    if sides is not None:
        if not sides.contexts:
            reason = (
                f"None of the {sides.tested} contexts that could be tested is shown to matter to the model on the rows "
                "that do not prove."
            )
            return Repair(outcome="not_shown", reason=reason, gap=NO_GAP, parts=(), **shared), None, None
        predictions, shared = sides.predictions, shared | {"contexts": sides.contexts}
    rows = RepairRows.of(predictions)
    seeds = range(settings.seed, settings.seed + settings.draws)
    divisions = [divide_rows(rows, trained=trained, seed=number) for number in seeds]
    main = divisions[0]
    gap = measure_gap(rows, main)
    shared |= {"gap": gap, "parts": count_parts(rows, main), "notes": (*metadata.notes, *describe_left_out(main))}
    if not gap.high < 0:
        gap = measure_gap_on_unseen(rows, main)
        judged = judge_without_gap(gap, out=int(rows.is_out[~main.seen].sum()), at_most_lost=lost)
        return Repair(**judged._asdict(), **(shared | {"gap": gap})), None, None
    check_sides(rows, main)
    heads = [choose_head(rows, division, at_most_lost=lost, seed=settings.seed) for division in divisions]
    if tuning is not None:
        absent = tuning.explain_absence(rows, main)
        shared |= {"notes": (*shared["notes"], absent)} if absent else {}
        heads = [
            _choose_deep(tuning, rows, parts, head, at_most_lost=lost, seed=seed)
            for seed, parts, head in zip(seeds, divisions, heads, strict=True)
        ]
    proofs = [_prove(rows, parts, head, seed=settings.seed) for parts, head in zip(divisions, heads, strict=True)]
    shared |= {
        "tried": heads[0].tried,
        "temperature": heads[0].temperature,
        "draws": tuple(
            RepairDraw(
                seed=seed,
                method=head.chosen.method,
                title=head.chosen.title,
                settings=head.chosen.settings,
                inside=proof and proof.inside,
                outside=proof and proof.outside,
            )
            for seed, head, proof in zip(seeds, heads, proofs, strict=True)
        ),
    }
    proof = proofs[0]
    if proof is None:
        judged = Judgment("not_shown", "Nothing that was tried is better than the model on the rows that choose.")
        return Repair(**judged._asdict(), **shared), None, None
    judged = judge_proof(proof.inside, proof.outside, at_most_lost=lost)
    return Repair(**judged._asdict(), comparison=compare_proof(proof), **shared), proof, heads[0]


def _choose_deep(
    tuning: FineTuning, rows: RepairRows, parts: RowParts, made: ChosenHead, *, at_most_lost: float, seed: int
) -> ChosenHead:
    """Networks that go on from the chosen head beside it; where none was, they go on from the model's own."""
    if tuning.explain_absence(rows, parts):
        return made
    head = made.head or rows.predictions.head or refit_plainly(rows, parts.fit)
    networks = tuning.train(rows, parts, head, seed=seed)
    return choose_network(made, networks, rows, parts, at_most_lost=at_most_lost)


def _prove(rows: RepairRows, parts: RowParts, made: ChosenHead, *, seed: int) -> Proof | None:
    """What was chosen beside the model; None if that is the model's own head."""
    if made.network is not None:
        return prove_repair(rows, parts.prove, made.network.prove / np.float32(made.temperature or 1), seed=seed)
    if made.head is None:
        return None
    return prove_repair(rows, parts.prove, rows.logits(made.head, parts.prove), seed=seed)


def _open_runs(folder: RepairedFolder | None, key: str | None) -> AbstractContextManager[str | Path]:
    return make_scratch_folder() if folder is None else folder.runs(key)


def _make_key(predictions: Predictions, found: ContextSettings, settings: RepairSettings) -> str | None:
    """What a repair depends on; None for a model or data that nothing stands for."""
    predicted = predictions.metadata.provenance.get("key")
    if predicted is None:
        return None
    content = [predicted, predictions.digest, found.words(), settings.record(), version("oochub")]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:40]


def _write_command(
    model: Any, source: Any, how: ModelSettings, records: Sequence[Settings], out: str | Path | None
) -> str:
    """What to type for the same repair; "" if a model or data in memory was given. Paths are named by their end."""
    named = [source] if how.model_file else [model, source]
    if not all(isinstance(place, str | Path) for place in named):
        return ""
    typed = [[name for name in record.given() if name not in how.said_by_file] for record in records]
    words = [word for record, names in zip(records, typed, strict=True) if names for word in record.words(*names)]
    words = [*map(str, named), *words, "--out", str(out or "repaired")]
    return write_command("repair", *(Path(word).name if Path(word).is_absolute() else word for word in words))


def _check_asked(asked: PredictionSettings) -> None:
    """Refuses what has no features, or features that are not those of the network that is written."""
    for name in ("features", "compile", "odin", "zoom", "calibrate_on"):
        if name in asked.given():
            flag = f"--{name.replace('_', '-')}"
            raise OochubError(
                f"Repair always uses the features before the last layer. Remove {choose_wording(f'{name}=', flag)}."
            )


def _check_processes(asked: PredictionSettings) -> None:
    """Refuses a cluster that is not there, and processes of torchrun, which would all write one folder."""
    ranks = Ranks.here()
    RayEngine.of(asked, ranks)
    if not ranks.is_alone:
        engine = choose_wording('engine="ray"')
        raise OochubError(
            f"A repair is made by one process, but torchrun started {ranks.count}. Start it without torchrun; its "
            f"features are extracted by several with {engine}."
        )


def _check_no_stream(splits: Mapping[str, Any]) -> datasets.DatasetDict:
    """The splits, whose rows are read again by their number."""
    if not all(isinstance(part, datasets.Dataset) for part in splits.values()):
        raise OochubError(
            "Repair reads some rows twice, which a stream does not allow. Load the data without streaming=True."
        )
    return datasets.DatasetDict(splits)


_WAY_OUT = (
    'repair it as a linear probe on an encoder with mode="linear_probe", or train a classifier with oochub.train',
    "repair it as a linear probe on an encoder with --mode linear_probe, or train a classifier with `oochub train`",
)


def _check_callable(model: object, how: ModelSettings, settings: RepairSettings, *, has_out: bool) -> None:
    """Refuses a function, which has no last layer, and what could not be written or fine-tuned.

    Raises:
        OochubError: A function; a module that no file makes again; an ONNX file with a transform; either with `deep`.
    """
    is_onnx = is_onnx_file(model)
    is_own = is_onnx or (not isinstance(model, str | Path) and callable(model) and not hasattr(model, "config"))
    if is_own and not is_onnx and not isinstance(model, nn.Module):
        file = choose_wording("a module of PyTorch", "a module of PyTorch with --model-file")
        raise OochubError(
            f"A repair replaces the last layer, but a function has none that can be replaced. Pass {file} or an ONNX "
            f"file, or if the model stands as a folder of transformers, {choose_wording(*_WAY_OUT)}."
        )
    if is_own and settings.deep:
        raise OochubError(
            f"{choose_wording('deep=True', '--deep')} fine-tunes models of transformers only. Remove it, so that the "
            "last layer alone is retrained."
        )
    if is_own and not is_onnx and has_out and how.model_file is None:
        raise OochubError(
            "A repaired module is stored as its new last layer beside the file that makes the module, and a module in "
            f"memory has none. Remove {choose_wording('out=')}, or write such a file and name it with --model-file on "
            "the command line."
        )
    if is_onnx and has_out and how.transform is not None:
        raise OochubError(
            "A repaired ONNX file is stored with its image processor, and a transform is none. Pass "
            f"{choose_wording('image_processor=')}, or remove {choose_wording('out=')}."
        )


def _check_mode(source: ModelSource, how: ModelSettings, part: Any) -> None:
    """Refuses a model that answers without a last layer."""
    mode = choose_mode(source, how.mode, how.of_mode, part).__module__.rpartition(".")[2]
    if mode not in ("head", "linear_probe"):
        raise OochubError(
            f"A repair replaces a model's last layer, but the mode {mode} answers without one. If the model sees "
            f"images, {choose_wording(*_WAY_OUT)}."
        )
