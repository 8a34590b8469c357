"""Scores predictions: every metric on every slice with its interval, the gap, the groups, the worst mistakes."""

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.errors import OochubError, unknown_name
from oochub.evaluation.breakdown import calibration, groups, worst_groups
from oochub.evaluation.declaration import benchmark_fields, declaration
from oochub.evaluation.detection_rows import detection_fields
from oochub.evaluation.detector_scores import detector_key, made_detector
from oochub.evaluation.gaps import gap_fields, matched_gap_fields
from oochub.evaluation.matching import check_match
from oochub.evaluation.mistakes import mistakes
from oochub.evaluation.present_classes import Classes, allowed_classes, answers, check_classes, probabilities
from oochub.metric import MetricFacts, facts_of
from oochub.prediction.metadata import Training
from oochub.prediction.predictions import Predictions, concatenate
from oochub.provenance import provenance
from oochub.report.report import SCHEMA_VERSION, Report
from oochub.schema import from_json, to_json
from oochub.stats.estimation import estimate

_PROBES = ("zoom",)
_NOT_ASKED_FOR = {"thumbnail", "example_id", "features", "logits"} | {
    f"{before}{name}" for before in ("zoom_", "odin_", "zoom_odin_") for name in ("features", "logits")
}
_ON_ALL_ROWS = {"auc_hard", "worst_group"}  # they pick their own rows, so a slice of them says nothing new


class Slice(NamedTuple):
    """Some rows of one split and what they are to the comparison."""

    name: str
    role: str
    title: str
    split: str
    mask: NDArray[np.bool_]


def evaluate(
    predictions: Predictions | str | Path | Sequence[Predictions | str | Path],
    *,
    metrics: Iterable[str] | None = None,
    detectors: Iterable[str] | None = None,
    reference: Predictions | str | Path | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    probes: Iterable[str] = (),
    classes: Classes = "all",
    match: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Report:
    """Scores predictions; the model is not needed.

    Args:
        predictions: Predictions or the path of a Parquet file, or a list of them: the same model on other splits.
        metrics: Names of metrics; None takes those that the benchmark declares.
        detectors: Names of out-of-distribution detectors, or detectors; `predictions` may then be of several configs,
            the one in distribution first, and `report["msp/imagenet_1k/imagenet_ood/auroc_failure"]` is one number.
        reference: Predictions of the training split with features, to fit detectors on.
        pairs: Configs to set against each other, (in distribution, out of it); None takes every pair. Sets are never
            pooled.
        probes: What else to ask the detectors: "zoom" is how far a zoom that changes no answer moves their scores
            (predictions made with zoom=), see `oochub.evaluation.zoom_probe`.
        classes: What an answer may be: "all" classes, or those "present" in its set, such as the 200 of ImageNet-R.
            It decides what is correct, in the metrics and for detectors; the report says which.
        match: A numeric auxiliary column, such as "area": the gap is also given with this column spread alike on both
            sides (`report["matched_gap"]`, see `oochub.evaluation.matching`).
        resamples: Bootstrap replicates of the intervals that are bootstraps.
        seed: Seed of the bootstrap.

    Returns:
        A Report. `report["auc"]` is the metric on all rows of the benchmark's evaluation split;
        `report["out_of_context/accuracy"]` that of a slice, which also goes by the benchmark's own word for it:
        `report["hard/accuracy"]` in NOOCH.

    Raises:
        OochubError: Predictions that are broken, an unknown metric, probe or column to match on, or a metric whose
            columns the predictions lack.

    >>> evaluate([])
    Traceback (most recent call last):
    oochub.errors.OochubError: There are no predictions. Give at least one Predictions or the path of one.
    """
    detectors, probes = list(detectors or ()), list(probes)
    if not detectors and (reference is not None or pairs is not None or probes):
        raise OochubError("reference=, pairs= and probes= are read by detectors only: name some with detectors=[...].")
    for name in probes:
        if name not in _PROBES:
            raise unknown_name("probe", name, _PROBES)
    check_classes(classes)
    for name in detectors:
        if isinstance(name, str):
            made_detector(name)
    parts = [predictions] if isinstance(predictions, Predictions | str | Path) else list(predictions)
    files = [Path(one).name for one in parts if not isinstance(one, Predictions)]
    opened = [p if isinstance(p, Predictions) else Predictions.load(p) for p in parts]
    found: dict[str, Any] = {}
    if detectors:
        sources = (reference, *parts)
        found = detection_fields(opened, detectors, sources, pairs, probes, classes, resamples=resamples, seed=seed)
    if found:  # sets stand beside each other; the classifier itself is scored on the first
        opened = [one for one in opened if one.metadata.config == opened[0].metadata.config]
    loaded = concatenate(opened)
    benchmark = declaration(loaded)
    if "labels" in loaded.table.column_names and benchmark.task is not None:
        raise OochubError(
            f"{benchmark.name}/{loaded.metadata.config} holds many tasks. Evaluate one: "
            "oochub.evaluate(oochub.task(predictions, 'ce_car')), or `oochub evaluate ... --task ce_car` (or every)."
        )
    chosen = {name: catalog.get("metric", name) for name in (metrics or benchmark.metrics)}
    allowed = allowed_classes(loaded, classes)
    columns = _columns(loaded, allowed)
    for name, metric in chosen.items():
        _check_columns(name, metric, columns)
    if match is not None:
        check_match(match, columns)
    slices = _slices(loaded, benchmark, columns)
    sampling: dict[str, Any] = {"resamples": resamples, "seed": seed}
    scored = [
        _score(one, chosen, columns, benchmark.cluster, sampling) | {"examples": _examples(loaded, one.mask)}
        for one in slices
    ]
    masks = {one.role: one.mask for one in slices}
    both: dict[str, NDArray[np.bool_]] = {side: masks[side] for side in ("in", "out") if side in masks}
    main_split = next(one.split for one in slices if one.role == "all")
    data = {
        "schema_version": SCHEMA_VERSION,
        "benchmark": benchmark_fields(loaded, benchmark),
        "model": {**to_json(loaded.metadata.model), "class_names": loaded.class_names, **_training_fields(loaded)},
        "notes": _notes(loaded, columns, allowed),
        "slices": scored,
        "metrics": _metric_fields(chosen),
        "gap": gap_fields(benchmark, masks, columns, sampling),
        **({"matched_gap": matched_gap_fields(benchmark, masks, columns, match, sampling)} if match else {}),
        "groups": groups(columns, loaded, benchmark, both, main_split),
        "worst_group": worst_groups(columns, main_split),
        **found,
        "calibration": {side: calibration(columns, mask, sampling) for side, mask in both.items()},
        "mistakes": mistakes(loaded, benchmark, columns, both.get("out", masks["all"]), masks["all"]),
        "provenance": provenance(
            seed=seed,
            resamples=resamples,
            predictions={
                "file": " ".join(files) or "in memory",
                "rows": len(loaded),
                "fingerprint": loaded.metadata.fingerprint,
                "sha256": loaded.digest,
            },
            command=_command(
                files,
                match=[match] if match else [],
                classes=[classes] if classes != "all" else [],
                detector=[one if isinstance(one, str) else detector_key(one) for one in detectors],
                reference=[Path(reference).name] if isinstance(reference, str | Path) else [],
                pair=[":".join(pair) for pair in pairs or ()],
                probe=probes,
            ),
            training=to_json(loaded.metadata.training),
            prediction=dict(loaded.metadata.provenance),
        ),
    }
    return from_json(Report, data, what="the report")


def _columns(predictions: Predictions, allowed: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Every column a metric may ask for by name; rows outside the label set are left out by `_known`."""
    columns = {n: predictions.column(n) for n in predictions.table.column_names if n not in _NOT_ASKED_FOR}
    columns["label"] = predictions.label
    columns["probability"] = probability = probabilities(predictions, allowed)
    columns["prediction"] = answers(predictions.logits, allowed)
    columns["loss"] = -np.log(
        np.maximum(probability[np.arange(len(predictions)), predictions.label], np.finfo(float).tiny)
    )
    if len(predictions.class_names) == 2:
        logits = predictions.logits.astype(np.float64)
        columns["score"] = logits[:, 1] - logits[:, 0]
    return columns


def _check_columns(name: str, metric: Callable[..., Any], columns: Mapping[str, Any]) -> None:
    missing = [argument for argument in _arguments(metric, required=True) if argument not in columns]
    if missing:
        raise OochubError(
            f"The metric {name} needs {', '.join(missing)}, which these predictions lack "
            f"({'two classes make a score' if 'score' in missing else 'columns: ' + ', '.join(sorted(columns))}). "
            "Name other metrics with metrics=[...] (--metric on the command line)."
        )


def _arguments(metric: Callable[..., Any], *, required: bool) -> list[str]:
    parameters = inspect.signature(metric).parameters.values()
    return [one.name for one in parameters if not required or one.default is one.empty]


def _slices(predictions: Predictions, benchmark: Benchmark, columns: Mapping[str, NDArray[Any]]) -> list[Slice]:
    split, known = columns["split"], columns["label"] >= 0
    present = list(dict.fromkeys(split.tolist()))
    main = benchmark.evaluation_split if benchmark.evaluation_split in present else present[-1]
    made = [Slice("all", "all", f"All of {main}", main, known & (split == main))]
    sides = (("in", "in_context", benchmark.in_context), ("out", "out_of_context", benchmark.out_of_context))
    for role, name, selection in sides:
        if set(selection.where) <= set(columns):
            made.append(Slice(name, role, selection.name, selection.split, known & selection.mask(columns)))
    if "challenge" in columns:
        for part, title in (("hard_positive", "object, no context"), ("hard_negative", "context, no object")):
            rows = known & (split == main) & (columns["challenge"] == part)
            made.append(Slice(part, part, title, main, rows))
    shown = {one.split for one in made}
    made += [Slice(n, "split", f"Split {n}", n, known & (split == n)) for n in present if n not in shown]
    made = [one for one in made if one.role == "all" or one.mask.any()]
    if not made[0].mask.any():
        raise OochubError(f"The split {main} of these predictions has no row with a label.")
    return made


def _score(
    one: Slice,
    metrics: Mapping[str, Callable[..., Any]],
    columns: Mapping[str, NDArray[Any]],
    cluster: str | None,
    sampling: Mapping[str, Any],
) -> dict[str, Any]:
    label = columns["label"][one.mask]
    values: dict[str, Any] = {}
    for name, metric in metrics.items():
        if name in _ON_ALL_ROWS and one.role != "all":
            continue
        taken = {key: columns[key][one.mask] for key in _arguments(metric, required=False) if key in columns}
        result = estimate(metric, taken, cluster=columns[cluster][one.mask] if cluster else None, **sampling)
        named = (
            {f"{name}.{key}": value for key, value in result.items()} if isinstance(result, dict) else {name: result}
        )
        values |= {key: value.to_dict() for key, value in named.items()}
    binary = columns["probability"].shape[1] == 2
    return {
        "name": one.name,
        "role": one.role,
        "title": one.title,
        "split": one.split,
        "n": int(one.mask.sum()),
        "n_positive": int((label == 1).sum()) if binary else None,
        "metrics": values,
    }


def _examples(predictions: Predictions, mask: NDArray[np.bool_]) -> str:
    """A name for the rows of a slice, whatever their order: equal where the same examples have the same labels."""
    rows = zip(predictions.column("example_id")[mask].tolist(), predictions.label[mask].tolist(), strict=True)
    return hashlib.sha256("\n".join(sorted(f"{label} {example}" for example, label in rows)).encode()).hexdigest()[:16]


def _command(files: Sequence[str], **options: Sequence[str]) -> str:
    if not files:
        return "oochub.evaluate(predictions)"
    given = "".join(f" --{name} {value}" for name, values in options.items() for value in values)
    return f"oochub evaluate {' '.join(files)} --out report.json{given}"


def _training_fields(predictions: Predictions) -> dict[str, Any]:
    training = predictions.metadata.training or Training()
    return {"objective": training.objective, "seeds": [] if training.seed is None else [training.seed]}


def _notes(predictions: Predictions, columns: Mapping[str, NDArray[Any]], allowed: NDArray[np.int64]) -> list[str]:
    notes = list(predictions.metadata.notes)
    if len(allowed) < len(predictions.class_names):
        notes.append(f"answers are among the {len(allowed)} classes present, not all {len(predictions.class_names):,}")
    outside = int((columns["label"] < 0).sum())
    if outside:
        notes.append(f"{outside:,} rows outside the label set are left out")
    return notes


def _metric_fields(metrics: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    fields = {}
    for name, metric in metrics.items():
        facts = facts_of(metric) or MetricFacts(title=name, direction="none", maximum=None)
        parts = {f"{name}.{key}": one for key, one in facts.keys.items()} if facts.keys else {name: facts}
        for key, one in parts.items():
            fields[key] = {
                "title": one.title,
                "direction": one.direction,
                "unit": one.unit,
                "minimum": one.minimum,
                "maximum": one.maximum,
            }
    return fields
