"""WILDS: ten datasets with real-world shifts: hospitals, camera traps, users, repositories, years and countries."""

import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, cut_rows
from oochub.builders.wilds import _data_set
from oochub.builders.wilds._data_set import WildsDataSet, WildsRows
from oochub.records.build_record import BuildFacts


def _find_data_sets() -> list[WildsDataSet]:
    """Those of the files of this folder, by name: the folder is the registry."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    return [getattr(import_module(f"{__name__}.{name}"), name) for name in names]


_DATA_SETS = _find_data_sets()
_OF_CONFIG = {config: data_set for data_set in _DATA_SETS for config in data_set.configs}

_OFFICIAL = {config: data_set.configs[config] for data_set in _DATA_SETS for config in [*data_set.configs][:1]}

wilds = replace(
    _data_set.BASE,
    raw_files=tuple(raw for declared in _OFFICIAL.values() for raw in declared.raw_files),
    configs={**_OFFICIAL, **{config: data_set.configs[config] for config, data_set in _OF_CONFIG.items()}},
    tried_configs=tuple(_OFFICIAL),
)


@dataclass
class WildsConfig(BenchmarkConfig):
    """Options of `load_dataset("wilds", "camelyon17", ...)`.

    Attributes:
        strict: Refuse splits that have not as many rows as the published ones, instead of noting it.
        follow_links: Read images that links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    strict: bool = False


class Wilds(BenchmarkBuilder):
    """The ten data sets of WILDS, with its splits by their official names, and its metadata fields as columns.

    `data_dir` is the folder of a data set, such as `camelyon17_v1.0`, or the folder that holds it. `example_id` is the
    number of the row in the raw table, `environment` the domain that WILDS' algorithms are told apart by default, and
    `from_source_domain` WILDS' own column. A file of `builders/wilds` a data set declares the rest.

    Source: Koh et al. 2021, WILDS, Section 4; the code of WILDS 2.0.0, `wilds/datasets`.

    >>> "iwildcam" in Wilds.builder_configs
    True
    """

    BENCHMARK: ClassVar[Benchmark] = wilds
    BUILDER_CONFIG_CLASS = WildsConfig
    BUILDER_CONFIGS: ClassVar[list[WildsConfig]] = [
        WildsConfig(
            name=config, version=datasets.Version(declared.version), description=f"{declared.title}: {declared.summary}"
        )
        for config, declared in wilds.configs.items()
    ]
    _rows: WildsRows

    def _watched(self, folder: Path) -> Iterable[Path]:
        data_set = _OF_CONFIG[self.config_name]
        below = data_set.folder(folder).glob(data_set.picture_folders) if data_set.picture_folders else ()
        return [*super()._watched(folder), *below]

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        data_set = _OF_CONFIG[self.config.name]
        folder = data_set.folder(self._folder())
        data_set.check_release(folder)
        self._rows = data_set.read(folder, self.config.name)
        self._check_filled(folder, {split: len(table) for split, table in self._rows.splits.items()})
        notes = self._partial(self._rows.splits, data_set.rows.get(self.config.name, {}))
        self._check_whole(f"{folder} is not what was published", notes)
        self.info.features = datasets.Features({**self._rows.features, "from_source_domain": datasets.Value("bool")})
        self._record([*notes, *self._rows.notes], self._facts())
        splits = dict(self._rows.splits)
        self._rows = replace(self._rows, splits={})  # each table is let go once its shards hold its rows
        return [
            datasets.SplitGenerator(
                name=split,
                gen_kwargs={"root": folder, "shards": cut_rows(self._add_source(split, splits.pop(split), data_set))},
            )
            for split in list(splits)
        ]

    def _facts(self) -> BuildFacts:
        splits, column = self._rows.splits, self.declaration.group_column
        facts = replace(self._rows.facts, rows={split: len(table) for split, table in splits.items()})
        if column not in splits["train"].column_names:
            return facts
        values = splits["train"].column(column).combine_chunks()
        listed = values.flatten() if pa.types.is_list(values.type) else values
        return facts.with_groups(map(str, listed.to_pylist()))

    @property
    def _file_columns(self) -> dict[str, Callable[[Path], Any]]:
        return {**super()._file_columns, **self._rows.columns}

    @staticmethod
    def _add_source(split: str, table: pa.Table, data_set: WildsDataSet) -> pa.Table:
        is_source = pa.array([split in data_set.source_splits] * len(table))
        return table.append_column("from_source_domain", is_source)
