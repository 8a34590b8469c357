"""Numbers that papers report, as facts: for reference beside measured ones, never in their place.

One JSON file per benchmark, `studies/reported/<benchmark>.json`: its source, setting, notes, and tables as printed,
each with the metric, slice and methods under the names of this hub; of ImageNet-OOD, a slice is the set out of
distribution and the methods are detectors. A table may have a setting, notes and a model of its own; one with
`only_if_named` never stands for the paper if no table is named. A cell is [mean, standard deviation] or null where the
source has none that can be read with certainty. If a paper exists in several `versions`, the keys of its tables are
their numbers in the first; a table has a `name`, and `numbers` in the other versions that print it.
"""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

from oochub import catalog
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.report import wording


class ReportedNumber(NamedTuple):
    """A printed number: its mean, its standard deviation (nan where none is printed), and its table ("3 (ce)")."""

    mean: float
    sd: float
    table: str


class ReportedModel(NamedTuple):
    """What was trained for a table: its name in print, its class in transformers, and whether from trained weights."""

    title: str
    architecture: str
    pretrained: bool


@dataclass(frozen=True, kw_only=True)
class ReportedNumbers:
    """What a paper reports of one metric on one slice; as text, where it stands.

    Attributes:
        source: Authors, year and title.
        setting: What was measured: the model, the split.
        values: The numbers by (config, method), in the order of the paper.
        notes: What must be known of them, such as a misprint.
        version: Which version of the paper numbers its tables so; "" where there is one.
    """

    source: str
    setting: str
    values: Mapping[tuple[str, str], ReportedNumber]
    notes: tuple[str, ...] = ()
    version: str = ""

    def among(self, configs: Collection[str]) -> "ReportedNumbers":
        """Those of some configs."""
        values = {place: number for place, number in self.values.items() if place[0] in configs}
        return replace(self, values=values, notes=self.notes if values else ())

    def __str__(self) -> str:
        tables = sorted(
            {number.table for number in self.values.values()}, key=lambda name: (len(name.split()[0]), name)
        )
        if not tables:
            return f"{self.source} report no such numbers."
        of = f"Table{'s' if len(tables) > 1 else ''} {wording.join_names(tables)}"
        source = f"{self.source}, {self.version}" if self.version else self.source
        return f"Reported, not measured: {of} of {source} ({self.setting}); never bold."


def find_reported_numbers(
    benchmark: str,
    metric: str,
    slice: str,
    *,
    table: str | None = None,
    model: ReportedModel | None = None,
    version: str | None = None,
) -> ReportedNumbers:
    """The reported numbers of a metric on a slice.

    If two tables print the same number, the one with a standard deviation is taken, else the first.

    Args:
        benchmark: Benchmark, one of `list_reported_benchmarks()`.
        metric: Metric as in a report ("auc", "worst_group.nll").
        slice: The name of a slice as in a report ("out_of_context", "hard_positive").
        table: The number or the name of a table, to take no other's.
        model: One of `list_reported_models`, to take its tables; None is the paper's main one, if no table is named.
        version: A version of a paper that has several, as `check_table` allows; None is the first.

    Returns:
        The numbers as fractions or nats; none where the paper prints no such table.

    Raises:
        OochubError: No numbers of that benchmark are known.

    >>> find_reported_numbers("nooch", "auc", "out_of_context").values["ce_car", "group_dro"]
    ReportedNumber(mean=0.891, sd=0.006, table='9')
    >>> find_reported_numbers("nooch", "auc", "out_of_context", table="ce", version="checklist").values["ce_car", "erm"]
    ReportedNumber(mean=0.769, sd=nan, table='2 (ce)')
    """
    content = _read_content(benchmark)
    values: dict[tuple[str, str], ReportedNumber] = {}
    notes: dict[str, None] = {}
    setting, versions = content["setting"], content.get("versions", {})
    for number, printed in _list_tables(content, version):
        if (printed["metric"], printed["slice"]) != (metric, slice):
            continue
        if (
            table not in (number, printed.get("name"))
            if table
            else _find_model(content, printed) != (model or _find_model(content, {}))
        ):
            continue
        if table is None and printed.get("only_if_named"):
            continue
        setting = printed.get("setting", setting) if table or model else setting
        notes |= dict.fromkeys(printed.get("notes", ()))
        for config, cells in printed["rows"].items():
            for method, cell in zip(printed["columns"], cells, strict=True):
                if cell is not None and (cell[1] is not None or (config, method) not in values):
                    sd = math.nan if cell[1] is None else cell[1]
                    label = f"{number} ({printed['name']})" if "name" in printed else number
                    values[config, method] = ReportedNumber(cell[0], sd, label)
    return ReportedNumbers(
        source=content["source"],
        setting=setting,
        values=values,
        notes=tuple(notes),
        version=versions.get(version or "") or next(iter(versions.values()), ""),
    )


def list_reported_models(benchmark: str) -> dict[str, ReportedModel]:
    """The model of each table by its number; none where the paper has one setting, or says no more of it.

    >>> {table: model.title for table, model in list_reported_models("spawrious").items()}
    {'3': 'ResNet-50', '4': 'ResNet-50 from scratch', '5': 'ViT-B/16'}
    """
    content = _read_content(benchmark)
    models = {name.partition(" ")[0]: _find_model(content, printed) for name, printed in content["tables"].items()}
    return {number: model for number, model in models.items() if model}


def check_table(table: str | None, version: str | None, benchmarks: Sequence[str]) -> None:
    """Checks that a paper of one of the benchmarks has a table of that number or name.

    Raises:
        OochubError: No paper of them has such a table or version; a number alone that another version of the paper
            gives to another table.

    >>> check_table("5", None, ["nooch", "spawrious"])
    >>> check_table("2", None, ["nooch"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    oochub.errors.OochubError: Table 2 is ce in the version with the NeurIPS checklist. Give its name to ...
    """
    contents = [_read_content(name) for name in benchmarks if name in list_reported_benchmarks()]
    versions = {key: words for content in contents for key, words in content.get("versions", {}).items()}
    if version is not None and version not in versions:
        raise unknown_name(f"version of the papers of {', '.join(benchmarks)}", version, versions)
    meanings = {
        (key, f"{printed.get('name', table)} in the {words}")
        for content in contents
        for key, words in content.get("versions", {}).items()
        for number, printed in _list_tables(content, key)
        if number == table
    }
    if version is None and {key for key, _ in meanings} - {next(iter(versions), "")}:
        raise OochubError(
            f"Table {table} is {' and '.join(words for _, words in sorted(meanings))}. Give its name to "
            f"{choose_wording('table=')}, or add {choose_wording('version=')} ({', '.join(versions)})."
        )
    names = [(n, printed.get("name", n)) for content in contents for n, printed in _list_tables(content, version)]
    if table is not None and table not in (tables := dict.fromkeys(chain(*names))):
        raise unknown_name(f"table with reported numbers of {', '.join(benchmarks)}", table, tables)


def list_reported_configs(benchmark: str) -> list[str]:
    """The configs of a benchmark in the order of its paper's tables; none where no numbers are known.

    >>> list_reported_configs("spawrious")
    ['o2o_easy', 'o2o_medium', 'o2o_hard', 'm2m_easy', 'm2m_medium', 'm2m_hard']
    """
    tables = _read_content(benchmark)["tables"].values() if benchmark in list_reported_benchmarks() else ()
    return list(dict.fromkeys(config for printed in tables for config in printed["rows"]))


def list_reported_benchmarks() -> list[str]:
    """The benchmarks of which reported numbers are known.

    >>> list_reported_benchmarks()
    ['domains', 'imagenet_ood', 'nooch', 'spawrious', 'waterbirds', 'wilds']
    """
    return list(catalog.reported_files())


def _read_content(benchmark: str) -> dict[str, Any]:
    if benchmark not in list_reported_benchmarks():
        raise unknown_name("benchmark with reported numbers", benchmark, list_reported_benchmarks())
    content: dict[str, Any] = json.loads(catalog.reported_files()[benchmark].read_text("utf-8"))
    return content


def _list_tables(content: Mapping[str, Any], version: str | None = None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tables that a version of the paper prints, each with its number there; None is the first version."""
    versions = content.get("versions", {})
    first = next(iter(versions), None)
    for key, printed in content["tables"].items():
        numbers = printed.get("numbers", {first: key.partition(" ")[0]})
        if number := numbers.get(version if version in versions else first):
            yield number, printed


def _find_model(content: Mapping[str, Any], printed: Mapping[str, Any]) -> ReportedModel | None:
    model = printed.get("model", content.get("model"))
    return ReportedModel(**model) if model else None
