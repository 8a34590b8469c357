"""Makes `datasets.load_dataset` know the hub's benchmarks by name.

`datasets` keeps a table of packaged builders and scans the current directory for data files on behalf of all of
them; a builder of ours takes its data from `data_dir` or `$OOCHUB_DATA`, so the scan is skipped for our names.
"""

import hashlib
from pathlib import Path

import datasets.load
import datasets.packaged_modules
from datasets.data_files import DataFilesDict

from oochub import catalog

_OURS: set[str] = set()


class _Factory(datasets.load.PackagedDatasetModuleFactory):  # type: ignore[misc]
    def get_module(self) -> datasets.load.DatasetModule:
        if self.name not in _OURS or self.data_files is not None:
            return super().get_module()
        path, fingerprint = datasets.packaged_modules._PACKAGED_DATASETS_MODULES[self.name]
        # An empty DataFilesDict, not None: load.py would index builder configs of None.
        arguments = {"data_files": DataFilesDict({}), "dataset_name": self.name}
        return datasets.load.DatasetModule(path, fingerprint, arguments)


def register() -> list[str]:
    """Registers every benchmark with `datasets`; called once by `import oochub`.

    Returns:
        The registered names.
    """
    taken = set(datasets.packaged_modules._PACKAGED_DATASETS_MODULES) - _OURS
    names = catalog.names("benchmark")
    for name in names:
        if name in taken:
            from oochub.errors import OochubError

            raise OochubError(f"`datasets` itself has a builder named {name!r}; rename the benchmark.")
        module = catalog.module_name("benchmark", name)
        datasets.packaged_modules._PACKAGED_DATASETS_MODULES[name] = (module, _source_fingerprint())
        _OURS.add(name)
    datasets.load.PackagedDatasetModuleFactory = _Factory
    return names


def _source_fingerprint() -> str:
    """A hash of every source that decides what a build contains, so a changed helper never meets an old cache."""
    core = Path(__file__).parent
    files = [*sorted((core / "builders").rglob("*.py")), core / "builder.py", core / "benchmark.py"]
    text = b"\0".join(file.read_bytes() for file in files if "toy_worlds" not in file.parts)
    return hashlib.sha256(text).hexdigest()
