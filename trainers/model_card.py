"""The README.md of a trained model: what it was trained on, how, and how its weights were chosen."""

from collections.abc import Iterable, Mapping
from typing import Any


def write_model_card(recipe: Mapping[str, Any], *, citations: Iterable[str] = ()) -> str:
    """Markdown with the Hub's YAML header, from the recipe of the run; the same recipe gives the same card.

    Args:
        recipe: What `RobustTrainer` writes as recipe.json.
        citations: Citations of the data set and the objective.

    >>> recipe = {
    ...     "objective": {"name": "erm", "hyperparameters": {}},
    ...     "arguments": {"seed": 0},
    ...     "model": {"architecture": "ResNetForImageClassification"},
    ...     "data": {"benchmark": "nooch", "config": "ce_car", "version": "1.0.0", "notes": [], "rows": {"train": 9},
    ...              "classes": ["no car", "car"], "problem_type": "single_label_classification",
    ...              "environment_column": None, "environments": {}, "found_environments": None},
    ...     "selection": {"rule": "the last epoch, 3", "numbers": {}},
    ...     "provenance": {"oochub": "0.1.0", "packages": {}},
    ... }
    >>> print(write_model_card(recipe).splitlines()[7])
    # ResNetForImageClassification trained with erm on nooch/ce_car
    """
    data, objective, model = recipe["data"], recipe["objective"], recipe["model"]
    name = f"{data['benchmark']}/{data['config']}" if data["benchmark"] else "the user's own data"
    rows = ", ".join(f"{split} {count:,} rows" for split, count in data["rows"].items())
    environments = ", ".join(f"{name_of} ({count:,})" for name_of, count in data["environments"].items() if count)
    kind = "text" if "Sequence" in model["architecture"] else "image"
    tag = "text-generation" if data["problem_type"] == "next_token" else f"{kind}-classification"
    results = {name: f"{value:.4g}" for name, value in _flatten_numbers(recipe["selection"]["numbers"]).items()}
    given = [citation for citation in citations if citation]
    versions = {"oochub": recipe["provenance"]["oochub"], **recipe["provenance"]["packages"]}
    rule = recipe["selection"]["rule"]
    kept = f"those of {rule}" if recipe["arguments"].get("average", "none") == "none" else rule
    lines = [
        "---",
        "library_name: transformers",
        f"pipeline_tag: {tag}",
        "tags:",
        "- oochub",
        f"- {objective['name']}",
        "---",
        f"# {model['architecture']} trained with {objective['name']} on {name}",
        "",
        "## Data",
        f"{name}, version {data['version']}: {rows}. {_list_labels(data)}",
        *(f"Note: {note}." for note in data["notes"]),
        *([f"Training environments, column `{data['environment_column']}`: {environments}."] if environments else []),
        *_describe_found(data),
        "",
        "## Training",
        _build_table({"objective": objective["name"], **objective["hyperparameters"], **recipe["arguments"]}),
        "",
        f"The kept weights are {kept}.",
        *_describe_special(recipe["arguments"]),
        "",
        *(["## Results", "On the validation split:", "", _build_table(results, head="number"), ""] if results else []),
        "## Versions",
        ", ".join(f"{package} {version}" for package, version in versions.items()) + ".",
    ]
    if given:
        lines += ["", "## Citations", *(f"```\n{citation.strip()}\n```" for citation in given)]
    return "\n".join(lines) + "\n"


def _list_labels(data: Mapping[str, Any]) -> str:
    names, kind = data["classes"], data["problem_type"]
    if kind == "regression":
        return "It predicts a number."
    if kind == "next_token":
        return "It predicts the next token."
    shown = f"{', '.join(names[:20])}{f' and {len(names) - 20} more' if len(names) > 20 else ''}"
    return f"Labels (a row may have several): {shown}." if kind.startswith("multi") else f"Classes: {shown}."


def _describe_found(data: Mapping[str, Any]) -> list[str]:
    """What a reader of the card must know of environments that nobody labelled."""
    environments = data["found_environments"]
    if environments is None:
        return []
    checks = [
        f"for {name}, {check['wrong_with']} of {check['checked_with']} rows said to have it and "
        f"{check['wrong_without']} of {check['checked_without']} rows said to lack it were wrong"
        for name, check in environments["checked"].items()
    ]
    by = environments["way"] + (f" with {environments['model']}" if environments["model"] else "")
    checked = f"people checked them: {'; '.join(checks)}" if checks else "people have not checked them"
    return [f"These environments are contexts that a program found, by {by}; {checked}."]


def _describe_special(arguments: Mapping[str, Any]) -> list[str]:
    """What a user of the folder must know of options that change the network."""
    notes = []
    if arguments.get("affine_after_blocks"):
        notes += ["The Auto classes of transformers open this model after `import oochub.models.affine_resnet`."]
    if (column := arguments.get("auxiliary_column")) is not None:
        notes += [f"A second head learned to predict `{column}`; it is stored apart, in auxiliary_head.safetensors."]
    if arguments.get("peft"):
        notes += [f"LoRA's matrices, of rank {arguments['lora_rank']}, are added to the weights: peft is not needed."]
    if (frozen := arguments.get("freeze")) is not None:
        notes += [f"Trained with freeze={frozen!r}; the other weights changed."]
    return notes


def _flatten_numbers(numbers: Mapping[str, Any]) -> dict[str, float]:
    """The numbers with those of each environment one by one."""
    flat: dict[str, float] = {}
    for name, value in numbers.items():
        flat |= (
            {f"{name}, {key}": part for key, part in sorted(value.items())}
            if isinstance(value, Mapping)
            else {name: value}
        )
    return flat


def _build_table(values: Mapping[str, Any], *, head: str = "setting") -> str:
    return "\n".join([f"| {head} | value |", "|---|---|", *(f"| {key} | {value} |" for key, value in values.items())])
