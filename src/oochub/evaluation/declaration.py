"""The benchmark that predictions are of, and what a report says of it."""

from typing import Any

from oochub import catalog
from oochub.benchmark import Benchmark, Selection
from oochub.prediction.predictions import Predictions


def declaration(predictions: Predictions) -> Benchmark:
    """The benchmark of the predictions; one made of their columns for a data set that the hub does not know."""
    name = predictions.metadata["benchmark"]
    if name in catalog.names("benchmark"):
        known: Benchmark = catalog.get("benchmark", name)
        return known
    split = predictions.split
    last = "test" if "test" in split else str(split[-1])
    hard = {"challenge": ("hard_positive", "hard_negative", "hard")}
    challenged = "challenge" in predictions.table.column_names
    binary = len(predictions.class_names) == 2
    return Benchmark(
        name=name,
        title=name,
        summary="",
        version=str(predictions.metadata["version"]),
        homepage="",
        citation="",
        raw_files=(),
        in_context=Selection(name="easy", split=last, where={"challenge": ("easy",)} if challenged else {}),
        out_of_context=Selection(name="hard", split=last, where=hard if challenged else {"split": ()}),
        primary_metric="auc" if binary else "accuracy",
        metrics=("accuracy", "error_rate", "nll", "ece", *(("auc",) if binary else ())),
        chance=1 / len(predictions.class_names) if not binary else 0.5,
        images_license="",
        annotations_license="",
    )


def benchmark_fields(predictions: Predictions, benchmark: Benchmark) -> dict[str, Any]:
    """The field `benchmark` of a report."""
    facts = predictions.metadata.get("facts", {})
    sides = {"in_context": benchmark.in_context, "out_of_context": benchmark.out_of_context}
    return {
        "name": benchmark.name,
        "config": predictions.metadata["config"],
        "title": benchmark.title,
        "version": predictions.metadata["version"],
        "summary": benchmark.summary,
        "homepage": benchmark.homepage,
        "citation": benchmark.citation,
        "licenses": [
            {"what": what, "license": license}
            for what, license in (("images", benchmark.images_license), ("labels", benchmark.annotations_license))
            if license
        ],
        "primary_metric": benchmark.primary_metric,
        "metric_direction": "higher",
        "chance": benchmark.chance,
        "practical_gap": benchmark.practical_gap,
        "context_column": benchmark.context_column,
        "object": facts.get("object"),
        "contexts": list(facts.get("contexts", [])),
        **{
            side: {"name": one.name, "split": one.split, "where": {key: list(v) for key, v in one.where.items()}}
            for side, one in sides.items()
        },
    }
