"""Every code block of the README and of the guides runs, or says above itself why not; every docstring example runs."""

import doctest
import importlib
import re
import shlex
import shutil
from pathlib import Path

import pytest
from guide_fences import Fence, fences, make_small, run_commands
from import_graph import files, module_of
from killed_command import short_folder

from oochub.app import command_line, every_command
from oochub.studies.demo.example import example

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
GUIDES = ["README.md", *sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").glob("*.md"))]


COMMANDS = every_command()
DATA = ("text", "toml", "yaml")  # what is printed, and what files hold


def _blocks(guide: str, language: str) -> list[str]:
    return [fence.code for fence in fences(ROOT / guide) if fence.language == language and not fence.reason]


def _lines(fence: Fence) -> list[str]:
    """The commands of a block, comments and empty lines left out."""
    lines = fence.code.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def check_fence(fence: Fence) -> None:
    """The rules; each failure says which one, and what to do."""
    first = fence.code.split("\n")[0]
    assert fence.language in ("python", "bash", *DATA), f"{first}: name the language behind the fence"
    if fence.language in DATA:
        said = re.search(
            r"^(\$ |oochub |torchrun |accelerate |python |pip |import |from \S+ import )", fence.code, re.M
        )
        assert fence.language != "text" or not said, f"{first}: code in a block of text; it is bash or python"
        assert not fence.reason, f"{first}: data are not run anyway; leave the comment out"
    elif fence.language == "bash" and not fence.reason:
        for line in _lines(fence):
            assert line.startswith("oochub "), f"{line}: no test runs this; say so above: <!-- not run: why -->"
    elif fence.language == "bash":
        for line in _lines(fence):
            check_options(line)
    else:
        compile(fence.code, "guide", "exec")


def check_options(line: str) -> None:
    """A command that no test runs is one of ours at least, with options that it has."""
    words = [word.strip("[]") for word in shlex.split(line, comments=True)]
    places = [place for place, word in enumerate(words[:-1]) if word in ("oochub", "oochub.cli")]
    for place in places[:1]:
        own = " ".join(words[place + 1 : place + 3])  # of a paper
        command = COMMANDS.get(own) or COMMANDS.get(words[place + 1])
        assert command is not None, f"{line}: no command {words[place + 1]}"
        parameters = [*command.params, *command_line().params]  # --plugin is of all commands
        known = {option for each in parameters for option in (*each.opts, *each.secondary_opts)}
        unknown = [word for word in words[place + 2 :] if word.startswith("--") and word.split("=")[0] not in known]
        assert not unknown, f"{line}: {words[place + 1]} has no option {', '.join(unknown)}"


@pytest.mark.parametrize("guide", [*GUIDES, "CONTRIBUTING.md"])
def test_every_fence_runs_or_says_why_not(guide):
    for fence in fences(ROOT / guide):
        check_fence(fence)


_LONG = {
    *("oochub.auditing", "oochub.repairing", "oochub.models.runtimes.exported_network", "oochub.evaluation.tasks"),
    *("oochub.sweep.sweep_recipe", "oochub.figures.context_gaps"),
    *("oochub.context_finding.context_columns", "oochub.trainers.rows.context_environments"),
    *("oochub.builders.sources.sentence_embeddings", "oochub.studies.demo.photographs"),
    *(f"oochub.builders.toy_worlds.toy_wilds_{name}" for name in ("poverty", "camelyon17", "fmow", "rxrx1")),
    *(f"oochub.builders.toy_worlds.toy_{name}" for name in ("imagenet", "breeds", "domains", "openood")),
}
"""Modules whose examples draw large worlds, train or export: slow tests."""


def _modules() -> list[str]:
    """The modules that have an example in their text."""
    return [module_of(file) for file in files() if ">>>" in file.read_text("utf-8")]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in _LONG else ()) for name in _modules()]
)
def test_docstring_examples(name):
    """Planted fault seen: another number below an example of ece.py."""
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder().find(importlib.import_module(name)):
        if test.examples:  # a runner looks at every file of the process before it runs nothing
            runner.run(test)
    assert not runner.failures


def test_there_are_docstring_examples():
    finder = doctest.DocTestFinder()
    count = sum(bool(test.examples) for n in _modules() for test in finder.find(importlib.import_module(n)))
    assert count > 60, count


def test_no_skip_directives():
    for file in [*files(), *(file for folder in ("docs", "speed", "tests") for file in (ROOT / folder).rglob("*.py"))]:
        if file.name != "test_readme.py":
            assert "doctest: +SKIP" not in file.read_text("utf-8"), file


def _guides() -> list[str]:
    """The guides but for those that test_start_pages.py follows word by word."""
    others = [name for name in GUIDES if name not in ("README.md", "docs/quickstart.md")]
    return [name for name in others if _blocks(name, "python") or _blocks(name, "bash")]


@pytest.fixture(scope="module", params=_guides())
def guide(request, raw, coco, spawrious, imagenet, tmp_path_factory):
    """A guide, and a folder with the toy worlds where it says raw/."""
    folder = tmp_path_factory.mktemp("guide")
    (folder / "raw").mkdir()
    (folder / "raw" / "spawrious").symlink_to(spawrious)
    (folder / "raw" / "nooch").symlink_to(coco)
    (folder / "raw" / "imagenet_ood").symlink_to(imagenet)
    if "raw/wilds" in "".join(_blocks(request.param, "bash")):
        shutil.copytree(raw("wilds/camelyon17"), folder / "raw" / "wilds")  # a guide moves files in it
    if "raw/waterbirds" in "".join(_blocks(request.param, "python")):
        for world, place in (("toy_waterbirds", "waterbirds"), ("toy_celebA", "celebA"), ("toy_cub", "birds")):
            module = importlib.import_module(f"oochub.builders.toy_worlds.{world}")
            getattr(module, world)(folder / "raw" / place, size=20)
    if "models/pipeline" in "".join(_blocks(request.param, "bash")):
        import tiny_generators

        tiny_generators.pipeline(folder / "models" / "pipeline")
        tiny_generators.captioner(folder / "models" / "captioner")
    for code in _blocks(request.param, "python"):
        if named := re.match(r"# (\w+\.py)\n", code):  # a file of the reader's own
            (folder / named[1]).write_text(code)
    for toml in _blocks(request.param, "toml"):
        named = re.match(r"# (\w+\.toml)\n", toml)
        (folder / (named[1] if named else "dogs.toml")).write_text(toml)
    return request.param, folder


@pytest.mark.slow
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


@pytest.mark.slow
def test_guide_shell_runs(guide):
    """Every command, in small worlds and short trainings."""
    name, folder = guide
    with short_folder() as scratch:
        for block in _blocks(name, "bash"):
            run_commands(make_small(block), folder=folder, scratch=scratch)


def test_make_targets_named_in_readme_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"`make (\w+)`", README):
        assert re.search(rf"^{target}:", makefile, flags=re.M), target
