"""The benchmark that predictions are of, and what a report says of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.metric import MetricFacts, facts_of
from oochub.output import output_of
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import OWN
from oochub.records.metadata import Metadata, Training
from oochub.records.origin_records import EvaluatedBenchmark, EvaluatedModel, License, SideRows
from oochub.records.report_records import MetricDescription
from oochub.records.sides import Rows, Vocabulary, WorstOfGroups

_SHOWN = 12  # classes


def declaration(predictions: Predictions) -> Benchmark:
    """What holds for the config of the predictions; made of their columns for data that the hub does not know."""
    name = predictions.metadata.benchmark or OWN
    if name in catalog.names("benchmark"):
        benchmark: Benchmark = catalog.get("benchmark", name)
        return _of_kind(benchmark.of(str(predictions.metadata.config)), predictions)
    splits, columns = predictions.metadata.rows, predictions.column_names
    last = "test" if "test" in splits else str(predictions.rows.row(len(predictions) - 1)["split"])
    challenged = "challenge" in columns
    column = next((each for each in ("group", "groups") if each in columns), None)
    output = predictions.output
    binary = output.one_answer and len(predictions.class_names) == 2
    facts = predictions.metadata.facts
    has_contexts = facts.usual_contexts is not None and challenged
    in_context, out_of_context, words = _sides(last, column, challenged=challenged)
    if has_contexts:
        words = _in_contexts(predictions.class_names)
    # A group of one label and one context has no AUC, so groups are compared by accuracy, and so are named contexts.
    primary = "auc" if binary and not has_contexts and (challenged or column is None) else output.primary_metric
    return Benchmark(
        name=name,
        title=str(predictions.metadata.config) if name == OWN and predictions.metadata.config else name,
        summary=_in_words(facts.usual_contexts or {}) if has_contexts else "",
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
        words=words,
        images_license="",
        annotations_license="",
    )


def _of_kind(benchmark: Benchmark, predictions: Predictions) -> Benchmark:
    """The declaration with metrics that score answers of a kind that says less: choices have no AUC."""
    kind, output = predictions.metadata.kind, predictions.output
    if output.rank >= output_of(benchmark.output).rank:
        return benchmark

    def scores(name: str) -> bool:
        facts = facts_of(catalog.get("metric", name))
        return facts is not None and kind in facts.outputs

    if scores(benchmark.primary_metric):
        return replace(benchmark, metrics=tuple(filter(scores, benchmark.metrics)))
    chance = output.chance(predictions)
    return replace(benchmark, primary_metric=output.primary_metric, metrics=output.metrics, chance=chance)


def _sides(split: str, column: str | None, *, challenged: bool) -> tuple[Rows, Rows, Vocabulary]:
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


def _in_contexts(class_names: Sequence[str]) -> Vocabulary:
    """The words of own data whose classes have usual contexts."""
    words = Vocabulary(
        inside="in usual contexts",
        outside="in unusual ones",
        inside_title="in usual contexts",
        outside_title="in unusual contexts",
        cause="context",
        place="in",
    )
    if len(class_names) != 2:
        return words
    negative, positive = (f"{name} in unusual contexts" for name in class_names)
    return replace(words, hard_negative=negative, hard_positive=positive)


def _in_words(usual: Mapping[str, Sequence[str]]) -> str:
    """The usual contexts, of a few classes: "Usual contexts: dog: beach, grass; cat: house."."""
    shown = [f"{name}: {', '.join(contexts) or 'none'}" for name, contexts in list(usual.items())[:_SHOWN]]
    more = [f"and of {len(usual) - _SHOWN:,} more classes"] if len(usual) > _SHOWN else []
    return f"Usual contexts: {'; '.join([*shown, *more])}."


def evaluated_benchmark(said: Metadata, benchmark: Benchmark) -> EvaluatedBenchmark:
    """What a report says of the benchmark, of predictions that say this of themselves."""
    facts = said.facts
    facts_of_metric = facts_of(catalog.get("metric", benchmark.primary_metric))
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
        in_context=_side(benchmark.in_context),
        out_of_context=_side(benchmark.out_of_context),
        words=benchmark.words,
        data_set=said.data_set,
    )


def evaluated_model(predictions: Predictions) -> EvaluatedModel:
    """What a report says of the model."""
    model, training = predictions.metadata.model, predictions.metadata.training or Training()
    return EvaluatedModel(
        id=model.id,
        revision=model.revision,
        mode=model.mode,
        class_names=tuple(predictions.class_names),
        objective=training.objective,
        seeds=() if training.seed is None else (training.seed,),
        trained_on=model.trained_on,
    )


def metric_descriptions(metrics: Mapping[str, Callable[..., Any]]) -> dict[str, MetricDescription]:
    """What a report says of the metrics, by the keys of their numbers."""
    descriptions: dict[str, MetricDescription] = {}
    for name, metric in metrics.items():
        facts = facts_of(metric) or MetricFacts(title=name, direction="none", maximum=None)
        parts = {f"{name}.{key}": each for key, each in facts.keys.items()} if facts.keys else {name: facts}
        descriptions |= {key: MetricDescription.of(each) for key, each in parts.items()}
    return descriptions


def _side(rows: Rows) -> SideRows:
    return SideRows(name=rows.name, split=rows.split, where=rows.where, form=rows.form)
