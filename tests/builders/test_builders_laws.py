"""Laws over every benchmark in builders/: shared columns, counts, splits, the same rows however they are built."""

import hashlib
import subprocess
import sys

import pytest
from datasets import ClassLabel, get_dataset_config_names, load_dataset, load_dataset_builder

import oochub
from oochub.build_record import BuildRecord

# A benchmark joins the laws by naming a config and a toy world here or in a test of its own package.
_CONFIGS = {"nooch": "ce_car", "spawrious": "o2o_hard", "imagenet_ood": "imagenet_1k"}
_BENCHMARKS = oochub.names("benchmark")


@pytest.fixture(params=_BENCHMARKS)
def benchmark(request):
    return request.param


@pytest.fixture
def raw(benchmark, request):
    fixture = {"nooch": "coco", "spawrious": "spawrious", "imagenet_ood": "imagenet"}[benchmark]
    return request.getfixturevalue(fixture)


def _digest(split) -> str:
    """A hash of every value of every row, the pictures' bytes included."""
    from datasets import Image

    digest = hashlib.sha256()
    for row in split.cast_column("image", Image(decode=False)):
        digest.update(repr({k: v for k, v in row.items() if k != "image"}).encode())
        digest.update(row["image"]["bytes"])
    return digest.hexdigest()


def _source(raw, benchmark):
    """The file whose bytes are the first test picture's."""
    from datasets import Image

    data = load_dataset(benchmark, _CONFIGS[benchmark], data_dir=raw)
    picture = data["test"].cast_column("image", Image(decode=False))[0]["image"]
    return next(path for path in raw.rglob(picture["path"]) if path.read_bytes() == picture["bytes"])


def test_every_benchmark_is_covered():
    assert set(_CONFIGS) == set(_BENCHMARKS) and len(_BENCHMARKS) >= 2


def test_shared_first_columns(benchmark, raw):
    data = load_dataset(benchmark, _CONFIGS[benchmark], data_dir=raw)
    first = list(data["train"].features)[:5]
    assert first == ["example_id", "image", "label", "environment", "group"]
    for split in data.values():
        named = {name for name, feature in split.features.items() if isinstance(feature, ClassLabel)}
        assert {"label", "environment", "group"} <= named
        assert len(set(split["example_id"])) == len(split)


def test_record_counts_rows(benchmark, raw):
    data = load_dataset(benchmark, _CONFIGS[benchmark], data_dir=raw)
    record = BuildRecord.of(data["test"].info.description)
    assert record.facts.rows == {split: len(part) for split, part in data.items()}
    assert (record.benchmark, record.config) == (benchmark, _CONFIGS[benchmark])
    assert any("partial" in note for note in record.notes)


def test_no_example_in_two_splits(benchmark, raw):
    """Seen to fail when validation was cut from the front of a list of which training took the front too."""
    data = load_dataset(benchmark, _CONFIGS[benchmark], data_dir=raw)
    ids = [i for split in data.values() for i in split["example_id"]]
    pictures = [(i, s) for s, split in data.items() for i in split["example_id"]]
    assert len(set(ids)) == len(ids) == len(pictures)


def test_same_rows_again_with_two_processes_and_streamed(benchmark, raw, tmp_path):
    """Rows and picture bytes equal in a second build, with num_proc=2 and streamed."""
    config = _CONFIGS[benchmark]
    first = load_dataset(benchmark, config, data_dir=raw, cache_dir=str(tmp_path / "1"))
    second = load_dataset(benchmark, config, data_dir=raw, cache_dir=str(tmp_path / "2"))
    third = load_dataset(benchmark, config, data_dir=raw, cache_dir=str(tmp_path / "3"), num_proc=2)
    streamed = load_dataset(benchmark, config, data_dir=raw, streaming=True)
    for split, part in first.items():
        assert _digest(part) == _digest(second[split]) == _digest(third[split]) == _digest(streamed[split])


def test_pictures_are_the_source_bytes(benchmark, raw):
    assert _source(raw, benchmark).is_file()


def test_environment_variable_gives_the_folder(benchmark, raw, monkeypatch, tmp_path):
    monkeypatch.setenv("OOCHUB_DATA", str(raw.parent))
    monkeypatch.chdir(tmp_path)
    assert raw.name == benchmark
    builder = load_dataset_builder(benchmark, _CONFIGS[benchmark])
    assert builder.config_id == _CONFIGS[benchmark]
    assert len(load_dataset(benchmark, _CONFIGS[benchmark])["train"]) > 0


def test_changed_raw_data_are_built_again(benchmark, raw, tmp_path):
    """The trap of a cache keyed by path: a file touched in the raw folder gives another cache folder."""
    import shutil

    copy = tmp_path / benchmark
    shutil.copytree(raw, copy)
    before = load_dataset_builder(benchmark, _CONFIGS[benchmark], data_dir=copy).cache_dir
    assert load_dataset_builder(benchmark, _CONFIGS[benchmark], data_dir=copy).cache_dir == before
    added = copy / _source(raw, benchmark).relative_to(raw).with_name("one_more.png")
    added.write_bytes(b"x")
    assert load_dataset_builder(benchmark, _CONFIGS[benchmark], data_dir=copy).cache_dir != before


def test_no_scan_of_the_working_directory(benchmark, monkeypatch, tmp_path):
    """`datasets` globs the current directory for packaged builders; ours must not (seen: EmptyDatasetError)."""
    monkeypatch.chdir(tmp_path)
    assert _CONFIGS[benchmark] in get_dataset_config_names(benchmark)
    (tmp_path / "some.csv").write_text("a\n1\n")
    assert _CONFIGS[benchmark] in get_dataset_config_names(benchmark)


def test_wrong_names_and_folders(benchmark, tmp_path, raw):
    with pytest.raises(oochub.OochubError, match="Config name is missing"):
        load_dataset(benchmark, data_dir=raw)
    with pytest.raises(oochub.OochubError, match=f"No config of {benchmark} named"):
        load_dataset(benchmark, _CONFIGS[benchmark][:-1] + "x", data_dir=raw)
    with pytest.raises(oochub.OochubError, match="is not a folder") as error:
        load_dataset(benchmark, _CONFIGS[benchmark], data_dir=tmp_path / "nowhere")
    assert f"oochub show benchmark {benchmark}" in str(error.value)
    with pytest.raises(oochub.OochubError, match="Did you mean") as error:
        (raw.parent / "beside").mkdir(exist_ok=True)
        load_dataset(benchmark, _CONFIGS[benchmark], data_dir=raw.parent)
    assert "missing  " in str(error.value)
    with pytest.raises(oochub.OochubError, match="OOCHUB_DATA"):
        load_dataset(benchmark, _CONFIGS[benchmark])
    with pytest.raises(oochub.OochubError, match="data_dir= instead of data_files="):
        load_dataset_builder(benchmark, _CONFIGS[benchmark], data_files={"train": str(next(raw.rglob("*.*g")))})


def test_parquet_repository_loads_without_oochub(benchmark, raw, tmp_path):
    from oochub.loading_scripts.parquet_repository import parquet_repository

    name = f"{benchmark}/{_CONFIGS[benchmark]}"
    folder = parquet_repository(name, tmp_path / benchmark, data_dir=str(raw))
    code = (
        "import sys; from datasets import load_dataset; "
        f"d = load_dataset({str(folder)!r}, {_CONFIGS[benchmark]!r}); "
        "print({s: len(p) for s, p in d.items()}, d['train'].features['group'].names[0], 'oochub' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    data = load_dataset(benchmark, _CONFIGS[benchmark], data_dir=raw)
    sizes = {split: len(part) for split, part in data.items()}
    assert done.stdout.split("\n")[0] == f"{sizes} {data['train'].features['group'].names[0]} False"
    again = load_dataset(str(folder), _CONFIGS[benchmark])
    for split, part in data.items():
        assert _digest(again[split]) == _digest(part)
