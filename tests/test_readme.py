"""Every code block of the README and every docstring example runs; no block is skipped."""

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
from pathlib import Path

import pytest

import oochub

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.S)


def _modules() -> list[str]:
    found = pkgutil.walk_packages(oochub.__path__, "oochub.")
    return sorted(m.name for m in found if not m.name.endswith("__main__"))


@pytest.mark.parametrize("name", _modules())
def test_docstring_examples(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert not result.failed


def test_there_are_docstring_examples():
    finder = doctest.DocTestFinder()
    count = sum(bool(test.examples) for n in _modules() for test in finder.find(importlib.import_module(n)))
    assert count > 60, count


def test_no_skip_directives():
    for file in [*ROOT.glob("*/**/*.py")]:
        if ".venv" not in file.parts and file.name != "test_readme.py":
            assert "doctest: +SKIP" not in file.read_text("utf-8"), file


def test_readme_python_runs(coco, spawrious, tmp_path, monkeypatch):
    """The blocks in order, in one namespace, with the toy folders where the README says RAW."""
    monkeypatch.chdir(tmp_path)
    blocks = _blocks("python")
    assert blocks
    Path("raw").mkdir()
    Path("raw/spawrious").symlink_to(spawrious)
    Path("raw/nooch").symlink_to(coco)
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)  # noqa: S102  the README is ours


def test_readme_shell_runs(coco, spawrious, tmp_path):
    """Every line of the shell blocks that starts with oochub, with the installed command."""
    lines = [line for block in _blocks("bash") for line in block.replace("\\\n", " ").splitlines()]
    ours = [line for line in lines if line.startswith("oochub ") and not line.startswith("oochub demo")]
    assert len(ours) >= 4, lines
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "spawrious").symlink_to(spawrious)
    (tmp_path / "raw" / "nooch").symlink_to(coco)
    folder = Path(os.sys.executable).parent
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    for line in ours:
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)  # noqa: S602
        assert done.returncode == 0, (line, done.stderr[-2000:])


def test_make_targets_named_in_readme_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"`make (\w+)`", README):
        assert re.search(rf"^{target}:", makefile, flags=re.M), target
