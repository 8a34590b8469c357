"""Writes the Hub card of a benchmark from its declaration."""

import math
from collections.abc import Iterable, Sequence

from datasets import get_dataset_config_names
from huggingface_hub import DatasetCard, DatasetCardData

from oochub.benchmark import Benchmark
from oochub.records.sides import GroupsOfRows, Rows, Spectrum

_MOST_CONFIGS = 30  # that a list names
_INPUTS = {"pictures": "images", "token_ids": "token ids"}  # kinds of input whose name is no word of a text


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
        task_categories=list_tasks(benchmark, get_dataset_config_names(benchmark.name)),
        tags=["out-of-context", "robustness", "distribution-shift"],
        license="other",
        license_name=f"{benchmark.name}-images-and-labels".replace("_", "-"),
        license_link="LICENSE.md",
    )
    return DatasetCard(f"---\n{data.to_yaml()}\n---\n{_read_text(benchmark)}")


def list_tasks(benchmark: Benchmark, configs: Iterable[str]) -> list[str]:
    """The Hub's categories of what configs are for, sorted.

    >>> from oochub import get
    >>> list_tasks(get("benchmark", "wilds"), ["camelyon17", "amazon", "amazon_time"])
    ['image-classification', 'text-classification']
    """
    return sorted({benchmark.of(config).task_category for config in configs})


def _read_text(benchmark: Benchmark) -> str:
    config = ', "<config>"' if len(get_dataset_config_names(benchmark.name)) > 1 else ""
    files = "\n".join(
        f"| {', '.join(f'`{path}`' for path in paths)} | {url} | {size} | {license} |"
        for (url, size, license), paths in benchmark.downloads.items()
    )
    return f"""
# {benchmark.title}

{benchmark.summary} Version {benchmark.version} of the rows, built by `oochub` from the raw files below.

{_list_data_sets(benchmark) or _list_sides(benchmark)}
{_list_counts(benchmark)}## Use

```python
import oochub
from datasets import load_dataset

data = load_dataset("{benchmark.name}"{config}, data_dir="<raw folder>")
```
{_describe_class_columns(benchmark)}
A built repository loads without oochub: `load_dataset("<folder or repository>"{config})`. The metadata of its files
name their build; `build.json` holds what that build found in the raw files.

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


def _list_data_sets(benchmark: Benchmark) -> str:
    """Each data set of a collection; "" for a benchmark that is none."""
    data_sets = benchmark.data_sets
    if len(data_sets) == 1:
        return ""
    cells = [
        (
            ", ".join(f"`{config}`" for config in family.configs),
            family.summary,
            f"{_INPUTS.get(family.input, family.input)}, {family.output}",
            family.task_category,
            family.primary_metric,
            _count_rows(family.in_context),
            _count_rows(family.out_of_context),
        )
        for family in data_sets
    ]
    header = ("configs", "what it is", "input, output", "task", "headline", "in context", "out of context")
    rows = [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *cells)]
    first = "Sides and headline are those of the first config of each row."
    return "\n".join([*rows, "", first, _find_differing_configs(data_sets)])


def _list_counts(benchmark: Benchmark) -> str:
    """The rows of a complete build; "" if a benchmark says none."""
    if not (benchmark.expected_rows or benchmark.counts):
        return ""
    rows = ", ".join(f"{split} {count:,}" for split, count in benchmark.expected_rows.items())
    text = " ".join(filter(None, (rows and f"A complete build has these rows: {rows}.", benchmark.counts)))
    return f"{text} A build with fewer rows says so in its notes.\n\n"


def _list_sides(benchmark: Benchmark) -> str:
    guessing = "" if math.isnan(benchmark.chance) else f"; guessing gives {benchmark.chance:g}"
    return f"""| side | rows |
|---|---|
| in context | {_count_rows(benchmark.in_context)} |
| out of context | {_count_rows(benchmark.out_of_context)} |

Headline: {benchmark.primary_metric} out of context compared with in context{guessing}.{_describe_pairs(benchmark)}
Metrics: {", ".join(benchmark.metrics)}.
{"".join(map(_describe_spectrum, benchmark.spectra))}{_find_differing_configs([benchmark])}"""


def _describe_spectrum(spectrum: Spectrum) -> str:
    """Which configs detectors are evaluated on, in groups."""
    lines = [f"- {name}: {_list_configs(configs)}" for name, configs in spectrum.new.items()]
    text = f"Detectors look for new classes beside those of `{spectrum.known}`:"
    if not spectrum.shifted:
        return "\n".join(["", text, "", *lines, ""])
    lines.append(f"- shifted, which the full spectrum counts as in distribution: {_list_configs(spectrum.shifted)}")
    also = f"{spectrum.source} takes {_list_configs(spectrum.published)} of these."
    is_other = set(spectrum.published) != set(spectrum.shifted)
    return "\n".join(["", text, "", *lines, *(["", also] if is_other else []), ""])


def _list_configs(configs: Sequence[str]) -> str:
    return ", ".join(f"`{config}`" for config in configs)


def _describe_pairs(benchmark: Benchmark) -> str:
    """What both sides show, for a benchmark whose sides show the same things elsewhere; "" for another."""
    if benchmark.pair is None:
        return ""
    return f" Both sides show the same things, by the column `{benchmark.pair}`, so this difference is one of pairs."


def _find_differing_configs(benchmarks: list[Benchmark]) -> str:
    """The configs whose sides or headline are others than those of their data set; "" without."""
    lines = [
        f"- {_name_configs(configs)}: {words}\n"
        for benchmark in benchmarks
        for words, configs in benchmark.differences.items()
    ]
    return f"\nConfigs that differ:\n\n{''.join(lines)}" if lines else ""


def _name_configs(configs: Sequence[str]) -> str:
    """The names of configs, of many the first."""
    shown = [f"`{config}`" for config in configs]
    return ", ".join(shown if len(shown) <= _MOST_CONFIGS else [*shown[:4], f"... ({len(shown)} in all)"])


def _describe_class_columns(benchmark: Benchmark) -> str:
    """How a filter names a class: as a number. It is one of the side in context, else of the label; "" if none."""
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

or load names instead of numbers, except for the label: `oochub.load("{benchmark.name}/<config>", text_columns=True)`.
"""


def _count_rows(side: Rows) -> str:
    where = "; ".join(f"`{column}` in {', '.join(values)}" for column, values in side.where.items())
    groups = f", by the groups in `{side.column}`" if isinstance(side, GroupsOfRows) else ""
    return f"split `{side.split}`" + (f", {where}" if where else "") + f"{groups} ({side.name})"
