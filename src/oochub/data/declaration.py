"""The benchmark that predictions are of: what a report says of it, and the words that it knows.

These are the words of challenges, of columns that a benchmark closes, of its splits and configs.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.metric import MetricFacts, read_facts
from oochub.output import get_output
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import OWN, OwnDeclaration
from oochub.records.metadata import Metadata, Training
from oochub.records.origin_records import EvaluatedBenchmark, EvaluatedModel, License, SideRows
from oochub.records.report_records import MetricDescription
from oochub.records.sides import CHALLENGES, GroupsOfRows, Rows, Vocabulary, WorstOfGroups

_SHOWN = 12  # classes


_UNSAID = "0.0.0"  # the version of predictions that say none


def find_declaration(predictions: Predictions) -> Benchmark:
    """What holds for the config of the predictions; made of their columns for data that the hub does not know."""
    name = predictions.metadata.benchmark or OWN
    if name in catalog.names("benchmark"):
        benchmark: Benchmark = catalog.get("benchmark", name)
        return _fit_to_kind(benchmark.of(str(predictions.metadata.config)), predictions)
    splits, columns = predictions.metadata.rows, predictions.column_names
    last = "test" if "test" in splits else str(predictions.rows.row(len(predictions) - 1)["split"])
    facts = predictions.metadata.facts
    challenged = "challenge" in columns
    if challenged and facts.usual_contexts is not None:  # a row in a context that is usual or unusual for its class
        words_of_rows = np.asarray(predictions.column("challenge")[predictions.split == last], dtype=object)
        challenged = any(word in CHALLENGES for word in pd.unique(words_of_rows))
    column = next((name for name in ("group", "groups") if name in columns), None)
    output = predictions.output
    binary = output.has_confidence and len(predictions.class_names) == 2
    has_contexts = facts.usual_contexts is not None and challenged
    in_context, out_of_context, words = _choose_sides(last, column, challenged=challenged)
    if has_contexts:
        words = _describe_context_sides(predictions.class_names)
    # A group of one label and one context has no AUC, so groups are compared by accuracy, and so are named contexts.
    primary = "auc" if binary and not has_contexts and (challenged or column is None) else output.primary_metric
    summary = ""
    if has_contexts:  # "Usual contexts: dog: beach, grass; cat: house.", of a few classes
        usual = facts.usual_contexts or {}
        shown = [f"{cls}: {', '.join(contexts) or 'none'}" for cls, contexts in list(usual.items())[:_SHOWN]]
        shown += [f"and of {len(usual) - _SHOWN:,} more classes"] if len(usual) > _SHOWN else []
        summary = f"Usual contexts: {'; '.join(shown)}."
    described = Benchmark(
        name=name,
        title=str(predictions.metadata.config) if name == OWN and predictions.metadata.config else name,
        summary=summary,
        version=str(predictions.metadata.version),
        homepage="",
        citation="",
        raw_files=(),
        in_context=in_context,
        out_of_context=out_of_context,
        primary_metric=primary,
        metrics=(*output.metrics, *(("auc",) if binary else ())),
        chance=0.5 if binary else output.chance(predictions),
        output=predictions.metadata.kind,
        group_column=column or "group",
        cluster=facts.cluster if facts.cluster in columns else None,
        pair=facts.pair if facts.pair in columns else None,
        words=words,
        images_license="",
        annotations_license="",
    )
    described = described if facts.declared is None else _declare(described, facts.declared, predictions)
    own = {name: text for name, text in (facts.words or {}).items() if hasattr(described.words, name)}
    return replace(described, words=replace(described.words, **own))


def _declare(made: Benchmark, declared: OwnDeclaration, predictions: Predictions) -> Benchmark:
    """What follows from the columns, with what the author of the data declares in its place.

    Raises:
        OochubError: The predictions lack a column that a declared side reads.
    """
    sides = [side.make_rows() for side in (declared.in_context, declared.out_of_context) if side is not None]
    for side in sides:
        read = [*side.where, *([side.column] if isinstance(side, GroupsOfRows) else [])]
        missing = [column for column in read if column not in predictions.column_names]
        if missing:
            raise OochubError(
                f"The side {side.name} of {declared.title} reads the column {missing[0]}, which these predictions "
                f"lack: they have {', '.join(predictions.column_names[:12])}. Predict the rows again."
            )
    metrics = declared.metrics or made.metrics
    headline = declared.headline or (metrics[0] if declared.metrics else made.primary_metric)
    is_same = headline == made.primary_metric and math.isnan(declared.chance)
    whole = replace(
        made,
        title=declared.title,
        summary=declared.summary or made.summary,
        version=declared.version,
        homepage=declared.homepage,
        citation=declared.citation,
        primary_metric=headline,
        metrics=tuple(dict.fromkeys((headline, *metrics))),
        chance=made.chance if is_same else declared.chance,
        practical_gap=declared.practical_gap,
        sources=declared.sources,
        images_license=declared.license,
        annotations_license=declared.labels_license,
    )
    if sides:
        whole = replace(whole, in_context=sides[0], out_of_context=sides[1], words=Vocabulary())
    vocabulary = {field.name: getattr(declared.words, field.name) for field in fields(Vocabulary)}
    own = {key: words for key, words in vocabulary.items() if words != getattr(Vocabulary(), key)}
    return replace(whole, words=replace(whole.words, **own))


def _fit_to_kind(benchmark: Benchmark, predictions: Predictions) -> Benchmark:
    """The declaration with metrics that score answers of a kind that says less: choices have no AUC."""
    kind, output = predictions.metadata.kind, predictions.output
    if math.isnan(benchmark.chance) and output.asks_each_row(predictions):  # it depends on the options of the rows
        benchmark = replace(benchmark, chance=output.chance(predictions))
    if output.rank >= get_output(benchmark.output).rank:
        return benchmark

    def scores(name: str) -> bool:
        facts = _facts_of_metric(name)
        return facts is not None and kind in facts.outputs

    if scores(benchmark.primary_metric):
        return replace(benchmark, metrics=tuple(filter(scores, benchmark.metrics)))
    chance = output.chance(predictions)
    return replace(benchmark, primary_metric=output.primary_metric, metrics=output.metrics, chance=chance)


def _choose_sides(split: str, column: str | None, *, challenged: bool) -> tuple[Rows, Rows, Vocabulary]:
    """Easy rows against hard ones; else all rows against the worst group; else against nothing."""
    if challenged:
        hard = ("hard_positive", "hard_negative", "hard")
        words = Vocabulary(
            inside="on easy rows", outside="on hard rows", inside_title="on easy rows", outside_title="on hard rows"
        )
        easy = Rows(name="easy", split=split, where={"challenge": ("easy",)})
        return easy, Rows(name="hard", split=split, where={"challenge": hard}), words
    every = Rows(name="all rows", split=split)
    if column is None:
        nothing = Rows(name="none declared", split=split, where={"split": ()})
        return every, nothing, Vocabulary(inside="over all rows", inside_title="over all rows")
    words = Vocabulary(
        inside="over all rows",
        outside="in the worst group",
        inside_title="over all rows",
        outside_title="in the worst group",
    )
    return every, WorstOfGroups(split=split, column=column), words


def _describe_context_sides(class_names: Sequence[str]) -> Vocabulary:
    """The words of own data whose classes have usual contexts."""
    words = Vocabulary(
        inside="in usual contexts",
        outside="in unusual ones",
        inside_title="in usual contexts",
        outside_title="in unusual contexts",
        cause="context",
    )
    if len(class_names) != 2:
        return words
    negative, positive = (f"{name} in unusual contexts" for name in class_names)
    return replace(words, hard_negative=negative, hard_positive=positive)


def describe_benchmark(said: Metadata, benchmark: Benchmark) -> EvaluatedBenchmark:
    """What a report says of the benchmark, of predictions that say this of themselves."""
    facts = said.facts
    facts_of_metric = _facts_of_metric(benchmark.primary_metric)
    inside, outside = (
        SideRows(name=rows.name, split=rows.split, where=rows.where, form=rows.form)
        for rows in (benchmark.in_context, benchmark.out_of_context)
    )
    return EvaluatedBenchmark(
        name=benchmark.name,
        config=str(said.config),
        title=benchmark.title,
        version=said.version,
        summary=benchmark.summary,
        homepage=benchmark.homepage,
        citation=benchmark.citation,
        licenses=tuple(
            License(what=what, license=license)
            for what, license in (("images", benchmark.images_license), ("labels", benchmark.annotations_license))
            if license
        ),
        primary_metric=benchmark.primary_metric,
        metric_direction=facts_of_metric.direction if facts_of_metric else "higher",
        chance=benchmark.chance,
        practical_gap=benchmark.practical_gap,
        context_column=benchmark.context_column,
        object=facts.object,
        contexts=facts.contexts,
        in_context=inside,
        out_of_context=outside,
        words=benchmark.words,
        trial_seed=facts.trial_seed,
        thresholds=facts.name_thresholds(benchmark.out_of_context.split) or None,
        data_set=said.data_set,
        authors=facts.declared.authors if facts.declared else (),
    )


def describe_model(predictions: Predictions) -> EvaluatedModel:
    """What a report says of the model."""
    metadata = predictions.metadata
    model, training = metadata.model, metadata.training or Training()
    return EvaluatedModel(
        id=model.id,
        revision=model.revision,
        mode=model.mode,
        class_names=tuple(predictions.class_names),
        objective=training.objective,
        seeds=() if training.seed is None else (training.seed,),
        trained_on=model.trained_on,
        prompt=metadata.prompt,
        normalization=metadata.normalization,
        calibration=metadata.calibration,
    )


def describe_metrics(names: Iterable[str]) -> dict[str, MetricDescription]:
    """What a report says of the metrics of these names, by the keys of their numbers; of a user's function its name."""
    descriptions: dict[str, MetricDescription] = {}
    offered = {*catalog.names("metric")}
    for name in names:
        facts = (_facts_of_metric(name) if name in offered else None) or MetricFacts.of_unknown(name)
        parts = {f"{name}.{key}": fact for key, fact in facts.keys.items()} if facts.keys else {name: facts}
        descriptions |= {key: MetricDescription.of(fact) for key, fact in parts.items()}
    return descriptions


def _facts_of_metric(name: str) -> MetricFacts | None:
    return read_facts(catalog.get("metric", name))


def check_closed_words(predictions: Predictions, benchmark: Benchmark) -> tuple[str, ...]:
    """Checks the words of predictions by which rows come to a side, and says what comes to none.

    Args:
        predictions: Any predictions.
        benchmark: The declaration of their config.

    Returns:
        Notes: how many rows say nothing, or are of a split that no side is of; another version or config of the
        benchmark than is known here.

    Raises:
        OochubError: A word that is none of `challenge` or of a column that the benchmark closes: how many rows have
            it, and the first; a column of clusters that is missing.

    >>> rows = Predictions.from_arrays(logits=[[1.0, 0.0]] * 2, label=[0, 1], challenge=["easy", "hard_pos"])
    >>> check_closed_words(rows, catalog.get("benchmark", "nooch"))
    Traceback (most recent call last):
    oochub.errors.OochubError: No word of the column challenge named 'hard_pos'. Did you mean 'hard_positive' or \
'hard'? Allowed: easy, hard, hard_negative, hard_positive. 1 of 2 rows has it, first 1.
    """
    notes: list[str] = []
    for column, words in {"challenge": CHALLENGES, **benchmark.closed}.items():
        if column in predictions.column_names:
            notes += _check_words(predictions, column, words)
    notes += _check_clusters(predictions, benchmark)
    if (predictions.metadata.benchmark or OWN) in catalog.names("benchmark"):
        notes += [*_note_other_splits(predictions.metadata.rows, benchmark), *_note_origin(predictions, benchmark)]
    return tuple(notes)


def _check_words(predictions: Predictions, column: str, words: Sequence[str]) -> Iterator[str]:
    """Refuses another word than these; a note where rows have none."""
    table = predictions.rows.light
    values = (table if column in table.column_names else predictions.rows).column(column)
    is_list = pa.types.is_list(values.type) or pa.types.is_large_list(values.type)
    flat = pc.list_flatten(values) if is_list else values
    kind = flat.type.value_type if pa.types.is_dictionary(flat.type) else flat.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
        first = next((value for value in flat.to_pylist() if value is not None), None)
        raise OochubError(
            f"The column {column} must hold the words {', '.join(words)}, got {kind}, first {first!r}. Write one of "
            "them in each row, or rename the column."
        )
    counts = Counter({entry["values"]: entry["counts"] for entry in pc.value_counts(flat).to_pylist()})
    strange = [word for word in counts if word and word not in words]
    if strange:
        cells = [(value or ()) if is_list else (value,) for value in values.to_pylist()]
        rows = [row for row, words_of_row in enumerate(cells) if strange[0] in words_of_row]
        first = table.column("example_id")[rows[0]]
        extent = f"{len(rows):,} of {len(table):,} rows {'has' if len(rows) == 1 else 'have'} it, first {first}."
        more = len(strange) - 1
        others = f" {more:,} more {'word is' if more == 1 else 'words are'} unknown." if more else ""
        raise unknown_name(f"word of the column {column}", strange[0], words, extent + others)
    missing = counts[None] + counts[""]
    if missing and column == "challenge":
        yield from _describe_no_side(predictions, values, missing)


def _describe_no_side(predictions: Predictions, challenge: pa.ChunkedArray, n: int) -> Iterator[str]:
    """How many rows are of no side, and why: they have no context, or one that is neither usual nor unusual."""
    light = predictions.rows.light
    if predictions.metadata.facts.usual_contexts is None:
        yield f"{n:,} rows have no value in challenge: they are neither easy nor hard"
        return
    nowhere = 0
    if "context" in light.column_names:
        has_side = pc.fill_null(pc.not_equal(pc.cast(challenge, pa.string()), ""), False)
        nowhere = pc.sum(pc.and_(pc.is_null(light.column("context")), pc.invert(has_side))).as_py() or 0
    if nowhere:
        have, are = ("row has", "is") if nowhere == 1 else ("rows have", "are")
        yield f"{nowhere:,} {have} no context, and {are} on no side"
    if (left := n - nowhere) > 0:
        rows = "1 row is in a context that is" if left == 1 else f"{left:,} rows are in contexts that are"
        rows_said = f"{rows} neither usual nor unusual for {'its' if left == 1 else 'their'} class, and on no side"
        usual = choose_wording("usual={'CLASS': ['CONTEXT']}", "--usual CLASS=CONTEXT")
        advice = f", so groups are compared; {usual} names the usual contexts of a class"
        yield rows_said + (advice if left == len(light) else "")


def _check_clusters(predictions: Predictions, benchmark: Benchmark) -> Iterator[str]:
    """Refuses predictions without the column of clusters: their intervals would be too narrow without a word."""
    column = benchmark.cluster
    if column is None:
        return
    if column not in predictions.column_names:
        load = choose_wording(f"oochub.load('{benchmark.name}/...')", f"oochub build {benchmark.name}/...")
        raise OochubError(
            f"Intervals of {benchmark.title} are over its clusters, the column {column}, which these predictions lack: "
            f"they have {', '.join(predictions.column_names[:12])}. Predict the rows of {load}, or give the column "
            f"{column} beside the others."
        )
    missing = predictions.rows.column(column).null_count
    if missing:
        yield f"{missing:,} rows have no value in {column}: they count as one cluster"


def _note_other_splits(rows: Mapping[str, int], benchmark: Benchmark) -> Iterator[str]:
    """Rows of a split that is of neither side."""
    sides = list(dict.fromkeys((benchmark.in_context.split, benchmark.out_of_context.split)))
    for split, count in rows.items():
        if split in (*sides, "train", benchmark.validation_split):
            continue
        near = get_close_matches(split.lower().strip(), [side for side in sides if side not in rows], n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        yield f"{count:,} rows are in the split {split}, but the sides are in {' and '.join(sides)}{meant}"


def _note_origin(predictions: Predictions, benchmark: Benchmark) -> Iterator[str]:
    """Another version than the one that is installed, or a config that it does not have."""
    from oochub.data.load import get_builder_class

    metadata = predictions.metadata
    name, version, config = benchmark.name, metadata.version, metadata.config
    if version not in (_UNSAID, benchmark.version):
        yield (
            f"the rows are from version {version} of {name}, but version {benchmark.version} is installed here; its "
            "sides and words are used"
        )
    configs: Any = get_builder_class(name).builder_configs
    if configs and config not in (None, "default", *configs):
        yield f"the config {config} of {name} is not known here, so the general sides and words of {name} are used"
