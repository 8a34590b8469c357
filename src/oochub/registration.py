"""Makes `datasets.load_dataset` know the hub's benchmarks by name.

`datasets` keeps a table of packaged builders and scans the current directory for data files on behalf of all of
them; a builder of ours takes its data from `data_dir` or `$OOCHUB_DATA`, so the scan is skipped for our names. Table
and scan are private names of `datasets`: a version without them is told of by a warning, and `oochub.load`, which needs
none of them, loads the benchmarks as before.

The name alone, without raw data or config, still means a folder of that name with data files in the working directory,
as it does without this package; a warning says how to get the benchmark.
"""

import hashlib
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache, wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from oochub import catalog
from oochub.errors import OochubError, OochubWarning

_OF_BUILDERS = ("benchmark", "records/build_record", "builder", "storage/picture_file", "storage/reading")
"""The modules of the core that decide what a build contains."""


def register() -> None:
    """Registers every benchmark with `datasets`: at once where it is imported already, else as soon as it is.

    Called by `import oochub`. `datasets` takes half a second to import, so `oochub` alone does not.

    Raises:
        OochubError: `datasets` itself has a builder of that name.
    """
    if not any(isinstance(finder, _DatasetsFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _DatasetsFinder())
    if sys.modules.get("datasets"):
        _register_now()


class _DatasetsFinder(MetaPathFinder):
    """Finds `datasets` where it is, with a loader that registers the benchmarks once it has run.

    It stays: a look-up (`importlib.util.find_spec`) is not yet an import, and an import may fail or be repeated.
    """

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "datasets":
            return None
        specs = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, specs), None)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_and_register(module: ModuleType) -> None:
            load(module)
            _register_now()

        spec.loader.exec_module = load_and_register  # type: ignore[method-assign]  # of this one loader
        return spec


def _register_now() -> None:
    try:
        _change_datasets()
    except (AttributeError, ImportError) as error:
        warnings.warn(
            f"This version of `datasets` has no place for the benchmarks ({error}), so load_dataset does not know "
            "them. oochub.load('nooch/ce_car', data_dir=...) and all commands still work.",
            OochubWarning,
            stacklevel=2,
        )


def _change_datasets() -> None:
    """Enters every benchmark into the tables of `datasets`, and what they need into its functions."""
    import datasets.inspect
    import datasets.load
    import datasets.packaged_modules

    table = datasets.packaged_modules._PACKAGED_DATASETS_MODULES
    factory = datasets.load.PackagedDatasetModuleFactory
    places = [(module, "load_dataset_builder") for module in (datasets, datasets.load, datasets.inspect)]
    places.append((datasets.inspect, "dataset_module_factory"))
    functions = [
        _wrap_for_folders(getattr(*place)) for place in places
    ]  # before anything is changed: one may be missing
    ours = {name: catalog.module_name("benchmark", name) for name in catalog.names("benchmark")}
    for name, module in ours.items():
        if name in table and table[name][0] != module:
            raise OochubError(f"`datasets` itself has a builder named {name!r}. Rename the benchmark.")
    table.update({name: (module, hash_source(module)) for name, module in ours.items()})
    if factory.__module__ != __name__:
        datasets.load.PackagedDatasetModuleFactory = _wrap_without_scan(factory)
    for place, function in zip(places, functions, strict=True):
        setattr(*place, function)


def _wrap_for_folders(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of `datasets`, for which a benchmark's bare name means a folder where there is one."""
    parameters = inspect.signature(function)

    @wraps(function)
    def with_folders(*args: Any, **kwargs: Any) -> Any:
        call = parameters.bind(*args, **kwargs)
        path, config = call.arguments["path"], call.arguments.get("name")
        if call.arguments.get("data_dir") is None and _is_folder(path, config):
            warnings.warn(
                f"./{path} contains data files, so load_dataset({path!r}) reads that folder. The benchmark {path}: "
                f"load_dataset({path!r}, {_list_configs(path)[0]!r}, data_dir=<its raw folder>), or set OOCHUB_DATA. "
                f"The folder without this warning: load_dataset('./{path}').",
                OochubWarning,
                stacklevel=3,
            )
            call.arguments["path"] = f"./{path}"
        return function(*call.args, **call.kwargs)

    return function if getattr(function, "__globals__", None) is globals() else with_folders


def _is_folder(path: str, config: str | None) -> bool:
    """Whether a benchmark's name means a folder of the working directory; the caller has no data_dir."""
    from datasets.data_files import FILES_TO_IGNORE
    from datasets.packaged_modules import _ALL_ALLOWED_EXTENSIONS

    if path not in catalog.names("benchmark") or not Path(path).is_dir():
        return False
    root = os.environ.get("OOCHUB_DATA")
    if config in _list_configs(path) or (root is not None and (Path(root) / path).is_dir()):
        return False
    files = (file for file in Path(path).rglob("*") if file.name not in FILES_TO_IGNORE)
    return any(file.suffix.lower() in _ALL_ALLOWED_EXTENSIONS for file in files)


def _list_configs(benchmark: str) -> list[str]:
    from datasets.load import import_main_class

    return list(import_main_class(catalog.module_name("benchmark", benchmark)).builder_configs) or ["default"]


def _wrap_without_scan(factory: type[Any]) -> type[Any]:
    """The factory of packaged builders, which for a benchmark neither scans the current directory nor counts loads."""
    from datasets.data_files import DataFilesDict
    from datasets.load import DatasetModule
    from datasets.packaged_modules import _PACKAGED_DATASETS_MODULES

    class Factory(factory):  # type: ignore[misc]
        def __init__(self, name: str, **options: Any) -> None:
            if name not in catalog.names("benchmark"):
                super().__init__(name, **options)
                return
            self.name = name  # the base also tells a server, by the network, that the name was loaded
            for option in ("data_dir", "data_files", "download_config", "download_mode"):
                setattr(self, option, options.get(option))

        def get_module(self) -> Any:
            if self.name not in catalog.names("benchmark") or self.data_files is not None:
                return super().get_module()
            path, fingerprint = _PACKAGED_DATASETS_MODULES[self.name]
            # An empty DataFilesDict, not None: load.py would index builder configs of None.
            return DatasetModule(path, fingerprint, {"data_files": DataFilesDict({}), "dataset_name": self.name})

    return Factory


def hash_source(module: str) -> str:
    """A hash of every source that decides what a build contains, so a changed helper never meets an old cache.

    That of a module of another package has its own file in it too.
    """
    plugin = find_spec(module) if module.partition(".")[0] != "oochub" else None
    digest = _digest_sources().copy()
    if plugin is not None and plugin.origin:
        digest.update(b"\0" + Path(plugin.origin).read_bytes())
    return digest.hexdigest()


@cache
def _digest_sources() -> "hashlib._Hash":
    core = Path(__file__).parent
    files = [*sorted((core / "builders").rglob("*.py")), *(core / f"{name}.py" for name in _OF_BUILDERS)]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files if "toy_worlds" not in file.parts))
