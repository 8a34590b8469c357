"""`load_dataset` knows the benchmarks, whichever of `oochub` and `datasets` is imported first, and how often."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFIGS = "from datasets import get_dataset_config_names\nprint('o2o_hard' in get_dataset_config_names('spawrious'))"
ORDERS = {
    "oochub first": "import oochub",
    "datasets first": "import datasets, oochub",
    "its function first": "from datasets import load_dataset\nimport oochub",
    "a part of datasets first": "import oochub\nfrom datasets.features import Features",
    "a look-up is not an import": (
        "import oochub, importlib.util\nassert importlib.util.find_spec('datasets').loader.get_filename()"
    ),
    "oochub twice, then datasets": "import oochub, importlib\nimportlib.reload(oochub)",
    "oochub twice, after datasets": "import oochub, datasets, importlib\nimportlib.reload(oochub)",
    "datasets twice": "import oochub, datasets, importlib\nimportlib.reload(datasets)",
    "datasets fails at first": (
        "import oochub, sys\nsys.modules['pandas'] = None\ntry:\n    import datasets\nexcept ImportError:\n    pass\n"
        "else:\n    raise AssertionError\nfor name in [n for n in sys.modules if n.partition('.')[0] == 'datasets']:\n"
        "    del sys.modules[name]\ndel sys.modules['pandas']"
    ),
    "in a forked process": "import oochub, os\nif os.fork():\n    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))",
}


_EVERYDAY = ("datasets first", "datasets fails at first")
_SLOW = ("its function first", "a look-up is not an import")
"""Each planted fault fails one of the everyday orders and one of the slow ones; the others are a campaign."""
_MARKS = {name: () for name in _EVERYDAY} | {name: pytest.mark.slow for name in _SLOW}


@pytest.mark.slow
@pytest.mark.parametrize("order", [pytest.param(name, marks=_MARKS.get(name, pytest.mark.campaign)) for name in ORDERS])
def test_the_order_of_imports_does_not_matter(order: str, tmp_path: Path) -> None:
    """Each order ends with `datasets` knowing the benchmarks, from an empty folder, which is not scanned."""
    assert _answer(f"import sys\n{ORDERS[order]}\n{CONFIGS}", tmp_path) == "True"


def test_datasets_is_itself(tmp_path: Path) -> None:
    """`datasets` keeps its own loader, other builders, and the scan of a folder that they need."""
    (tmp_path / "rows.csv").write_text("a\n1\n2\n")
    code = (
        "import oochub, datasets\nassert datasets.__spec__.loader.get_source('datasets')\n"
        f"print(datasets.load_dataset('csv', data_dir={str(tmp_path)!r}, cache_dir='cache')['train']['a'][:])"
    )
    assert _answer(code, tmp_path) == "[1, 2]"


def test_a_benchmark_does_not_take_a_name_of_datasets(tmp_path: Path) -> None:
    """Fault planted: without the check, a benchmark named csv replaced the reader of CSV files."""
    code = (
        "import oochub\nfrom oochub import catalog\ncatalog.names = lambda kind: ['csv']\n"
        "catalog.module_name = lambda kind, name: 'a_plug_in.csv'\n"
        "try:\n    import datasets\nexcept oochub.OochubError as error:\n    print(error)"
    )
    assert "`datasets` itself has a builder named 'csv'" in _answer(code, tmp_path)


@pytest.mark.parametrize(
    "missing",
    [
        "load.load_dataset_builder",
        pytest.param("load.PackagedDatasetModuleFactory", marks=pytest.mark.slow),
        pytest.param("packaged_modules._PACKAGED_DATASETS_MODULES", marks=pytest.mark.slow),
    ],
)
def test_without_the_private_names_of_datasets_load_works(missing: str, tmp_path: Path, spawrious: Path) -> None:
    """A newer `datasets` may have renamed them: a warning says so, and `oochub.load` needs none."""
    code = f"""
import datasets, datasets.load, datasets.packaged_modules, warnings
del datasets.{missing}
if "builder" in {missing!r}:
    del datasets.load_dataset_builder
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import oochub
print([str(each.message) for each in said if each.category is oochub.errors.OochubWarning])
print(sorted(oochub.load("spawrious/o2o_hard", data_dir={str(spawrious)!r})))
"""
    warned, splits = _answer(code, tmp_path).splitlines()
    assert missing.rpartition(".")[2] in warned and "oochub.load('nooch/ce_car'" in warned
    assert splits == "['test', 'train', 'validation']"


@pytest.mark.slow
def test_the_missing_import_is_seen_in_the_docs(tmp_path: Path) -> None:
    """`datasets` has no entry point by which it would know a benchmark before the import; the README says so.

    It says it where the words of the error are, which a user searches for.
    """
    code = "from datasets import load_dataset\ntry:\n    load_dataset('nooch', 'ce_car')\nexcept {}:\n    print('here')"
    assert _answer(code.format("ConnectionError"), tmp_path) == "here"  # without a network; else DatasetNotFoundError
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    assert "doesn't exist on the Hub" in readme and "Couldn't reach 'nooch' on the Hub" in readme


@pytest.mark.slow
def test_the_bare_name_still_means_the_folder(tmp_path: Path) -> None:
    """As before the import, for rows, configs and single files; one warning for each says how to get the benchmark."""
    _csv(tmp_path / "spawrious")
    asked = (
        "from datasets import get_dataset_config_names, load_dataset, load_dataset_builder\n"
        "print([load_dataset('spawrious')['train']['a'][:], get_dataset_config_names('spawrious'), "
        "load_dataset('spawrious', split='train', data_files='rows.csv')['a'][:], "
        "load_dataset_builder('spawrious').config.name])"
    )
    before = _answer(asked, tmp_path)
    after = _answer(
        "import json, warnings\nimport oochub\nwith warnings.catch_warnings(record=True) as said:\n    "
        "warnings.simplefilter('always')\n    "
        + asked.replace("\n", "\n    ")
        + "\nours = [each for each in said if each.category is oochub.errors.OochubWarning]"
        + "\nprint(json.dumps([(str(each.message), each.filename) for each in ours]))",
        tmp_path,
    )
    assert before == "[[1, 2], ['default'], [1, 2], 'default']"
    rows, said = after.splitlines()
    assert rows == before
    assert len(json.loads(said)) == 4
    message, place = json.loads(said)[0]
    assert "load_dataset('spawrious', 'o2o_easy', data_dir=" in message and "OOCHUB_DATA" in message
    assert place == "<string>"  # the user's line


@pytest.mark.slow
def test_the_benchmark_wins_where_it_is_meant(tmp_path: Path, spawrious: Path) -> None:
    """By `data_dir`, a config, $OOCHUB_DATA, or `oochub.load`, whatever folder of its name stands there."""
    _csv(tmp_path / "spawrious")
    _csv(tmp_path / "signs")
    (tmp_path / "nooch").mkdir()
    (tmp_path / "nooch" / "README.md").write_text("no data file")
    code = f"""
import os, warnings
import oochub
from datasets import load_dataset
warnings.simplefilter("error")
def said(function, *names, **options):
    try:
        return str(function(*names, **options))
    except oochub.OochubError as error:
        return str(error)
print(said(load_dataset, "signs", data_dir="elsewhere").splitlines()[0])
print(said(load_dataset, "spawrious", "o2o_hard").splitlines()[0])
print(said(oochub.load, "signs").splitlines()[0])
print(said(load_dataset, "nooch"))
os.environ["OOCHUB_DATA"] = {str(spawrious.parent)!r}
print(said(load_dataset, "spawrious"))
"""
    plugin = str(Path(__file__).parent / "helpers" / "plugin")
    by_data_dir, by_config, by_load, without_files, by_variable = _answer(code, tmp_path, plugin).splitlines()
    assert by_data_dir.startswith("data_dir is not a folder: elsewhere")
    assert by_config.startswith("Spawrious requires its raw files")
    assert by_load.startswith("Signs requires its raw files")
    assert without_files.startswith("Missing config name: nooch")
    assert by_variable.startswith("Missing config name: spawrious")


def _csv(folder: Path) -> None:
    folder.mkdir()
    (folder / "rows.csv").write_text("a\n1\n2\n")


def _answer(code: str, folder: Path, *packages: str) -> str:
    paths = [*packages, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HF_DATASETS_CACHE": str(folder / "cache")}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()
