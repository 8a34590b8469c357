"""Repairs a model that relies on context: its last layer is fitted anew, and what that changes is proven on new rows.

The rows stand in three parts. One fits new heads, one chooses among them, and one, which neither the model nor any
choice has seen, proves the chosen one beside the model. See `oochub.head_repair`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from oochub.data.load import load_columns
from oochub.data.user_data import check_context
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.compare import compare
from oochub.head_repair.choose_head import NONE, ChosenHead, choose_head
from oochub.head_repair.model_folder import write_repaired_model
from oochub.head_repair.prove_head import Proof, prove_head
from oochub.head_repair.repair_rows import RepairRows, check_columns
from oochub.head_repair.row_parts import FEWEST, RowParts, divide_rows
from oochub.models.callable_model import CallableModel, leave_as_it_was, wrap_callable
from oochub.models.mode import choose_mode
from oochub.models.model_source import ModelSource
from oochub.output import find_output_of_features
from oochub.prediction.predict import predict_splits, prediction_records
from oochub.prediction.prediction_data import check_data_set
from oochub.prediction.predictions import Predictions
from oochub.records.provenance import provenance
from oochub.records.report_records import ComparedNumber
from oochub.remote.check_source import check_source
from oochub.report.repair import Outcome, PartName, PartOfSplit, Repair, RepairDraw
from oochub.settings.data_settings import DataSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.settings.repair_settings import RepairSettings
from oochub.stats.estimate import Estimate
from oochub.stats.stratified_gap import stratified_gap
from oochub.storage.files import check_writable, lock_target

_POWER = ((1.960 + 0.842) / 1.960) ** 2  # more rows for 80% power than for an interval that just excludes 0
_MATTERS = 0.02  # a gap below this does not matter in practice, see `Benchmark.practical_gap`


def repair(
    model: Any,
    source: Any,
    *,
    label: str | None = None,
    context: str | None = None,
    group: str | None = None,
    image: str | None = None,
    usual: Mapping[str, Sequence[str]] | None = None,
    config: str | None = None,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    splits: Iterable[str] | None = None,
    out: str | Path | None = None,
    at_most_lost: float = 5.0,
    draws: int = 3,
    seed: int = 0,
    **prediction: Any,
) -> Repair:
    """Fits a model's last layer anew so that it relies less on context, and proves what that changes.

    Args:
        model: Folder or Hub id of a classifier, or the model itself with `image_processor=`.
        source: A benchmark, a folder of images, files, an id on the Hub, or a data set that is loaded already, see
            `oochub.load`.
        label: Own data: column of labels; default label. A field of a WebDataset's JSON is written `json.species`.
        context: Column of contexts, from which groups and challenges follow; default context. For a benchmark: the
            column to use as its context.
        group: Own data: column of groups; default group, or label/context.
        image: Own data: column of images or paths; default image. Without a name, the only column of images is taken.
        usual: The usual contexts of a class; default those more frequent with it. Such as {"dog": ["grass", "beach"]}.
        config: Configuration, if the source has several.
        data_dir: Raw folder; default $OOCHUB_DATA/<benchmark>.
        options: Option of the benchmark. By name, as `load_dataset` takes them.
        splits: Splits to use; default all.
        out: A folder for the repaired model, the record, and the predictions before and after. None writes nothing.
        at_most_lost: Points of accuracy that the repaired model may lose in usual contexts. Percentage points, of the
            estimate. A new head that loses more is neither chosen nor called better.
        draws: Ways to divide the rows: the first one decides, the others show how much the result depends on it.
        seed: Random seed for dividing the rows and for fitting.
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
    given = locals()
    how, asked = prediction_records({"splits": splits, **prediction})
    with leave_as_it_was(model):
        return repair_source(
            model, source, DataSettings.of(given), how, asked, settings=RepairSettings.of(given), out=out
        )


def repair_source(
    model: Any,
    source: Any,
    data: DataSettings,
    how: ModelSettings,
    asked: PredictionSettings,
    *,
    settings: RepairSettings,
    out: str | Path | None = None,
) -> Repair:
    """What `oochub.repair` gives, with the options as records.

    Args:
        model: See `repair`; so are the others.
        source: Data to repair with.
        data: Configuration of the source, and which of its columns are what.
        how: How the model answers.
        asked: How it predicts.
        settings: How it is repaired.
        out: The folder.

    Raises:
        OochubError: See `repair`.
    """
    model = wrap_callable(model, how, asked)
    folder = None if out is None else check_writable(Path(out) / "repair.json").parent
    if isinstance(model, str | Path):
        check_source(model, kind="model", hint="`oochub train` makes one.")
    if isinstance(source, str | Path):
        loaded = load_columns(str(source), data, in_place=True, guess=("label", "context"))
    else:
        loaded = check_data_set(source)
    check_context(loaded)
    parts = loaded if isinstance(loaded, Mapping) else {str(loaded.split or "train"): loaded}
    first = next(iter(parts.values()))
    check_columns(find_output_of_features(first.features or {}) or "no label", first.column_names)
    opened = ModelSource(model)
    _check_head(opened, how, first)
    chosen_splits = tuple(asked.splits) if asked.splits is not None else tuple(parts)
    asked = replace(asked, features=True, splits=chosen_splits)
    file = None if folder is None else folder / "features.parquet"
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        with lock_target(folder):
            return _repair(model, opened, loaded, first, how, asked, settings, file)
    return _repair(model, opened, loaded, first, how, asked, settings, file)


def _repair(
    model: Any,
    source: ModelSource,
    data: Any,
    first: Any,
    how: ModelSettings,
    asked: PredictionSettings,
    settings: RepairSettings,
    file: Path | None,
) -> Repair:
    predictions = predict_splits(
        model, dict(data) if len(data) > 1 else next(iter(data.values())), how, asked, out=file
    )
    rows, trained = RepairRows.of(predictions), _find_trained(predictions)
    lost = settings.at_most_lost / 100
    divisions = [
        divide_rows(
            rows.split,
            rows.groups["side"],
            rows.units,
            trained=trained,
            is_clustered=rows.cluster is not None,
            seed=each,
        )
        for each in range(settings.seed, settings.seed + settings.draws)
    ]
    main = divisions[0]
    shared: dict[str, Any] = {
        "gap": (gap := _measure_gap(rows, main)),
        "at_most_lost": lost,
        "parts": _count_parts(rows, main),
        "notes": predictions.metadata.notes,
        "provenance": provenance(seed=settings.seed, model=predictions.metadata.model.id),
    }
    margin = max(lost, _MATTERS)
    if not gap.high < 0:
        return _without_gap(gap, margin, rows, main, shared)
    _check_sides(rows, main)
    heads = [
        choose_head(rows, each, head=predictions.head, at_most_lost=lost, seed=settings.seed) for each in divisions
    ]
    proofs = [
        None if made.head is None else prove_head(rows, each.prove, made.head, seed=settings.seed)
        for each, made in zip(divisions, heads, strict=True)
    ]
    drawn = tuple(
        _describe_draw(settings.seed + k, made, proof)
        for k, (made, proof) in enumerate(zip(heads, proofs, strict=True))
    )
    proof, chosen = proofs[0], heads[0]
    shared |= {"tried": chosen.tried, "draws": drawn, "temperature": chosen.temperature}
    if proof is None or chosen.head is None:
        reason = "No new head is better than the model's own on the rows that choose."
        return Repair(outcome="not_shown", reason=reason, **shared)
    outcome, reason, needed = judge(proof.inside, proof.outside, lost)
    made = Repair(
        outcome=outcome,
        reason=reason,
        needed=needed,
        comparison=compare(proof.before, proof.after, metric="accuracy"),
        **shared,
    )
    if file is not None:
        proof.before.save(file.with_name("before.parquet"))
        proof.after.save(file.with_name("after.parquet"))
        if outcome == "better":
            inputs = source.inputs(
                first,
                processor=how.image_processor if how.processor is None else how.processor,
            )
            target = file.with_name("model")
            write_repaired_model(
                target, source, inputs, chosen.head, class_names=predictions.class_names, card="---\n---\n"
            )
            made = replace(made, model=target.name)
        made.save(file.with_name("repair.json"))
    return made


def judge(inside: ComparedNumber, outside: ComparedNumber, lost: float) -> tuple[Outcome, str, int | None]:
    """The outcome of a proof, one sentence that says why, and the rows out of context that would show it.

    Args:
        inside: Accuracy in context: before, after, and the paired difference.
        outside: The same out of context.
        lost: What may be lost in context, a share.
    """
    there, here = outside.difference, inside.difference
    if here < -lost:
        reason = f"It loses {-100 * here:.1f} points in usual contexts, more than the {100 * lost:g} that are allowed."
        return "not_shown", reason, None
    if there.low > 0:
        return "better", "", None
    needed = _count_needed(there, float(there)) if there > 0 else None
    if there.low > -lost and here.low > -lost:
        return "no_worse", "It is no worse by the margin, but not shown to be better in unusual contexts.", needed
    return "not_shown", "The interval of the difference in unusual contexts includes 0.", needed


def _count_needed(estimate: Estimate, size: float) -> int | None:
    """Rows at which an interval of this kind would exclude 0 in 4 of 5 samples, if the true size is this."""
    half = (estimate.high - estimate.low) / 2
    if not math.isfinite(half) or size == 0:
        return None
    return math.ceil(estimate.n * _POWER * (half / size) ** 2)


def _without_gap(gap: Estimate, margin: float, rows: RepairRows, parts: RowParts, shared: Mapping[str, Any]) -> Repair:
    if gap.low > -margin:
        reason = f"Any gap is smaller than {100 * margin:g} points."
        return Repair(outcome="nothing_to_repair", reason=reason, **shared)
    out = int(rows.is_out[np.union1d(parts.fit, parts.choose)].sum())
    half = (gap.high - gap.low) / 2
    needed = math.ceil(out * (half / margin) ** 2 * _POWER) if math.isfinite(half) else None
    reason = "The rows that fit and choose do not show that the model does worse in unusual contexts."
    return Repair(outcome="not_shown", reason=reason, needed=needed, **shared)


def _measure_gap(rows: RepairRows, parts: RowParts) -> Estimate:
    """Accuracy out of context minus in context, by class, on rows that do not prove.

    A model may know rows that it was trained on by heart, so the gap is looked for on the others first, then on all.
    """
    every = np.union1d(parts.fit, parts.choose)
    unseen = every[~parts.seen[every]]
    right = rows.predictions.prediction == rows.label
    gaps = []
    for some in (unseen, every):
        if len(some):
            cluster = None if rows.cluster is None else rows.cluster[some]
            found = stratified_gap(right[some], rows.is_out[some], rows.label[some], cluster=cluster).estimate
            if found.high < 0:
                return found
            gaps.append(found)
    return gaps[-1]


def _count_parts(rows: RepairRows, parts: RowParts) -> tuple[PartOfSplit, ...]:
    counted = []
    named: tuple[tuple[PartName, Any], ...] = (("fit", parts.fit), ("choose", parts.choose), ("prove", parts.prove))
    for part, numbers in named:
        for split in dict.fromkeys(rows.split[numbers].tolist()):
            own = numbers[rows.split[numbers] == split]
            counted.append(
                PartOfSplit(
                    part=part,
                    split=str(split),
                    rows=len(own),
                    out=int(rows.is_out[own].sum()),
                    is_seen=bool(parts.seen[own[0]]),
                )
            )
    return tuple(counted)


def _describe_draw(seed: int, made: ChosenHead, proof: Proof | None) -> RepairDraw:
    chosen = next((each for each in made.tried if each.is_chosen), None)
    return RepairDraw(
        seed=seed,
        method=chosen.method if chosen else NONE,
        settings=chosen.settings if chosen else {},
        inside=None if proof is None else proof.inside,
        outside=None if proof is None else proof.outside,
    )


def _find_trained(predictions: Predictions) -> tuple[str, ...]:
    """The splits that the model was trained on, by its recipe; "train" where nobody says and there are others."""
    metadata = predictions.metadata
    splits = list(metadata.rows)
    training = (metadata.training.data if metadata.training else None) or {}
    is_same = (training.get("benchmark"), training.get("config")) == (metadata.benchmark, metadata.config)
    if "train" in splits and (len(splits) > 1 or (metadata.training is not None and is_same)):
        return ("train",)
    return ()


def _check_head(source: ModelSource, how: ModelSettings, part: Any) -> None:
    """Refuses a model without a last layer that can be replaced."""
    way_out = choose_wording(
        'oochub.train(data, out, model=...) or mode="linear_probe"', "oochub train --model MODEL or --mode linear_probe"
    )
    if isinstance(source.given, CallableModel):
        raise OochubError(
            "A repair replaces the last layer of a model of transformers, but a function, a module or an ONNX file has "
            f"none that can be found. Use a model folder, or a linear probe on an encoder: {way_out}."
        )
    mode = choose_mode(source, how.mode, how.of_mode, part).__module__.rpartition(".")[2]
    if mode not in ("head", "linear_probe"):
        raise OochubError(
            f"A repair replaces a model's last layer, but the mode {mode} answers without one. Fit a linear probe on "
            f"the model first: {way_out}."
        )


def _check_sides(rows: RepairRows, parts: RowParts) -> None:
    for name, numbers in (("fit", parts.fit), ("choose", parts.choose), ("prove", parts.prove)):
        out = rows.is_out[numbers]
        for side, count in (("usual", int((~out).sum())), ("unusual", int(out.sum()))):
            if not count:
                raise OochubError(
                    f"None of the {len(numbers):,} rows that {name} has a context that is {side} for its class. Add "
                    f"such rows; about {FEWEST} of each class are a start."
                )
