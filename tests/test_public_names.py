"""What `oochub` offers at the top: each name is there, can be called, and stays what it is."""

import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

import oochub

RESERVED = {
    "audit",
    "check",
    "compare",
    "evaluate",
    "get",
    "load",
    "names",
    "predict",
    "push",
    "repair",
    "task",
    "train",
}  # DESIGN, section 3
CALLS = {
    "audit": lambda: oochub.audit("absent/model/folder", "absent"),
    "check": lambda: oochub.check("absent.json", "absent.toml"),
    "compare": lambda: oochub.compare("absent.parquet", "absent.json"),
    "contexts": lambda: oochub.contexts("absent", by="nosuch"),
    "evaluate": lambda: oochub.evaluate("absent.parquet"),
    "get": lambda: oochub.get("metric", "nosuch"),
    "join_images": lambda: oochub.join_images(None, "absent/folder"),
    "load": lambda: oochub.load("nosuch/config"),
    "names": lambda: oochub.names("nosuch"),
    "predict": lambda: oochub.predict("absent-model", {}, splits=["nosuch"]),
    "push": lambda: oochub.push("nosuch", "nosuch"),
    "repair": lambda: oochub.repair("absent/model/folder", "absent"),
    "show": lambda: oochub.show("absent.json"),
    "task": lambda: oochub.task("absent.parquet", "nosuch"),
    "train": lambda: oochub.train("nosuch/config", "run"),
    "use": lambda: oochub.use("absent.py"),
}


def _import_everything() -> int:
    """Imports each module of the core and of the rooms beside it, as a session that uses all of it would."""
    modules = [
        module.name for module in pkgutil.walk_packages(oochub.__path__, "oochub.") if "__main__" not in module.name
    ]
    for name in modules:
        import_module(name)
    return len(modules)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_function_is_called_twice(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import of a submodule never replaces a function: the second call raises what the first did."""
    monkeypatch.chdir(tmp_path)
    errors = []
    for _ in range(2):
        with pytest.raises(oochub.OochubError) as raised:
            CALLS[name]()
        errors.append(str(raised.value))
        assert _import_everything() > 100
    assert errors[0] == errors[1]


def test_help_begins_with_a_line_a_function() -> None:
    """`help(oochub)` shows the docstring of the package first. Planted fault seen: `task` left out."""
    lines = re.findall(r"^    ((?:\w+, )*\w+) ", oochub.__doc__ or "", re.M)
    functions = {name for name in oochub.__all__ if not isinstance(getattr(oochub, name), type)}
    assert {name for line in lines for name in line.split(", ")} == functions


def test_every_function_is_called() -> None:
    """Fault planted: `load` left out of CALLS."""
    functions = {name for name in oochub.__all__ if not isinstance(getattr(oochub, name), type)}
    assert functions == set(CALLS)


def test_no_submodule_has_the_name_of_a_function() -> None:
    """Fault planted: an empty `src/oochub/push.py`."""
    assert not {module.name for module in pkgutil.iter_modules(oochub.__path__)} & (RESERVED | set(oochub.__all__))


def test_dir_shows_what_there_is() -> None:
    """Only public names, those that `from oochub import *` gives, and what a module says of itself."""
    assert {*oochub.__all__, "__version__", "__doc__"} <= set(dir(oochub))
    for name in dir(oochub):
        getattr(oochub, name)
    for name in ("RobustTrainer", "RobustTrainingArguments", "Predictions", "Report"):
        assert isinstance(getattr(oochub, name), type) and getattr(oochub, name).__name__ == name
    star: dict[str, object] = {}
    exec("from oochub import *", star)  # noqa: S102  what a notebook types
    shown = {name for name in dir(oochub) if not name.startswith("__")}
    assert shown == star.keys() - {"__builtins__"} == set(oochub.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        oochub.nosuch  # noqa: B018
