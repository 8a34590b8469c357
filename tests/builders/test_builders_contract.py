"""Contract tests over every benchmark of the catalog: what its file declares, and what its builder builds.

A benchmark names its toy world and the configs to try in its declaration (`toy_world`, `tried_configs`); nothing is
edited here. Each failure says which rule is broken and what to do.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import pytest
from datasets import (
    ClassLabel,
    Dataset,
    Image,
    List,
    Value,
    concatenate_datasets,
    get_dataset_config_names,
    load_dataset,
    load_dataset_builder,
)
from declared_in_tests import declared_in_tests
from row_digest import row_digest
from tried_configs import TRIED, tried_by_day, tried_few

import oochub
from oochub import catalog
from oochub.input import find_input_kinds
from oochub.records.build_record import BuildRecord, drop_build_column
from oochub.records.schema import from_json
from oochub.records.sides import GroupsOfRows

_BENCHMARKS = oochub.names("benchmark")
_LABELS = {
    "classes": ("label", ClassLabel),
    "labels": ("labels", List),
    "number": ("label", Value),
    "choices": ("label", Value),
    "boxes": ("boxes", List),
    "tokens": ("tokens", List),
} | declared_in_tests("LABEL_COLUMNS", "outputs")  # of the test of a new kind: {"name": ("label", Value)}
_FIRST = ("example_id", "image", "label", "labels", "boxes", "tokens", "environment", "group", "groups")


_OF_COLLECTIONS = [  # the configs of a data set read its folder in ways of their own
    (name, config)
    for name in _BENCHMARKS
    for data_set in oochub.get("benchmark", name).data_sets
    for config in data_set.configs
    if len(oochub.get("benchmark", name).data_sets) > 1
]


@pytest.fixture(params=tried_by_day())
def tried(request):
    return request.param


few = pytest.mark.parametrize("tried", tried_few(), indirect=True)
"""Every day one config of each task; what takes longest is tried with the others by the slow tests."""


@pytest.fixture
def folder(tried, raw):
    """The raw toy folder of the config."""
    return raw("/".join(tried))


@pytest.fixture(scope="module")
def loaded():
    """Gives the rows of a config, which are loaded once; tests only read them."""
    return cache(lambda tried, folder: load_dataset(*tried, data_dir=folder))


@pytest.fixture
def data(tried, folder, loaded):
    return loaded(tried, folder)


def _without_decoding(split):
    pictures = [name for name, feature in (split.features or {}).items() if isinstance(feature, Image)]
    for name in pictures:
        split = split.cast_column(name, Image(decode=False))
    return split


def _source(data, folder):
    """The file whose bytes are the first test image's; None for rows without an image."""
    part = _without_decoding(data[list(data)[-1]])
    column = next((name for name, feature in part.features.items() if isinstance(feature, Image)), None)
    if column is None:
        return None
    picture = part[0][column]
    return next((path for path in folder.rglob(picture["path"]) if path.read_bytes() == picture["bytes"]), None)


def _table(data, folder):
    """The table of the raw folder that holds the first test image's bytes, uncompressed; None if there is none."""
    part = _without_decoding(data[list(data)[-1]])
    column = next((name for name, feature in part.features.items() if isinstance(feature, Image)), None)
    content = None if column is None else part[0][column]["bytes"]
    return next((path for path in folder.rglob("*.parquet") if content and content in path.read_bytes()), None)


def _declarations(name) -> Iterator:
    declared = oochub.get("benchmark", name)
    yield "", declared
    yield from declared.configs.items()


def test_every_benchmark_is_covered():
    covered = {name for name, _ in TRIED}
    print(f"contract tests of builders: {len(TRIED)} configs of {len(covered)} benchmarks")  # noqa: T201
    assert covered == set(_BENCHMARKS) and covered


@pytest.mark.parametrize("name", _BENCHMARKS)
def test_the_declaration_is_whole(name):
    """Planted faults seen: a metric or config that does not exist; raw files named as the benchmark."""
    configs, metrics = get_dataset_config_names(name), oochub.names("metric")
    declared = oochub.get("benchmark", name)
    for config, declaration in _declarations(name):
        where = f"{catalog.module_name('benchmark', name)}{f', config {config}' if config else ''}"
        assert declaration.name == name, f"{where}: name={declaration.name!r} must be that of the file, {name!r}"
        assert not config or config in configs, f"{where}: no such config; the builder has {configs[:9]}"
        assert not config or not declaration.configs, f"{where}: a config's declaration has no configs of its own"
        assert declaration.output in _LABELS, (
            f"{where}: output={declaration.output!r}, allowed are {list(_LABELS)}, and LABEL_COLUMNS of tests"
        )
        unknown = [metric for metric in declaration.metrics if metric not in metrics]
        assert not unknown, f"{where}: the metrics {unknown} do not exist; `oochub list metric` names them"
        primary = declaration.primary_metric
        assert primary in declaration.metrics, f"{where}: primary_metric={primary!r} must be one of metrics="
        assert declaration.summary.endswith("."), f"{where}: summary= is one sentence, with its full stop"
        assert declaration.citation.startswith("@"), f"{where}: citation= is BibTeX"
        tops = {raw.path.partition("/")[0] for raw in declaration.raw_files}
        assert {name} != tops, f"{where}: with only {name}/ in raw_files= the folder above it would pass as well"
        drawn = declaration.toy_world or all(each.toy_world for each in declaration.data_sets)
        assert drawn, f"{where}: name a toy world, toy_world=, which the contract tests build"
    unknown = set(declared.tried_configs) - set(configs)
    assert not unknown, f"{name}: tried_configs= has {unknown}, which the builder lacks"


def test_shared_columns(tried, data):
    """Planted faults seen: `group` before `label`; ids as numbers; a label column or input of the wrong kind."""
    declaration = oochub.get("benchmark", tried[0]).of(tried[1])
    column, kind = _LABELS[declaration.output]
    for split, part in data.items():
        where, columns = f"{'/'.join(tried)}, split {split}", list(part.features)
        shared = [name for name in _FIRST if name in columns]
        assert columns[: len(shared)] == shared, f"{where}: the first columns must be {shared}, not {columns[:8]}"
        assert part.features["example_id"] == Value("string"), f"{where}: example_id must be text"
        ids = part["example_id"]
        assert len(set(ids)) == len(part), f"{where}: an example_id occurs twice; each row needs its own"
        known = isinstance(part.features.get(column), kind)
        found = find_input_kinds(part)[0].words()
        assert declaration.input == found, f"{where}: input={declaration.input!r}, but its rows have {found}"
        assert known, f"{where}: output={declaration.output!r} needs the column {column}, a {kind.__name__}"
        for name in ("environment", "group"):  # names, unless they are too many for a ClassLabel
            feature = part.features.get(name)
            plain = feature in (None, Value("string"), Value("int64"), Value("int32"))
            named = plain or isinstance(feature, ClassLabel)
            assert named, f"{where}: {name} must be a ClassLabel, text or whole numbers, not {feature}"
        listed = part.features.get("groups")
        assert listed is None or isinstance(listed, List), f"{where}: groups must be a List of names, not {listed}"


def test_the_sides_are_there(tried, data):
    """Planted faults seen: a split and a column that the rows do not have; a misspelt value of `where`."""
    declaration = oochub.get("benchmark", tried[0]).of(tried[1])
    for side in (declaration.in_context, declaration.out_of_context):
        where = f"{'/'.join(tried)}, {side.name!r} ({side.description})"
        assert side.split in data, f"{where}: no split {side.split!r}, only {list(data)}"
        features = data[side.split].features
        if declaration.task is not None and "labels" in features:
            continue  # its tasks have the columns
        columns = {*side.where, *([side.column] if isinstance(side, GroupsOfRows) else [])}
        assert columns <= set(features), f"{where}: the rows lack {columns - set(features)}"
        for column, values in side.where.items():
            named = features[column].names if isinstance(features[column], ClassLabel) else values
            assert set(values) <= set(named), f"{where}: {column} has no {set(values) - set(named)}, only {named}"


def test_the_record_says_what_was_built(tried, data, folder):
    """Planted faults seen: a split that is not counted; a builder that does not call `_record`."""
    record = BuildRecord.of(data[list(data)[-1]].info)
    assert record, f"{'/'.join(tried)}: no build record; `_split_generators` must call self._record(notes, facts)"
    counts = {split: len(part) for split, part in data.items()}
    assert record.facts.rows == counts, f"{'/'.join(tried)}: facts.rows must count {counts}, got {record.facts.rows}"
    assert (record.benchmark, record.config) == tried
    drawn = any("drawn toy world" in note for note in record.notes)
    files = sorted(path.name for path in folder.iterdir())
    assert drawn, (
        f"{'/'.join(tried)}: no note says that its rows are drawn. The toy world must leave toy_world.json in its "
        f"folder, as builders/toy_worlds/_folder.py does; there are {files}"
    )


def test_no_example_in_two_splits(tried, data):
    """Planted fault seen: validation cut from the front of a list of which training took the front too."""
    splits_of: dict[str, list[str]] = {}
    for split, part in data.items():
        for example in part["example_id"]:
            splits_of.setdefault(example, []).append(split)
    doubled = [f"{example} in {' and '.join(splits)}" for example, splits in splits_of.items() if len(splits) > 1]
    assert not doubled, f"{'/'.join(tried)}: {len(doubled)} examples are in two splits, first {doubled[0]}"


def test_the_digest_sees_every_change():
    """Of a value deep in a row, where a list ends, what is not known, the order; not of how the rows are stored."""
    rows = [{"a": [[1.0], [2.0, 3.0]], "b": {"c": "x", "d": None}}, {"a": [[4.0], []], "b": {"c": "y", "d": 1}}]
    expected, (first, second) = row_digest(Dataset.from_list(rows)), rows
    others = [
        [first, {**second, "a": [[4.5], []]}],
        [first, {**second, "a": [[], [4.0]]}],
        [{**first, "a": [[1.0, 2.0], [3.0]]}, second],
        [{**first, "b": {"c": "x", "d": 0}}, second],
        [first, {**second, "b": {"c": "z", "d": 1}}],
        [second, first],
        rows[:1],
    ]
    assert expected not in {row_digest(Dataset.from_list(other)) for other in others}
    stored_apart = concatenate_datasets(
        [Dataset.from_list([row]).cast(Dataset.from_list(rows).features) for row in rows]
    )
    assert row_digest(stored_apart) == row_digest(stored_apart.to_iterable_dataset()) == expected


def _slow_configs():
    """One config of each task of a benchmark and of each data set of a collection, and those whose splits are drawn.

    The others, which read the same tables by another column, are a campaign.
    """
    drawn = {("wilds", "ogb_molpcba_random"), ("wilds", "poverty_mixed-to-test_fold_a"), ("wilds", "amazon_time")}
    first = [each.values[0] for each in tried_by_day() if not each.marks]
    data_sets = [(name, data_set) for name in _BENCHMARKS for data_set in oochub.get("benchmark", name).data_sets]
    kept = {*first, *drawn, *((name, next(iter(data_set.configs), "")) for name, data_set in data_sets)}
    for each in sorted({*TRIED, *_OF_COLLECTIONS}):
        yield pytest.param(each, marks=pytest.mark.slow if each in kept else pytest.mark.campaign, id="/".join(each))


@pytest.mark.parametrize("tried", list(_slow_configs()))
def test_same_rows_again_with_two_processes_and_streamed(tried, folder, tmp_path):
    """Rows, columns and image bytes equal in a second build, with num_proc=2, and streamed."""
    if tried[1].startswith("poverty_mixed-to-test"):  # of the 46 places of the small world it may leave none for id_val
        folder = oochub.get("benchmark", "wilds").of(tried[1]).render_toy_world(tmp_path / "wilds", size=4)
    first = load_dataset(*tried, data_dir=folder, cache_dir=str(tmp_path / "1"))
    others = {
        "num_proc=2": load_dataset(*tried, data_dir=folder, cache_dir=str(tmp_path / "2"), num_proc=2),
        "streaming=True": load_dataset(*tried, data_dir=folder, streaming=True),
    }
    for split, part in first.items():
        expected, columns = row_digest(part), list(part.features)
        assert len(part), f"{'/'.join(tried)}, split {split}: no row; its toy world must draw some"
        for way, other in others.items():
            named = list(other[split].features)
            assert named == columns, f"{'/'.join(tried)}, split {split}: {way} gives the columns {named}, not {columns}"
            same = row_digest(other[split]) == expected
            assert same, f"{'/'.join(tried)}, split {split}: {way} gives other rows; sort files, and seed what is drawn"


def test_pictures_are_the_source_bytes(tried, data, folder):
    if not any(isinstance(feature, Image) for feature in data[list(data)[-1]].features.values()):
        pytest.skip("rows without images")
    found = _source(data, folder) or _table(data, folder)
    assert found, f"{'/'.join(tried)}: no file holds the first image's bytes; builders never encode images anew"


@few
def test_no_link_leads_out_of_the_folder(tried, data, folder, tmp_path):
    """An image that lies elsewhere is refused, and read with follow_links=True; planted: a builder that reads it."""
    source = _source(data, folder) or _table(data, folder)
    if source is None:
        pytest.skip("rows without images")
    raw = tmp_path / tried[0]
    shutil.copytree(folder, raw, copy_function=os.link)
    place = raw / source.relative_to(folder)
    place.unlink()
    place.symlink_to(source)
    with pytest.raises(oochub.OochubError, match="is a link that leads out of") as error:
        load_dataset(*tried, data_dir=raw)
    assert place.name in str(error.value), f"{'/'.join(tried)}: the message must name the image"
    followed = load_dataset(*tried, data_dir=raw, follow_links=True)
    same = all(row_digest(followed[split]) == row_digest(part) for split, part in data.items())
    assert same, f"{'/'.join(tried)}: follow_links=True must give the rows of the files that the links lead to"


@few
def test_environment_variable_gives_the_folder(tried, folder, monkeypatch, tmp_path):
    monkeypatch.setenv("OOCHUB_DATA", str(folder.parent))
    monkeypatch.chdir(tmp_path)
    builder = load_dataset_builder(*tried)
    assert builder.config_id == tried[1], f"{'/'.join(tried)}: options must not depend on the folder"
    assert all(len(part) for part in load_dataset(*tried).values())


@few
def test_changed_raw_data_are_built_again(tried, data, folder, tmp_path):
    """The trap of a cache keyed by path: a changed raw folder gives another cache folder; planted: no `_watched`."""
    copy = tmp_path / tried[0]
    shutil.copytree(folder, copy)
    before = load_dataset_builder(*tried, data_dir=copy).cache_dir
    again = load_dataset_builder(*tried, data_dir=copy).cache_dir
    assert before == again, f"{'/'.join(tried)}: the same raw data give another cache; _watched must not"
    source = _source(data, folder)
    if source is None:
        declaration = oochub.get("benchmark", tried[0]).of(tried[1])
        changed = next(path for raw in declaration.raw_files if (path := raw.find(copy)) and path.is_file())
        changed.write_bytes(changed.read_bytes() + b"\n")
    else:
        copy.joinpath(source.relative_to(folder)).with_name("one_more.png").write_bytes(b"x")
    after = load_dataset_builder(*tried, data_dir=copy).cache_dir
    assert after != before, f"{'/'.join(tried)}: raw data changed and the old build is taken; _watched must name them"


def test_no_scan_of_the_working_directory(tried, monkeypatch, tmp_path):
    """`datasets` globs the current directory for packaged builders; ours must not (seen: EmptyDatasetError)."""
    monkeypatch.chdir(tmp_path)
    assert tried[1] in get_dataset_config_names(tried[0])
    (tmp_path / "some.csv").write_text("a\n1\n")
    assert tried[1] in get_dataset_config_names(tried[0])


def test_wrong_names_and_folders(tried, folder, tmp_path):
    benchmark, config = tried
    declaration = oochub.get("benchmark", benchmark).of(config)
    if len(get_dataset_config_names(benchmark)) > 1:
        with pytest.raises(oochub.OochubError, match="Missing config name"):
            load_dataset(benchmark, data_dir=folder)
    else:
        assert load_dataset_builder(benchmark, data_dir=folder).config.name == config
    with pytest.raises(oochub.OochubError, match=f"No config of {benchmark} named"):
        load_dataset(benchmark, config[:-1] + "x", data_dir=folder)
    with pytest.raises(oochub.OochubError, match="is not a folder") as error:
        load_dataset(benchmark, config, data_dir=tmp_path / "nowhere")
    assert f"oochub show benchmark {benchmark}" in str(error.value)
    (tmp_path / "above").mkdir()
    (tmp_path / "above" / benchmark).symlink_to(folder)
    with pytest.raises(oochub.OochubError, match="Did you mean") as error:
        load_dataset(benchmark, config, data_dir=tmp_path / "above")
    assert "missing  " in str(error.value)
    assert f"folder: pass data_dir={tmp_path / 'above' / benchmark}." in str(error.value)
    below = [path for path in sorted(folder.iterdir()) if path.is_dir() and declaration.missing(path)][:1]
    lower = [low for path in below for low in (path, path / "toy")]
    for low in (*lower, next(path for path in folder.iterdir() if path.is_file())):
        with pytest.raises(oochub.OochubError, match="Did you mean") as error:
            load_dataset(benchmark, config, data_dir=low)
        assert f"folder: pass data_dir={folder}." in str(error.value), low
    with pytest.raises(oochub.OochubError, match="OOCHUB_DATA"):
        load_dataset(benchmark, config)
    with pytest.raises(oochub.OochubError, match="data_dir= instead of data_files="):
        load_dataset_builder(
            benchmark, config, data_files={"train": str(next(path for path in folder.rglob("*.*") if path.is_file()))}
        )


@pytest.fixture(scope="module")
def repository(raw, tmp_path_factory):
    """Gives the Parquet repository of a config, which is built once; tests only read it."""
    from oochub.loading_scripts.build_repository import build_parquet

    @cache
    def built(benchmark, config):
        name = f"{benchmark}/{config}"
        return build_parquet(name, tmp_path_factory.mktemp("built") / benchmark, data_dir=str(raw(name)))

    return built


@pytest.fixture(scope="module")
def without_oochub(tmp_path_factory):
    """Asks a process that does not import oochub what is in a config of a folder: sizes, columns, whether it did."""
    code = (
        "import json, sys; from datasets import load_dataset\n"
        "for line in sys.stdin:\n"
        "    data = load_dataset(*json.loads(line))\n"
        "    columns = list(data[list(data)[-1]].features)\n"
        "    said = [{s: len(p) for s, p in data.items()}, columns, 'oochub' in sys.modules]\n"
        "    print(json.dumps(said), flush=True)"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path_factory.mktemp("elsewhere"), **pipes) as process:

        def asked(folder, config):
            process.stdin.write(json.dumps([str(folder), config]) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield asked
        process.stdin.close()


@few
def test_parquet_repository_loads_without_oochub(tried, data, repository, without_oochub):
    """Planted faults seen: a script of ours in the folder, which imports oochub; another order of rows."""
    built = repository(*tried)
    sizes = {split: len(part) for split, part in data.items()}
    assert without_oochub(built, tried[1]) == [sizes, [*data[list(data)[-1]].features], False]
    again = drop_build_column(load_dataset(str(built), tried[1]))
    for split, part in data.items():
        assert again[split].features == part.features and row_digest(again[split]) == row_digest(part)


@few
def test_a_built_repository_says_what_it_is(tried, data, repository, tmp_path):
    """Wherever it lies and whatever reads it: the features, build.json, the metadata of the Parquet files; no row."""
    built = shutil.copytree(repository(*tried), tmp_path / "renamed", copy_function=os.link)
    record = BuildRecord.of(next(iter(data.values())).info)
    plain = load_dataset(str(built), tried[1])
    streamed = load_dataset(str(built), tried[1], streaming=True)
    (built / "README.md").rename(tmp_path / "README.md")
    files = {split: [str(file) for file in built.glob(f"*/{split}-*.parquet")] for split in data}
    without_card = load_dataset("parquet", data_files=files)
    assert {split: list(part.features) for split, part in plain.items()} == {
        split: list(part.features) for split, part in data.items()
    }
    for split in (next(iter(plain)), list(plain)[-1]):
        kept = plain[split].filter(lambda row: True, input_columns="example_id")
        for read in (plain[split], streamed[split], without_card[split], kept):
            assert BuildRecord.of(read.info) == record
            bare = drop_build_column(read)
            assert bare.features == data[split].features and BuildRecord.of(bare.info) == record
    said = json.loads(record.text)
    assert (said["benchmark"], said["config"], said["version"]) == (*tried, record.version)
    assert tuple(said["notes"]) == record.notes
    assert from_json(BuildRecord, json.loads((built / "build.json").read_text())[tried[1]], what="") == record
