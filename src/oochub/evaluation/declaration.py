"""The benchmark that predictions are of, and what a report says of it."""

from typing import Any

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.metric import facts_of
from oochub.prediction.predictions import Predictions
from oochub.report.records import EvaluatedBenchmark, License, SideRows
from oochub.schema import to_json
from oochub.sides import Rows


def declaration(predictions: Predictions) -> Benchmark:
    """What holds for the config of the predictions; made of their columns for data that the hub does not know."""
    name = predictions.metadata.benchmark or "custom"
    if name in catalog.names("benchmark"):
        benchmark: Benchmark = catalog.get("benchmark", name)
        return benchmark.of(str(predictions.metadata.config))
    split = predictions.split
    last = "test" if "test" in split else str(split[-1])
    hard = {"challenge": ("hard_positive", "hard_negative", "hard")}
    challenged = "challenge" in predictions.table.column_names
    binary = len(predictions.class_names) == 2
    return Benchmark(
        name=name,
        title=name,
        summary="",
        version=str(predictions.metadata.version),
        homepage="",
        citation="",
        raw_files=(),
        in_context=Rows(name="easy", split=last, where={"challenge": ("easy",)} if challenged else {}),
        out_of_context=Rows(name="hard", split=last, where=hard if challenged else {"split": ()}),
        primary_metric="auc" if binary else "accuracy",
        metrics=("accuracy", "error_rate", "nll", "ece", *(("auc",) if binary else ())),
        chance=1 / len(predictions.class_names) if not binary else 0.5,
        images_license="",
        annotations_license="",
    )


def benchmark_fields(predictions: Predictions, benchmark: Benchmark) -> dict[str, Any]:
    """The field `benchmark` of a report."""
    facts = predictions.metadata.facts
    facts_of_metric = facts_of(catalog.get("metric", benchmark.primary_metric))
    record = EvaluatedBenchmark(
        name=benchmark.name,
        config=str(predictions.metadata.config),
        title=benchmark.title,
        version=predictions.metadata.version,
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
    )
    content: dict[str, Any] = to_json(record)
    return content


def _side(rows: Rows) -> SideRows:
    return SideRows(name=rows.name, split=rows.split, where=rows.where, form=rows.form)
