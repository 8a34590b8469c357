"""The README.md of a trained model: what it was trained on, how, and how its weights were chosen."""

from collections.abc import Iterable, Mapping
from typing import Any


def model_card(recipe: Mapping[str, Any], *, citations: Iterable[str] = ()) -> str:
    """Markdown with the Hub's YAML header, from the recipe of the run; the same recipe gives the same card.

    Args:
        recipe: What `RobustTrainer` writes as recipe.json.
        citations: Of the data set and the objective.

    >>> recipe = {
    ...     "objective": {"name": "erm", "hyperparameters": {}},
    ...     "arguments": {"seed": 0},
    ...     "model": {"architecture": "ResNetForImageClassification"},
    ...     "data": {"benchmark": "nooch", "config": "ce_car", "version": "1.0.0", "notes": [], "rows": {"train": 9},
    ...              "classes": ["no car", "car"], "environment_column": None, "environments": {}},
    ...     "selection": {"rule": "the last epoch, 3"},
    ...     "provenance": {"oochub": "0.1.0", "packages": {}},
    ... }
    >>> print(model_card(recipe).splitlines()[7])
    # ResNetForImageClassification trained with erm on nooch/ce_car
    """
    data, objective, model = recipe["data"], recipe["objective"], recipe["model"]
    name = f"{data['benchmark']}/{data['config']}" if data["benchmark"] else "a data set of its user's"
    rows = ", ".join(f"{split} {count:,} rows" for split, count in data["rows"].items())
    environments = ", ".join(f"{each} ({count:,})" for each, count in data["environments"].items() if count)
    given = [citation for citation in citations if citation]
    lines = [
        "---",
        "library_name: transformers",
        "pipeline_tag: image-classification",
        "tags:",
        "- oochub",
        f"- {objective['name']}",
        "---",
        f"# {model['architecture']} trained with {objective['name']} on {name}",
        "",
        "## Data",
        f"{name}, version {data['version']}: {rows}. Classes: {', '.join(data['classes'])}.",
        *(f"Note: {note}." for note in data["notes"]),
        *([f"Training environments, column `{data['environment_column']}`: {environments}."] if environments else []),
        "",
        "## Training",
        _table({"objective": objective["name"], **objective["hyperparameters"], **recipe["arguments"]}),
        "",
        f"The kept weights are those of {recipe['selection']['rule']}.",
        "",
        "## Versions",
        ", ".join(["oochub " + recipe["provenance"]["oochub"], *_versions(recipe["provenance"]["packages"])]) + ".",
    ]
    if given:
        lines += ["", "## Citations", *(f"```\n{citation.strip()}\n```" for citation in given)]
    return "\n".join(lines) + "\n"


def _table(values: Mapping[str, Any]) -> str:
    return "\n".join(["| setting | value |", "|---|---|", *(f"| {key} | {value} |" for key, value in values.items())])


def _versions(packages: Mapping[str, str]) -> list[str]:
    return [f"{name} {version}" for name, version in packages.items()]
