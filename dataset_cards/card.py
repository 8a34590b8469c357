"""Writes the Hub card of a benchmark from its declaration."""

import math

from datasets import get_dataset_config_names
from huggingface_hub import DatasetCard, DatasetCardData

from oochub.benchmark import Benchmark
from oochub.sides import GroupsOfRows, Rows


def card(benchmark: Benchmark) -> DatasetCard:
    """The card: front matter and text, without the configs, which a build adds.

    The committed cards `dataset_cards/<name>.md` are this function's output, held so by a test; `make cards` writes
    them.

    >>> from oochub import get
    >>> "## Citation" in card(get("benchmark", "nooch")).text
    True
    """
    data = DatasetCardData(
        pretty_name=benchmark.title,
        task_categories=[benchmark.task_category],
        tags=["out-of-context", "robustness", "distribution-shift"],
        license="other",
        license_name=f"{benchmark.name}-images-and-labels".replace("_", "-"),
        license_link="LICENSE.md",
    )
    return DatasetCard(f"---\n{data.to_yaml()}\n---\n{_text(benchmark)}")


def _text(benchmark: Benchmark) -> str:
    differing = "".join(
        f"- {', '.join(f'`{config}`' for config in configs)}: {words}\n"
        for words, configs in benchmark.differences.items()
    )
    differing = f"\nConfigs that differ:\n\n{differing}" if differing else ""
    config = ', "<config>"' if len(get_dataset_config_names(benchmark.name)) > 1 else ""
    guessing = "" if math.isnan(benchmark.chance) else f"; guessing gives {benchmark.chance:g}"
    files = "\n".join(
        f"| {', '.join(f'`{path}`' for path in paths)} | {url} | {size} | {license} |"
        for (url, size, license), paths in benchmark.downloads.items()
    )
    return f"""
# {benchmark.title}

{benchmark.summary} Version {benchmark.version} of the rows, built by `oochub` from the raw files below.

| side | rows |
|---|---|
| in context | {_rows(benchmark.in_context)} |
| out of context | {_rows(benchmark.out_of_context)} |

Headline: {benchmark.primary_metric} out of context against in context{guessing}.
Metrics: {", ".join(benchmark.metrics)}.
{differing}
## Use

```python
import oochub
from datasets import load_dataset

data = load_dataset("{benchmark.name}"{config}, data_dir="<raw folder>")
```
{_class_columns(benchmark)}
A built repository loads without oochub: `load_dataset("<folder or repository>"{config})`. The last column of its rows,
`build`, says which build they are of; `build.json` holds what that found in the raw files.

## Raw files

| files | from | size | license |
|---|---|---|---|
{files}

License of the images: {benchmark.images_license}. License of the labels: {benchmark.annotations_license}.

## Citation

```bibtex
{benchmark.citation}
```
"""


def _class_columns(benchmark: Benchmark) -> str:
    """How a filter names a class: as a number. Of the side in context, else of the label; "" where there is none."""
    named = [(column, f'"{values[0]}"') for column, values in benchmark.in_context.where.items()]
    named += [("label", "name")] if benchmark.output == "classes" else []
    if not named:
        return ""
    (column, name), split = named[0], benchmark.in_context.split
    return f"""
A column of classes (`ClassLabel`) holds numbers, so `row["{column}"] == {name}` is false in every row. Compare numbers:

```python
number = data["{split}"].features["{column}"].str2int({name})
chosen = data["{split}"].filter(lambda row: row["{column}"] == number)
```

or take names in place of all numbers but the label's: `oochub.load("{benchmark.name}/<config>", text_columns=True)`.
"""


def _rows(side: Rows) -> str:
    where = "; ".join(f"`{column}` in {', '.join(values)}" for column, values in side.where.items())
    groups = f", by the groups in `{side.column}`" if isinstance(side, GroupsOfRows) else ""
    return f"split `{side.split}`" + (f", {where}" if where else "") + f"{groups} ({side.name})"
