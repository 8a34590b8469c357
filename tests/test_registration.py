"""`load_dataset` knows the benchmarks, whichever of `oochub` and `datasets` is imported first, and how often."""

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


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_imports_does_not_matter(order: str, tmp_path: Path) -> None:
    """Each order ends with `datasets` knowing the benchmarks, from an empty folder, which is not scanned.

    Faults planted: no finder failed seven orders; nothing done at once, "datasets first" and "its function first"; a
    finder that removes itself when asked, "a look-up is not an import" and "datasets fails at first".
    """
    assert _answer(f"import sys\n{ORDERS[order]}\n{CONFIGS}", tmp_path) == "True"


def test_datasets_is_itself(tmp_path: Path) -> None:
    """`datasets` keeps its own loader, other builders, and the scan of a folder that they need.

    Fault planted: an overridden `get_module` that never asks its base found no rows of the CSV file.
    """
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


def _answer(code: str, folder: Path) -> str:
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()
