"""Every code block of the README and every docstring example runs; no block is skipped."""

import doctest
import importlib
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from import_graph import files, module_of
from killed_command import ended, short_folder

from oochub.studies.demo.example import example

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
GUIDES = ["README.md", *sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").glob("*.md"))]


def _blocks(guide: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / guide).read_text("utf-8"), flags=re.S)


def _modules() -> list[str]:
    """The modules that have an example in their text."""
    return [module_of(file) for file in files() if ">>>" in file.read_text("utf-8")]


@pytest.mark.parametrize("name", _modules())
def test_docstring_examples(name):
    """Planted fault seen: another number below an example of ece.py."""
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


def _guides():
    """The README with the everyday tests, the other guides with the slow ones."""
    for name in GUIDES:
        if _blocks(name, "python") or _blocks(name, "bash"):
            yield pytest.param(name, marks=() if name == "README.md" else pytest.mark.slow)


@pytest.fixture(scope="module", params=_guides())
def guide(request, raw, coco, spawrious, imagenet, tmp_path_factory):
    """A guide, and a folder with the toy worlds where it says raw/."""
    folder = tmp_path_factory.mktemp("guide")
    (folder / "raw").mkdir()
    (folder / "raw" / "spawrious").symlink_to(spawrious)
    (folder / "raw" / "nooch").symlink_to(coco)
    (folder / "raw" / "imagenet_ood").symlink_to(imagenet)
    if "raw/wilds" in "".join(_blocks(request.param, "bash")):
        (folder / "raw" / "wilds").symlink_to(raw("wilds/camelyon17"))
    if "raw/waterbirds" in "".join(_blocks(request.param, "python")):
        for world, place in (("toy_waterbirds", "waterbirds"), ("toy_celebA", "celebA"), ("toy_cub", "birds")):
            module = importlib.import_module(f"oochub.builders.toy_worlds.{world}")
            getattr(module, world)(folder / "raw" / place, size=20)
    if "models/pipeline" in "".join(_blocks(request.param, "bash")):
        import tiny_generators

        tiny_generators.pipeline(folder / "models" / "pipeline")
        tiny_generators.captioner(folder / "models" / "captioner")
    for toml in _blocks(request.param, "toml"):
        (folder / "dogs.toml").write_text(toml)
    return request.param, folder


def test_guide_python_runs(guide, monkeypatch):
    """The blocks in order, in one namespace; toy/ is a small one of `oochub example`."""
    name, folder = guide
    monkeypatch.chdir(folder)
    blocks = _blocks(name, "python")
    if any("toy/" in block for block in blocks):
        example("toy", size=16)
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, name, "exec"), namespace)  # noqa: S102  the guides are ours
    shutil.rmtree("toy", ignore_errors=True)  # the shell makes its own


@pytest.mark.slow  # the README alone trains, predicts and reports: a minute
def test_guide_shell_runs(guide):
    """Every line of the shell blocks that starts with oochub: the README's with the installed command.

    Those of the other guides run in processes that need not import torch each.
    """
    name, folder = guide
    lines = [line for block in _blocks(name, "bash") for line in block.replace("\\\n", " ").splitlines()]
    ours = [line for line in lines if line.startswith("oochub ") and not line.startswith("oochub demo")]
    if name == "README.md":
        environment = {**os.environ, "PATH": f"{Path(os.sys.executable).parent}:{os.environ['PATH']}"}
        for line in ours:
            done = subprocess.run(line, shell=True, cwd=folder, env=environment, capture_output=True, text=True)  # noqa: S602
            assert done.returncode == 0, (line, done.stderr[-2000:])
    else:
        with short_folder() as scratch:
            for line in ours:
                end = ended(shlex.split(line, comments=True)[1:], folder / "cache", scratch, folder=folder)
                assert end.code == 0, (line, end.message[-2000:])
    assert len(ours) >= 4 or name != "README.md", ours


def test_make_targets_named_in_readme_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"`make (\w+)`", README):
        assert re.search(rf"^{target}:", makefile, flags=re.M), target
