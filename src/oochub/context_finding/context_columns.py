"""Adds contexts that nobody labelled to data of images: a way measures the images and names what it finds.

Some rows may be looked at to choose contexts (`mark_selection_rows`); a statement about contexts is tested on the
others. A method that looks with features may look with those of the model that is audited.
"""

import hashlib
import inspect
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub import catalog
from oochub.context_finder import ContextWay, NamedContexts
from oochub.context_finding.image_model import list_true_columns
from oochub.context_finding.measure_images import measure_splits
from oochub.data.load import find_data_declaration, open_data
from oochub.data.open_source import name_source
from oochub.errors import OochubError, choose_wording
from oochub.models.model_source import ModelSource
from oochub.prediction.ray_engine import RayEngine
from oochub.process.ranks import Ranks
from oochub.records.build_record import (
    CHOSEN_ON,
    CONTEXTS_COLUMN,
    OWN,
    BuildRecord,
    FoundContexts,
    drop_build_column,
)
from oochub.records.typed_values import check_parameters
from oochub.repository.write_repository import check_links, check_replaceable, write_repository
from oochub.settings import only, with_options
from oochub.settings.context_settings import ContextSettings, MeasurementSettings
from oochub.settings.data_settings import DataSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.option import list_options
from oochub.storage.files import lock_target

TITLE = "with contexts by"
"""What stands in the card of such a repository."""
_ROWS = 8192  # that are digested at once


def _list_way_options() -> list[str]:
    """The names of the options that some method has."""
    ways = [catalog.get("context", name) for name in catalog.names("context")]
    return [name for way in ways for name in inspect.signature(way).parameters]


@with_options("contexts", others=_list_way_options)
def contexts(
    source: Any,
    *,
    by: str | ContextWay,
    out: str | Path | None = None,
    data: Annotated[DataSettings, only("label", "image", "revision", "config", "data_dir", "options")],
    measurement: MeasurementSettings,
    found: Annotated[ContextSettings, only("choose_on", contexts="by")],
    **settings: Any,
) -> datasets.DatasetDict:
    """The data with the contexts that a way finds in their images.

    The last columns are new: `contexts`, the contexts of each row, none or several, null for an image that cannot be
    read; `chosen_on`, whether the row was looked at to choose something, null where it is no row to test on either;
    and what the way measured; a column of a name that the data have gets that of the way before it (`segments_areas`).
    A statement about contexts is tested on the rows on which nothing was chosen.

    Args:
        source: A benchmark ("spawrious/o2o_hard"), a folder of images, files, an id on the Hub, or a data set that
            is loaded already, see `oochub.load`.
        by: The way, a name of `oochub list context`, or the way itself.
        out: A folder for the repository, which `oochub.load` reads: new, empty, or an earlier one with contexts, which
            is replaced. None writes nothing.
        data: Options of `DataSettings`.
        measurement: The options of `MeasurementSettings`.
        found: The option `choose_on` of `ContextSettings`.
        **settings: Settings of the way: model, names, ...

    Returns:
        The splits; the build record has what was found, `BuildFacts.found_contexts`.

    Raises:
        OochubError: An unknown way or setting, data without images, an image that cannot be read, data that have a
            column `contexts` or `chosen_on`, or both names that a column of the way could have, a folder that
            holds something else.

    >>> import tempfile
    >>> from oochub.studies.demo.example import example
    >>> images, _ = example(tempfile.mkdtemp() + "/example", size=16)
    >>> data = contexts(images, by="properties", label="breed")
    >>> data["train"].features["contexts"].feature.names[:2]
    ['dark', 'bright']
    """
    found = replace(found, context_settings=settings)
    return add_contexts(source, data, found, measurement, out=out)


def add_contexts(
    source: Any,
    data: DataSettings,
    asked: ContextSettings,
    measurement: MeasurementSettings,
    *,
    out: str | Path | None = None,
) -> datasets.DatasetDict:
    """What `contexts` gives, with the options as records.

    Args:
        source: See `contexts`; so are the others.
        data: Configuration of the source, and which of its columns are what.
        asked: The way.
        measurement: How images are measured.
        out: The folder.

    Raises:
        OochubError: See `contexts`.
    """
    way = make_way(asked.contexts, asked.of_way)
    ranks = Ranks.here()
    RayEngine.of(measurement, ranks)  # what is wrong is said before the data are read
    target = None if out is None else check_replaceable(out, title=TITLE, what="data with contexts")
    name, splits = "data", source
    if isinstance(source, str | Path):
        splits = open_data(source, data, in_place=target is None, guess=("label",)).rows
        name = name_source(str(source)).replace("/", "-")
        if target is not None:
            check_links(splits, str(source), data.options)
    if target is None:
        return find_contexts(splits, way, name=name, choose_on=asked.choose_on, asked=measurement)
    with lock_target(target) if ranks.is_first else nullcontext():
        found = find_contexts(splits, way, name=name, choose_on=asked.choose_on, asked=measurement)
        record = BuildRecord.of(next(iter(found.values())).info)
        assert record is not None  # noqa: S101 find_contexts gives each split one
        if ranks.is_first:
            text, skips = write_card_text(found, record), measurement.skip_broken
            write_repository(target, found, record, text, tag="contexts", skip_broken=skips)
        ranks.values(None)
    return found


def make_way(by: str | ContextWay, settings: Mapping[str, Any]) -> ContextWay:
    """The way of that name with its settings.

    Args:
        by: A name of `oochub list context`, or the way itself.
        settings: Keyword arguments of the way.

    Raises:
        OochubError: An unknown name, a setting that it does not have, lacks or refuses.

    >>> make_way("properties", {}).words()
    'properties'
    """
    if isinstance(by, ContextWay):
        if settings:
            raise OochubError(
                f"{next(iter(settings))}= is an option of a method given by name; this method object has its own "
                "options."
            )
        return by
    kind = catalog.get("context", by)
    check_parameters(kind, settings, kind=f"option of the method {by}")
    parameters = inspect.signature(kind).parameters.values()
    lacking = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.name not in settings
    ]
    if lacking:
        name = lacking[0]
        typed = (
            f"--context-{name}" if f"context_{name}" in list_options(ContextSettings) else f"--context-option {name}="
        )
        raise OochubError(
            f"The method {by} needs {choose_wording(f'{name}=', typed)}: `oochub show context {by}` says what."
        )
    way: ContextWay = kind(**settings)
    return way


def count_contexts(part: datasets.Dataset) -> list[int]:
    """How many rows have each context, in the order of their names."""
    column = part.select_columns([CONTEXTS_COLUMN]).with_format("arrow")[:].column(CONTEXTS_COLUMN).combine_chunks()
    counts: list[int] = np.bincount(
        column.flatten().to_numpy(), minlength=len(part.features[CONTEXTS_COLUMN].feature.names)
    ).tolist()
    return counts


def find_contexts(
    data: Any, way: ContextWay, *, choose_on: str, asked: MeasurementSettings, name: str = "data"
) -> datasets.DatasetDict:
    """What `contexts` gives of data that are loaded already.

    Args:
        data: A Dataset, or the splits.
        way: How contexts are found.
        choose_on: See `contexts`.
        asked: How images are measured.
        name: The config of the build record, where the data have no record of their own.

    Raises:
        OochubError: See `contexts`.
    """
    data = data if isinstance(data, Mapping) else {str(data.split or "train"): data}
    data = drop_build_column(datasets.DatasetDict(data))
    first = next(iter(data.values()))
    for column in (CONTEXTS_COLUMN, CHOSEN_ON):
        if column in first.column_names:
            raise OochubError(f"The data already have a column {column!r}. Rename it, or remove it.")
    if "image" not in first.column_names:
        option = choose_wording("image=", "--image-column")
        raise OochubError(
            f"Finding contexts requires images, but the data only has the columns {', '.join(first.column_names)}. "
            f"Pass the column of images with {option}."
        )
    feature = first.features.get("label")
    classes = feature.names if isinstance(feature, datasets.ClassLabel) else []
    way.check(classes)
    chosen_on = mark_selection_rows(data, choose_on=choose_on, seed=asked.seed)
    measured = measure_splits(data, way, asked)
    readable_rows = {split: readable for split, (_, readable) in measured.items()}
    of_all = np.concatenate(list(readable_rows.values()))
    labels = [
        part.select_columns(["label"]).with_format("arrow")[:].column("label").fill_null(-1).to_numpy()
        if classes
        else np.full(len(part), -1)
        for part in data.values()
    ]
    chosen = pa.chunked_array(list(chosen_on.values()), pa.bool_()).fill_null(False)
    label, rows = np.concatenate(labels)[of_all], chosen.to_numpy()[of_all]
    measures = pa.concat_tables([table for table, _ in measured.values()])
    measured.clear()  # from here on measures are held once
    measures = (measures if of_all.all() else measures.filter(pa.array(of_all))).combine_chunks()
    named = way.name(measures, label=label, classes=classes, chosen_on=rows)
    class_rows = {cls: int((rows & (label == number)).sum()) for number, cls in enumerate(classes)}
    class_counts = {
        context: {cls: int((of & (label == number)).sum()) for number, cls in enumerate(classes)}
        for context, of in zip(named.names, (named.has & rows[:, None]).T, strict=True)
    }
    facts = FoundContexts(
        way=way.words(),
        names=named.names,
        words=named.words,
        chosen_rows=int(rows.sum()),
        class_rows=class_rows,
        class_counts=class_counts,
        settings={"choose_on": choose_on, **way.settings(), **named.settings},
        model=way.model,
    )
    return _join_columns(data, named, readable_rows, chosen_on, facts, name)


def _join_columns(
    data: Mapping[str, datasets.Dataset],
    named: NamedContexts,
    known: Mapping[str, NDArray[np.bool_]],
    chosen_on: Mapping[str, pa.BooleanArray],
    facts: FoundContexts,
    config: str,
) -> datasets.DatasetDict:
    splits, start, taken = {}, 0, next(iter(data.values())).column_names
    names = {name: f"{facts.way}_{name}" if name in taken else name for name in named.columns}
    for name, new in names.items():
        if new in taken:
            raise OochubError(f"The data already have the columns {name!r} and {new!r}. Rename or remove one.")
    renamed = [
        f"the column {name} belongs to the data; the one of {facts.way} is {new}"
        for name, new in names.items()
        if new != name
    ]
    for split, part in data.items():
        readable = known[split]
        rows = slice(start, start + int(readable.sum()))
        start = rows.stop
        lists = datasets.List(datasets.ClassLabel(names=list(named.names)))
        columns: dict[str, tuple[Any, Any]] = {
            CONTEXTS_COLUMN: (lists, _place_values(list_true_columns(named.has[rows]), readable)),
            CHOSEN_ON: (datasets.Value("bool"), chosen_on[split]),
        }
        for name, (kind, values) in named.columns.items():
            columns[names[name]] = (kind, _place_values(values[rows], readable))
        table = pa.table({name: values for name, (_, values) in columns.items()})
        features = datasets.Features({name: kind for name, (kind, _) in columns.items()})
        table = table.cast(features.arrow_schema)
        about = datasets.DatasetInfo(features=features)
        beside = datasets.Dataset(table, info=about, fingerprint=_fingerprint_table(table))
        info = part.info.copy()
        info.features = None  # `datasets` joins those of both
        joined = datasets.concatenate_datasets([part, beside], axis=1, info=info, split=part.split)
        version_of_data = str(part.info.version or "0.0.0")
        record = BuildRecord.of(part.info) or BuildRecord(benchmark=OWN, config=config, version=version_of_data)
        notes, found = (*record.notes, *named.notes, *renamed), replace(record.facts, found_contexts=facts)
        record = replace(record, notes=notes, facts=found)
        joined.info.description = record.describe((part.info.description or "").partition("\n")[0])
        splits[split] = joined.select_columns([*part.column_names, *columns])
    return datasets.DatasetDict(splits)


def _place_values(values: Any, readable: NDArray[np.bool_]) -> Any:
    """Values of the readable rows among all rows, null for the others."""
    if readable.all():
        return values
    return values.take(pa.array(np.where(readable, np.cumsum(readable) - 1, 0), mask=~readable))


def write_card_text(found: datasets.DatasetDict, record: BuildRecord) -> str:
    """The card of a repository with contexts, below its metadata."""
    facts = record.facts.found_contexts
    assert facts is not None  # noqa: S101 _join_columns writes them
    checked = f"reviewed by people on rows of {len(facts.checks)}" if facts.checks else "not reviewed by people"
    counts = {split: count_contexts(part) for split, part in found.items()}
    heads = " | ".join(counts)
    lines = [
        f"| {name} | {words} | {' | '.join(f'{of_split[number]:,}' for of_split in counts.values())} |"
        for number, (name, words) in enumerate(zip(facts.names, facts.words, strict=True))
    ]
    return "\n".join(
        [
            f"# {record.config}: {TITLE} {facts.way}\n",
            f"The rows of {record.config} with the column `{CONTEXTS_COLUMN}`, found by oochub {version('oochub')}"
            f"{f' with {facts.model}' if facts.model else ''}, {checked}. What was chosen for it was "
            f"chosen on the {facts.chosen_rows:,} rows where `{CHOSEN_ON}` is true.\n",
            f"| context | rows with | {heads} |\n|---|---|{'---:|' * len(counts)}",
            *lines,
            *(["", *(f"- {note}" for note in record.notes)] if record.notes else []),
            "",
        ]
    )


def mark_selection_rows(
    data: Mapping[str, datasets.Dataset], *, choose_on: str = "auto", seed: int = 0
) -> dict[str, pa.BooleanArray]:
    """Whether something may be chosen on each row of each split; null for a row that is neither for that nor for tests.

    The half is chosen by a digest of the row ids, or of the clusters if the benchmark declares them: it holds the same
    rows each time, whatever their order.

    Args:
        data: The splits.
        choose_on: "train" takes the rows of split train. "half" takes half of the rows of the other splits and leaves
            train out; it is for data in which each class of train has its context and no other. "auto" takes train if
            there are other splits. For data with one split, "auto" and "half" take half of it.
        seed: Random seed for the halves.

    Raises:
        OochubError: "train" of data with no other split or without train.

    >>> two = datasets.Dataset.from_dict({"example_id": ["a", "b"]})
    >>> mark_selection_rows({"train": two, "test": two})["test"].to_pylist()
    [False, False]
    >>> mark_selection_rows({"train": two, "test": two}, choose_on="half")["train"].to_pylist()
    [None, None]
    """
    has_both = "train" in data and len(data) > 1
    if choose_on == "train" and not has_both:
        raise OochubError(
            f"There is nothing to test on besides train, or there is no train: the splits are {', '.join(data)}. "
            f"Remove {choose_wording('choose_on=')}, so that contexts are chosen on half of the rows."
        )
    if has_both and choose_on != "half":
        return {split: pa.array([split == "train"] * len(part), pa.bool_()) for split, part in data.items()}
    declared = find_data_declaration(data)
    chosen = {}
    for split, part in data.items():
        if has_both and split == "train":
            chosen[split] = pa.nulls(len(part), pa.bool_())
            continue
        column = next(
            (name for name in (declared and declared.cluster, "example_id") if name in part.column_names), None
        )
        units = [f"{split}/{row}" for row in range(len(part))] if column is None else part[column][:]
        digests = (hashlib.sha256(f"{seed}/{unit}".encode()).digest() for unit in units)
        chosen[split] = pa.array([digest[0] < 128 for digest in digests], pa.bool_())
    return chosen


def _fingerprint_table(table: pa.Table) -> str:
    """16 hexadecimal digits by a table's schema and values, for a data set made of it.

    `datasets` makes a copy of a table in memory to take its own fingerprint; this one goes through it in blocks.

    >>> _fingerprint_table(pa.table({"n": [1, 2]})) == _fingerprint_table(pa.table({"n": [1, 3]}))
    False
    """
    digest = hashlib.sha256(table.schema.serialize())
    for batch in table.to_batches(max_chunksize=_ROWS):
        digest.update(batch.serialize())
    return digest.hexdigest()[:16]


def make_way_for_model(found: ContextSettings, model: ModelSource, how: ModelSettings) -> ContextWay:
    """The way with its settings; one that can look with the audited model does so if no other is named.

    Args:
        found: How contexts are found.
        model: Model that is audited or repaired.
        how: How it answers.

    Raises:
        OochubError: An unknown way or setting, or a model without features for a way that looks with it.
    """
    settings = found.of_way
    kind = catalog.get("context", found.contexts) if found.contexts in catalog.names("context") else None
    if kind is None or not kind.looks_with_audited_model or "model" in settings:
        return make_way(found.contexts, settings)
    if not (model.is_pretrained or getattr(model.given, "has_layers", False)):
        option = choose_wording('context_settings={"model": ...}', "--context-model")
        raise OochubError(
            f"The method {found.contexts} uses the features of a model, and this one, a "
            f"{type(model.given).__name__}, has none that can be found. Choose another one: {option}."
        )
    processor = {} if how.image_processor is None else {"image_processor": how.image_processor}
    return make_way(found.contexts, {"model": model.given, **processor, **settings})
