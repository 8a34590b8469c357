"""Scores predictions: makes the rows, and asks each section to measure its part of the report."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.data.declaration import check_closed_words, describe_benchmark, describe_model, find_declaration
from oochub.detection.detection_numbers import choose_pairs
from oochub.detection.detector_scores import ScoredSet, make_detector_key, score_sets
from oochub.detection.zoom_probe import find_zoomed_pairs
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.evaluation import Evaluation
from oochub.evaluation.evaluation_inputs import check_inputs, open_parts
from oochub.evaluation.evaluation_rows import (
    EpochRows,
    EvaluationRows,
    check_metric,
    check_one_task,
    make_evaluation_rows,
)
from oochub.evaluation.matching import check_match
from oochub.evaluation.row_selection import RowsFile, select_by_rule, select_rows
from oochub.evaluation.slices import describe_boxes, describe_no_class, describe_partners, make_row_sets
from oochub.prediction.image_copies import describe_copies
from oochub.prediction.predictions import Predictions, concatenate_predictions, join_integrity
from oochub.prediction.present_classes import find_allowed
from oochub.records.build_record import OWN
from oochub.records.origin_records import PredictionsSource, Provenance, provenance
from oochub.report.report import Report
from oochub.report.wording import join_names
from oochub.section import measure_sections
from oochub.settings import only, with_options
from oochub.settings.data_settings import DataSettings
from oochub.settings.evaluation_settings import EvaluationSettings, IntervalSettings
from oochub.stats.estimate import Sampling

_Given = Predictions | str | Path


@with_options(
    "evaluate",
    metrics=Iterable[str | Callable[..., object]] | None,
    detectors=Iterable[str] | None,
    reference=_Given | None,
    pairs=Sequence[tuple[str, str]] | None,
)
def evaluate(
    predictions: _Given | Sequence[_Given],
    *,
    settings: EvaluationSettings,
    intervals: IntervalSettings,
    data: Annotated[DataSettings, only("data_dir")],
    loading: Mapping[str, Any] | None = None,
) -> Report:
    """Scores predictions; the model is not needed.

    Args:
        predictions: Predictions or the path of a Parquet file, or a list of them: the same model on other splits. With
            `benchmark` the path of a CSV, Parquet or NPZ file of answers that another program wrote, see
            `oochub.exchange.answers_file`.
        settings: The options of `EvaluationSettings`.
        intervals: The options of `IntervalSettings`.
        data: The option `data_dir` of `DataSettings`.
        loading: Other arguments of `oochub.load`, such as {"label": "breed", "context": "place"} of your own data.

    Returns:
        A Report. `report["auc"]` is the metric on all rows of the benchmark's evaluation split;
        `report["out_of_context/accuracy"]` that of a slice, which also goes by the benchmark's own word for it:
        `report["hard/accuracy"]` in NOOCH.

    Raises:
        OochubError: Predictions that are broken, more splits or groups than a report compares, an unknown metric, probe
            or column to match on, or a metric whose columns the predictions lack.

    >>> evaluate([])
    Traceback (most recent call last):
    oochub.errors.OochubError: There are no predictions. Pass at least one Predictions or the path of one.
    """
    parts, settings = check_inputs(predictions, settings)
    if not isinstance(loading or {}, Mapping):
        raise OochubError(f"loading= takes values by name, such as {{'label': 'breed'}}, got {loading!r:.80}.")
    loading = {"data_dir": data.data_dir, **(loading or {})}
    return make_report(parts, make_evaluation(parts, settings, intervals, loading))


def make_report(parts: Sequence[_Given], evaluation: Evaluation) -> Report:
    """The report of what is evaluated.

    Args:
        parts: Predictions, or paths, as they were given.
        evaluation: What `make_evaluation` made of them.
    """
    rows, sets = evaluation.rows, evaluation.sets
    counted = (describe_no_class(sets, rows), describe_boxes(sets, rows), describe_partners(evaluation.gap, rows))
    return Report(
        benchmark=describe_benchmark(evaluation.predictions.metadata, evaluation.rows.benchmark),
        model=describe_model(evaluation.predictions),
        notes=(*filter(None, counted), *evaluation.notes),
        **measure_sections(evaluation),
        provenance=_describe_origin(parts, evaluation),
    )


def make_evaluation(
    parts: Sequence[Predictions | str | Path],
    settings: EvaluationSettings,
    intervals: IntervalSettings,
    loading: Mapping[str, Any],
) -> Evaluation:
    """Opens the predictions and makes their rows; what cannot be evaluated is refused here, before the first slow step.

    Args:
        parts: Predictions, or paths.
        settings: See `check_inputs`.
        intervals: How intervals are found.
        loading: How the data of answers of another program are loaded.

    Raises:
        OochubError: See `evaluate`.
    """
    file = _read_rows(settings)
    source = {name: getattr(settings, name) for name in ("benchmark", "model_name", "probabilities")}
    opened = open_parts(parts, **{**source, **loading})
    pairs = choose_pairs(opened, settings.pairs) if settings.detectors else []
    # With detectors sets stand beside each other; the classifier itself is scored on the first.
    first = [part for part in opened if not settings.detectors or part.metadata.config == opened[0].metadata.config]
    predictions, chosen_rows = concatenate_predictions(first), None
    if file is not None:
        predictions, chosen_rows = (
            select_by_rule(
                predictions,
                file,
                find_declaration(predictions),
                Sampling(resamples=intervals.resamples, seed=intervals.seed),
            )
            if settings.unseen
            else select_rows(predictions, file)
        )
    declared = find_declaration(predictions)
    one = choose_wording("oochub.evaluate(oochub.task(predictions, 'ce_car'))", "--task ce_car; or --task every")
    check_one_task(predictions, declared, instead=f"Evaluate one: {one}.")
    words = check_closed_words(predictions, declared)
    metrics = dict(map(_open_metric, settings.metrics or declared.metrics))
    allowed = find_allowed(predictions, settings.classes, settings.match)
    sampling = {"resamples": intervals.resamples, "seed": intervals.seed}
    rows, chose = make_evaluation_rows(predictions, declared, allowed, sampling)
    for name, metric in metrics.items():
        check_metric(name, metric, rows)
    if settings.match is not None:
        check_match(settings.match, rows.columns)
    return Evaluation(
        settings=settings,
        intervals=intervals,
        parts=opened,
        rows=rows,
        allowed=allowed,
        metrics=metrics,
        sets=make_row_sets(rows),
        notes=(*_write_notes(rows, allowed, chose), *words),
        chosen_rows=chosen_rows,
        scored_sets=_score_sets(opened, pairs, settings),
        pairs=pairs,
    )


def _open_metric(metric: str | Callable[..., object]) -> tuple[str, Callable[..., Any]]:
    """The name and the function of a metric that is given by its name, or as a function."""
    return (metric.__name__, metric) if callable(metric) else (metric, catalog.get("metric", metric))


def _score_sets(
    parts: Sequence[Predictions], pairs: Sequence[tuple[str, str]], settings: EvaluationSettings
) -> Sequence[ScoredSet]:
    """The parts as the detectors score them; () without detectors.

    Raises:
        OochubError: A detector that lacks the reference, features or head, or has other settings than its stored
            logits; a probe without its columns.
    """
    if not settings.detectors:
        return ()
    given = settings.reference
    reference = Predictions.load(given) if isinstance(given, str | Path) else given
    sets = score_sets(parts, settings.detectors, reference=reference, classes=settings.classes)
    if settings.probes:
        find_zoomed_pairs(sets, pairs)  # refused before the slow steps
    return sets


def _read_rows(settings: EvaluationSettings) -> RowsFile | None:
    """The file of the rows that are to be scored, checked before any predictions are opened; None for all rows.

    Raises:
        OochubError: A file that cannot be read or names no rows, a rule that cannot be tested, detectors, or `unseen`
            without a file.
    """
    rows, unseen = choose_wording("rows="), choose_wording("unseen=True")
    if settings.rows is None:
        if settings.unseen:
            raise OochubError(f"{unseen} tests the rule of a file of rows. Pass the file with {rows}.")
        return None
    if settings.detectors:
        named = choose_wording("detectors=", "--detector")
        raise OochubError(f"Detectors compare whole sets, not chosen rows. Remove {named} or {rows}.")
    file = RowsFile.read(settings.rows)
    if settings.unseen:
        file.parse_rule()
    return file


def _describe_origin(parts: Sequence[Predictions | str | Path], evaluation: Evaluation) -> Provenance:
    """What the report was made of, and the command that makes it again."""
    settings, intervals, metadata = evaluation.settings, evaluation.intervals, evaluation.predictions.metadata
    files = [Path(part).name for part in parts if not isinstance(part, Predictions)]
    reference, detectors, benchmark, source = settings.reference, settings.detectors, settings.benchmark, []
    if isinstance(benchmark, str | Path):  # a path without its folders
        source = [Path(benchmark).name if Path(benchmark).exists() else str(benchmark)]
    options: dict[str, Sequence[str]] = {
        "benchmark": source,
        "metric": [_open_metric(metric)[0] for metric in settings.metrics or ()],
        "match": [settings.match] if settings.match else [],
        "correction": [intervals.correction] if intervals.correction != "holm" else [],
        "classes": [settings.classes] if settings.classes != "all" else [],
        "detector": [detector if isinstance(detector, str) else make_detector_key(detector) for detector in detectors],
        "reference": [Path(reference).name] if isinstance(reference, str | Path) else [],
        "pair": [":".join(pair) for pair in settings.pairs or ()],
        "probe": list(settings.probes),
        "rows": [Path(settings.rows).name] if settings.rows is not None else [],
        "unseen": [""] if settings.unseen else [],
    }
    given = [f"--{name} {shlex.quote(value) if value else ''}".rstrip() for name, of in options.items() for value in of]
    command = " ".join(["oochub evaluate", *map(shlex.quote, files), "--out report.json", *given])
    return Provenance(
        **provenance(),
        seed=intervals.seed,
        resamples=intervals.resamples,
        predictions=PredictionsSource(
            file=" ".join(files) or "in memory",
            rows=len(evaluation.predictions),
            fingerprint=metadata.fingerprint,
            sha256=evaluation.predictions.digest,
            integrity=join_integrity(evaluation.parts),
        ),
        command=command if files else "oochub.evaluate(predictions)",
        training=metadata.training,
        prediction=dict(metadata.provenance),
    )


def _write_notes(evaluated: EvaluationRows, allowed: NDArray[np.int64] | None, chose: EpochRows) -> tuple[str, ...]:
    """The caveats of the data."""
    metadata, classes = evaluated.predictions.metadata, evaluated.predictions.class_names
    notes, name = [*metadata.notes, *describe_copies(evaluated.predictions)], metadata.benchmark
    if name not in (None, OWN, *catalog.names("benchmark")):
        notes.append(
            f"the benchmark {name} is not installed here: its sides, words and the paper's numbers are not used"
        )
    if allowed is not None and len(allowed) < len(classes):
        notes.append(f"answers are limited to the {len(allowed)} classes present, not all {len(classes):,}")
    also, label = evaluated.predictions.also_right, evaluated.predictions.label
    several = 0 if also is None else len(np.unique(also.rows[also.classes != label[also.rows]]))
    if several:
        notes.append(
            f"{several:,} of {len(evaluated.predictions):,} rows have several right classes: an answer that is one of "
            "them is right, and NLL takes their probability together"
        )
    notes += [
        f"the column {column} is not read, because it has the name of a value that is computed here"
        for column in evaluated.shadowed
    ]
    light, column = evaluated.predictions.rows.light, evaluated.benchmark.group_column
    if column in light.column_names and light.column(column).null_count:
        notes.append(f"{light.column(column).null_count:,} rows have no value in {column}")
    contexts = metadata.facts.found_contexts
    output = evaluated.predictions.output
    if contexts is not None and (not output.one_answer or output.asks_each_row(evaluated.predictions)):
        notes.append(
            f"contexts that were found ({contexts.way}) are not tested, because that needs one class for each row"
        )
    data_set, benchmark = metadata.data_set, evaluated.benchmark
    seen = _find_seen_sources(
        metadata.model.trained_on or (), (*benchmark.sources, *([data_set.id] if data_set else []))
    )
    if seen:
        notes.append(
            f"the model's card says that it was trained on {join_names(seen)}, which {benchmark.title} takes rows "
            "from or overlaps with: it may have seen rows that are tested here"
        )
    if chose.note:
        notes.append(chose.note)
    outside = int((~(evaluated.known | chose.left_out)).sum())
    if outside:
        where = "outside the label set" if evaluated.predictions.output.one_answer else "without a known label"
        notes.append(f"{outside:,} rows {where} are skipped")
    return tuple(notes)


def _find_seen_sources(trained_on: Sequence[str], sources: Sequence[str]) -> tuple[str, ...]:
    """The names of a card in which the name of a source stands as a word, digits after it apart.

    Args:
        trained_on: Names as the card has them: "imagenet-1k", "detection-datasets/coco".
        sources: Sources of the rows, see `Benchmark.sources`; case and punctuation do not count.

    Returns:
        Those of `trained_on`, in their order.

    >>> _find_seen_sources(["imagenet-1k", "phiyodr/coco2017", "coconut"], ["coco"])
    ('phiyodr/coco2017',)
    """
    words = [re.escape(_normalize_name(source)) for source in sources if _normalize_name(source)]
    if not words:
        return ()
    wanted = re.compile(rf"(?<![a-z0-9])(?:{'|'.join(words)})(?![a-z])")
    return tuple(name for name in trained_on if wanted.search(_normalize_name(name)))


def _normalize_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", name.lower()).strip()
