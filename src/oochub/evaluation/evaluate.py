"""Scores predictions: every metric on every slice with its interval, the gap, the groups, the worst mistakes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.data.declaration import (
    check_closed_words,
    describe_benchmark,
    describe_metrics,
    describe_model,
    find_declaration,
)
from oochub.detection.detection_numbers import choose_pairs, detect
from oochub.detection.detector_scores import make_detector, make_detector_key
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.evaluation.breakdown import count_errors_by_context, find_worst_groups, measure_calibration, measure_groups
from oochub.evaluation.context_findings import find_context_effects
from oochub.evaluation.evaluation_inputs import check_inputs, open_parts
from oochub.evaluation.evaluation_rows import (
    EpochRows,
    EvaluationRows,
    check_metric,
    check_one_task,
    make_evaluation_rows,
)
from oochub.evaluation.images_without_object import measure_empty_images
from oochub.evaluation.matching import check_match
from oochub.evaluation.measure_reliance import measure_reliance
from oochub.evaluation.mistakes import choose_mistakes
from oochub.evaluation.row_selection import RowsFile, select_by_rule, select_rows
from oochub.evaluation.slices import (
    RowSet,
    describe_boxes,
    describe_no_class,
    describe_partners,
    find_measured_groups,
    find_rows_behind,
    make_row_sets,
    measure_gap,
    measure_gap_at_equal,
    measure_slice,
)
from oochub.prediction.image_copies import describe_copies
from oochub.prediction.predictions import Predictions, concatenate_predictions, join_integrity
from oochub.prediction.present_classes import find_allowed
from oochub.records.build_record import OWN
from oochub.records.finding_records import SELECTION, ChosenRows
from oochub.records.origin_records import PredictionsSource, Provenance
from oochub.records.provenance import provenance
from oochub.records.report_records import Calibration, Side, Slice
from oochub.report.report import Report
from oochub.report.wording import join_names
from oochub.section import measure_sections
from oochub.settings import only, with_options
from oochub.settings.data_settings import DataSettings
from oochub.settings.evaluation_settings import EvaluationSettings, IntervalSettings
from oochub.stats.estimate import Sampling

_SIDES: tuple[Side, ...] = ("in", "out")
_PROBES = ("zoom",)
_Given = Predictions | str | Path


@with_options(
    "evaluate", detectors=Iterable[str] | None, reference=_Given | None, pairs=Sequence[tuple[str, str]] | None
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
    oochub.errors.OochubError: There are no predictions. Give at least one Predictions or the path of one.
    """
    reference, benchmark, classes, match = settings.reference, settings.benchmark, settings.classes, settings.match
    correction, resamples, seed = intervals.correction, intervals.resamples, intervals.seed
    listed = check_inputs(predictions, settings.metrics, settings.detectors, reference, settings.pairs, settings.probes)
    parts, metrics, detectors, pairs, probes = listed
    if not detectors and (reference is not None or pairs is not None or probes):
        read = choose_wording("reference=, pairs= and probes=", "--reference, --pair and --probe")
        raise OochubError(
            f"{read} apply to detectors only: name some with {choose_wording('detectors=[...]', '--detector')}."
        )
    for name in probes:
        if name not in _PROBES:
            raise unknown_name("probe", name, _PROBES)
    for name in detectors:
        if isinstance(name, str):
            make_detector(name)
    files = [Path(part).name for part in parts if not isinstance(part, Predictions)]
    if not isinstance(loading or {}, Mapping):
        raise OochubError(f"loading= takes values by name, such as {{'label': 'breed'}}, got {loading!r:.80}.")
    named = _read_rows(settings, detectors)
    source = {"benchmark": benchmark, "data_dir": data.data_dir, "model_name": settings.model_name, **(loading or {})}
    source["probabilities"] = settings.probabilities
    opened = open_parts(parts, **source)
    compared = choose_pairs(opened, pairs) if detectors else []
    # With detectors sets stand beside each other; the classifier itself is scored on the first.
    first = [part for part in opened if not detectors or part.metadata.config == opened[0].metadata.config]
    predictions, integrity = concatenate_predictions(first), join_integrity(opened)
    chosen_rows = None
    if named is not None:
        predictions, chosen_rows = _choose_rows(predictions, named, settings.unseen, intervals)
    declared, kind = find_declaration(predictions), predictions.output
    one = choose_wording("oochub.evaluate(oochub.task(predictions, 'ce_car'))", "--task ce_car; or --task every")
    check_one_task(predictions, declared, instead=f"Evaluate one: {one}.")
    words = check_closed_words(predictions, declared)
    chosen = {name: catalog.get("metric", name) for name in (metrics or declared.metrics)}
    allowed = find_allowed(predictions, classes, match)
    sampling: dict[str, Any] = {"resamples": intervals.resamples, "seed": intervals.seed}
    evaluated, chose = make_evaluation_rows(predictions, declared, allowed, sampling)
    for name, metric in chosen.items():
        check_metric(name, metric, evaluated)
    if match is not None:
        check_match(match, evaluated.columns)
    sets = make_row_sets(evaluated)
    detected = None
    if detectors:
        fitted_on = Predictions.load(reference) if isinstance(reference, str | Path) else reference
        detected = detect(opened, detectors, fitted_on, compared, probes, classes, **sampling)
    slices = [measure_slice(rows, chosen, evaluated) for rows in sets]
    measured = {key for part in slices for key in part.metrics}  # worst_group has no NLL without a probability
    by_role = {rows.role: rows for rows in sets}
    sides: dict[Side, Any] = {side: by_role[side].mask for side in _SIDES if side in by_role}
    behind = {side: mask for side in sides if (mask := find_rows_behind(by_role[side], evaluated)).any()}
    everything, nowhere = sets[0], np.zeros(len(evaluated.known), bool)
    gap = measure_gap(by_role, {part.role: part for part in slices}, evaluated)
    return Report(
        benchmark=describe_benchmark(predictions.metadata, declared),
        model=describe_model(predictions),
        metrics={
            key: each
            for key, each in describe_metrics(dict.fromkeys((*chosen, declared.primary_metric))).items()
            if key in measured or (kind.has_confidence and key.partition(".")[0] in chosen)
        },
        notes=(
            *filter(
                None,
                [
                    describe_no_class(sets, evaluated),
                    describe_boxes(sets, evaluated),
                    describe_partners(gap, evaluated),
                ],
            ),
            *_write_notes(evaluated, allowed, evaluated.shadowed, chose),
            *words,
        ),
        slices=tuple(slices),
        gap=gap,
        matched_gap=measure_gap_at_equal(match, by_role, evaluated) if match else None,
        groups=measure_groups(evaluated, sides, everything.split),
        worst_group=find_worst_groups(evaluated, everything.split),
        errors=count_errors_by_context(evaluated, everything.mask, everything.split, allowed),
        contexts=find_context_effects(evaluated, correction),
        detection=detected.rows if detected else None,
        probes=detected.probes if detected else None,
        calibration=_calibrate_sides(evaluated, behind, by_role, slices) if kind.has_confidence else None,
        mistakes=choose_mistakes(evaluated, behind.get("out"), everything.mask, behind.get("in", nowhere)),
        findings=_add_findings(
            measure_sections(predictions),
            near_and_far=detected and detected.groups,
            empty_images=measure_empty_images(by_role, evaluated),
            reliance=measure_reliance(evaluated, everything.split),
            **{SELECTION: chosen_rows},
        ),
        provenance=Provenance(
            **provenance(),
            seed=seed,
            resamples=resamples,
            predictions=PredictionsSource(
                file=" ".join(files) or "in memory",
                rows=len(predictions),
                fingerprint=predictions.metadata.fingerprint,
                sha256=predictions.digest,
                integrity=integrity,
            ),
            command=_write_command(
                files,
                benchmark=_name_source(benchmark),
                match=[match] if match else [],
                correction=[correction] if correction != "holm" else [],
                classes=[classes] if classes != "all" else [],
                detector=[each if isinstance(each, str) else make_detector_key(each) for each in detectors],
                reference=[Path(reference).name] if isinstance(reference, str | Path) else [],
                pair=[":".join(pair) for pair in pairs or ()],
                probe=probes,
                rows=[Path(settings.rows).name] if settings.rows is not None else [],
                unseen=[""] if settings.unseen else [],
            ),
            training=predictions.metadata.training,
            prediction=dict(predictions.metadata.provenance),
        ),
    )


def _read_rows(asked: EvaluationSettings, detectors: Sequence[Any]) -> RowsFile | None:
    """The file of the rows that are to be scored, checked before any predictions are opened; None for all rows.

    Raises:
        OochubError: A file that cannot be read or names no rows, a rule that cannot be tested, detectors, or `unseen`
            without a file.
    """
    rows, unseen = choose_wording("rows=", "--rows"), choose_wording("unseen=True", "--unseen")
    if asked.rows is None:
        if asked.unseen:
            raise OochubError(f"{unseen} tests the rule of a file of rows. Name the file with {rows}.")
        return None
    if detectors:
        named = choose_wording("detectors=", "--detector")
        raise OochubError(f"Detectors compare whole sets, not chosen rows. Leave out {named} or {rows}.")
    file = RowsFile.read(asked.rows)
    if asked.unseen:
        file.parse_rule()
    return file


def _choose_rows(
    predictions: Predictions, file: RowsFile, unseen: bool, intervals: IntervalSettings
) -> tuple[Predictions, ChosenRows]:
    """The rows that a file names, or those that its rule holds for, and what the report says of the choice."""
    if not unseen:
        return select_rows(predictions, file)
    sampling = Sampling(resamples=intervals.resamples, seed=intervals.seed)
    return select_by_rule(predictions, file, find_declaration(predictions), sampling)


def _add_findings(findings: dict[str, object] | None, **more: object) -> dict[str, object] | None:
    """The findings of the sections, with what else was found; None without any."""
    return {**(findings or {}), **{name: found for name, found in more.items() if found is not None}} or None


def _calibrate_sides(
    evaluated: EvaluationRows, behind: Mapping[Side, Any], sets: Mapping[Any, RowSet], slices: Sequence[Slice]
) -> dict[Side, Calibration]:
    known = {part.role: part.metrics.get("ece") for part in slices}
    found: dict[Side, Calibration] = {}
    for side, mask in behind.items():
        chosen = find_measured_groups(sets[side], evaluated)
        if chosen is None:
            found[side] = measure_calibration(evaluated, mask, known.get(side))
        elif chosen:
            rows = np.zeros(len(mask), dtype=bool)
            rows[np.concatenate(list(chosen.values()))] = True
            found[side] = measure_calibration(
                evaluated, rows, groups={name: len(part) for name, part in chosen.items()}
            )
    return found


def _name_source(benchmark: Any) -> list[str]:
    """What was named as the data of answers: a benchmark, or a path without its folders."""
    if not isinstance(benchmark, str | Path):
        return []
    return [Path(benchmark).name if Path(benchmark).exists() else str(benchmark)]


def _write_command(files: Sequence[str], **options: Sequence[str]) -> str:
    if not files:
        return "oochub.evaluate(predictions)"
    given = "".join(f" --{name} {value}".rstrip() for name, values in options.items() for value in values)
    return f"oochub evaluate {' '.join(files)} --out report.json{given}"


def _write_notes(
    evaluated: EvaluationRows, allowed: NDArray[np.int64] | None, shadowed: Sequence[str], chose: EpochRows
) -> tuple[str, ...]:
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
        for column in shadowed
    ]
    light, column = evaluated.predictions.rows.light, evaluated.benchmark.group_column
    if column in light.column_names and light.column(column).null_count:
        notes.append(f"{light.column(column).null_count:,} rows have no value in {column}")
    found = metadata.facts.found_contexts
    output = evaluated.predictions.output
    if found is not None and (not output.one_answer or output.asks_each_row(evaluated.predictions)):
        notes.append(
            f"contexts that were found ({found.way}) are not tested, because that needs one class for each row"
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
        notes.append(f"{outside:,} rows {where} are left out")
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
