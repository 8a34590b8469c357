"""Contract tests over every option that names an output: what cannot be written is said before anything else."""

import os
import re
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from declared_in_tests import declared_in_tests
from foreign_files import FOREIGN

from oochub import catalog
from oochub.app import every_command
from oochub.cli import main
from oochub.commands._options import with_options
from oochub.storage import artifacts
from oochub.storage.ownership import make_manifest
from oochub.studies import file_kinds

COMMANDS = every_command()
KINDS = {  # of what each option writes
    ("audit", "--out"): artifacts.AUDIT,
    ("build", "--audit"): artifacts.CSV,
    ("build", "--out"): artifacts.REPOSITORY,
    ("contexts", "--page"): artifacts.PAGE,
    ("challenge", "--out"): artifacts.REPOSITORY,
    ("spawrious cleanliness", "--out"): file_kinds.CLEANLINESS,
    ("compare", "--csv"): artifacts.CSV,
    ("compare", "--html"): artifacts.PAGE,
    ("compare", "--latex"): artifacts.LATEX,
    ("compare", "--markdown"): artifacts.MARKDOWN,
    ("spawrious compose", "--out"): file_kinds.COMPOSED,
    ("waterbirds construct", "--out"): file_kinds.WATERBIRDS,
    ("build", "--describe"): artifacts.DECLARATION,
    ("contexts", "--out"): artifacts.REPOSITORY,
    ("demo", "--out"): file_kinds.DEMO,
    ("imagenet_ood detect", "--out"): file_kinds.STUDY,
    ("evaluate", "--groups"): artifacts.GROUP_TABLE,
    ("evaluate", "--keep"): artifacts.PREDICTIONS,
    ("evaluate", "--out"): artifacts.REPORT,
    ("spawrious generate", "--out"): file_kinds.GENERATION,
    ("leaderboard", "--out"): artifacts.SITE,
    ("predict", "--out"): artifacts.PREDICTIONS,
    ("spawrious prompt_check", "--out"): file_kinds.PROMPT_CHECK,
    ("push", "--out"): artifacts.REPOSITORY,
    ("report", "--browse"): artifacts.BROWSER,
    ("report", "--html"): artifacts.PAGE,
    ("report", "--latex"): artifacts.LATEX,
    ("report", "--markdown"): artifacts.MARKDOWN,
    ("report", "--plot"): artifacts.FIGURE,
    ("imagenet_ood review", "--decisions"): artifacts.CSV,
    ("imagenet_ood review", "--keep"): artifacts.LIST,
    ("imagenet_ood review", "--out"): artifacts.PAGE,
    ("saliency", "--numbers"): artifacts.CSV,
    ("saliency", "--out"): artifacts.FIGURE,
    ("wilds submission", "--out"): file_kinds.SUBMISSION,
    ("nooch suite", "--out"): artifacts.CSV,
    ("sweep", "--csv"): artifacts.CSV,
    ("sweep", "--latex"): artifacts.LATEX,
    ("sweep", "--out"): artifacts.SWEEP,
    ("train", "--out"): artifacts.RUN,
    ("wilds tables", "--csv"): artifacts.CSV,
    ("wilds tables", "--html"): artifacts.PAGE,
    ("wilds tables", "--latex"): artifacts.LATEX,
    ("wilds tables", "--markdown"): artifacts.MARKDOWN,
}
KINDS |= declared_in_tests("WRITTEN", "commands")  # of a new command: WRITTEN = {("name", "--out"): artifacts.CSV}
READ = {  # options of paths that are read
    ("audit", "--labels"),
    ("audit", "--proxy"),
    ("audit", "--unlabeled"),
    ("check", "--earlier"),
    ("challenge", "--of"),
    ("contexts", "--checked"),
    ("build", "--wordnet"),
    ("waterbirds construct", "--cub"),
    ("waterbirds construct", "--places"),
    ("waterbirds construct", "--segmentations"),
    ("evaluate", "--reference"),
    ("evaluate", "--rows"),
    ("push", "--predictions"),
    ("report", "--embedding"),
    ("report", "--predictions"),
    ("report", "--reference"),
    ("imagenet_ood review", "--apply"),
    ("saliency", "--masks"),
    ("nooch verify", "--official-ids"),
} | declared_in_tests("READ_PATHS", "commands").keys()  # of a new command: READ_PATHS = {("name", "--file"): "what"}


def _takes_paths(hint) -> bool:
    return "Path" in str(hint) or any(_takes_paths(each) for each in get_args(hint))


def path_options() -> set[tuple[str, str]]:
    """Each option of each command that is a path."""
    return {
        (name, parameter.opts[0])
        for name, command in COMMANDS.items()
        for parameter in command.params
        if parameter.param_type_name == "option"
        and _takes_paths(get_type_hints(with_options(catalog.get("command", name), name)).get(parameter.name))
    }


@pytest.fixture
def typed(monkeypatch, capsys, tmp_path_factory):
    """Runs a command whose inputs are not there, with one output, and gives what it says."""
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))

    def call(name: str, option: str, path: object, *more: str) -> str:
        words = []
        for parameter in COMMANDS[name].params:
            if parameter.required and option not in parameter.opts:
                is_argument = parameter.param_type_name == "argument"
                suffixes = KINDS[name, parameter.opts[0]].suffixes if (name, parameter.opts[0]) in KINDS else ()
                words += ["nowhere"] if is_argument else [parameter.opts[0], f"nowhere{''.join(suffixes[:1])}"]
        value = f"gap={path}" if option == "--plot" else str(path)
        monkeypatch.setattr(sys, "argv", ["oochub", *name.split(), *words, option, value, *more])
        with pytest.raises(SystemExit) as stopped:
            main()
        error = capsys.readouterr().err
        assert stopped.value.code == 2, f"{name} {option} {path}: {error}"
        return " ".join(error.split())

    return call


@pytest.fixture
def refused(typed):
    """Runs a command that must be refused for its output."""

    def call(name: str, option: str, path: object, *more: str) -> str:
        error = typed(name, option, path, *more)
        assert "Cannot write" in error, f"{name} {option} {path}: {error}"
        return error

    return call


@pytest.fixture
def passed(typed):
    """Runs a command that must not be refused for its output; its inputs are not there."""

    def call(name: str, option: str, path: object, *more: str) -> None:
        error = typed(name, option, path, *more)
        assert "Cannot write" not in error, f"{name} {option} {path}: {error}"

    return call


def test_every_path_is_an_output_or_read():
    """A new option of a path says which it is, and a folder which paths it wants; the demo's are those of others."""
    unnamed = {name for (name, _), kind in KINDS.items() if kind.is_folder and not kind.names}
    assert unnamed == {"demo"}
    assert path_options() | {("report", "--plot")} == set(KINDS) | READ and not set(KINDS) & READ


def test_every_command_that_writes_takes_overwrite():
    """Planted fault seen: `writes` without its kind, by which a command is known to write."""
    lacking = {name for name, _ in KINDS if not any("--overwrite" in each.opts for each in COMMANDS[name].params)}
    assert not lacking and not any("--overwrite" in each.opts for each in COMMANDS["show"].params)


@pytest.mark.parametrize(("name", "option"), KINDS)
def test_what_cannot_be_written_is_said_first(refused, tmp_path, name, option):
    """Planted faults: each callback in turn left out, `kind.check` left out, a pipe opened.

    In turn: a folder that takes no file, even of root; a path below a file; a file of something else; a pipe; a loop
    of links.
    """
    kind = KINDS[name, option]
    suffix = kind.suffixes[0] if kind.suffixes else ""
    refused(name, option, f"/proc/self/out{suffix}")
    (tmp_path / "file").write_text("text")
    refused(name, option, tmp_path / "file" / f"out{suffix}")
    other = tmp_path / f"other{suffix}"
    if kind.is_folder:
        other.mkdir()
        (other / "thesis.docx").write_bytes(b"PK\0\0")
    else:
        other.write_bytes(b"\0\1 something else")
    assert kind.name in refused(name, option, other)
    assert (other / "thesis.docx" if kind.is_folder else other).read_bytes()
    os.mkfifo(tmp_path / f"pipe{suffix}")
    refused(name, option, tmp_path / f"pipe{suffix}")
    (tmp_path / f"loop{suffix}").symlink_to(tmp_path / f"loop{suffix}")
    refused(name, option, tmp_path / f"loop{suffix}")
    assert {path.name for path in tmp_path.iterdir()} == {"file", other.name, f"pipe{suffix}", f"loop{suffix}"}


@pytest.mark.parametrize(("name", "option"), [pair for pair, kind in KINDS.items() if not kind.is_folder])
def test_a_suffix_fits(refused, tmp_path, name, option):
    """The issue's `predict --out dogs.json` and `--out p.csv`. Planted fault: `suffixes` not looked at."""
    kind = KINDS[name, option]
    for suffix in (".json", ".csv", ".parquet", ""):
        if suffix not in kind.suffixes:
            assert "its name must end in" in refused(name, option, tmp_path / f"out{suffix}")
    assert not list(tmp_path.iterdir())


def _snapshot(folder: Path) -> dict[str, object]:
    """Each entry below a folder: where a link leads, and what a file holds and when it was written."""
    entries = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    return {
        name: str(path.readlink()) if path.is_symlink() else path.is_dir() or (path.read_bytes(), path.stat().st_mtime)
        for name, path in entries.items()
    }


def _sample(pattern: str) -> str:
    """A path of a pattern: "000.a/a" of "[0-2][0-9][0-9].*/*"."""
    return re.sub(r"\[([0-9a-z]).*?\]", r"\1", pattern).replace("*", "a")


@pytest.mark.parametrize(("name", "option"), [pair for pair, kind in KINDS.items() if kind.names and kind.is_folder])
def test_what_stands_where_a_folder_needs_a_place_is_named_first(refused, passed, tmp_path, name, option):
    """A file of somebody else, an edited one of ours, and a link, at a path that the command wants."""
    kind = KINDS[name, option]
    for number, pattern in enumerate(kind.names[:2]):
        folder = tmp_path / str(number)
        manifest = make_manifest(folder, kind.name)
        place = folder / _sample(pattern)
        place.parent.mkdir(parents=True, exist_ok=True)
        (folder / "notes.txt").write_text("mine")
        passed(name, option, folder)  # it is in nobody's way
        place.write_text("mine")
        before = _snapshot(tmp_path)
        assert f"{place}: it was not written by oochub" in refused(name, option, folder)
        passed(name, option, folder, "--overwrite")
        place.write_text("ours")
        manifest.add(place, place)
        passed(name, option, folder)
        place.write_text("ours, and then mine")
        assert f"{place}: it was changed after oochub wrote it" in refused(name, option, folder)
        passed(name, option, folder, "--overwrite")
        place.unlink()
        (tmp_path / f"outside-{number}").write_text("mine")
        place.symlink_to(tmp_path / f"outside-{number}")
        before = _snapshot(tmp_path)
        assert f"{place}: it is a link" in refused(name, option, folder)
        assert f"{place}: it is a link" in refused(name, option, folder, "--overwrite")
        assert _snapshot(tmp_path) == before


@pytest.mark.parametrize(("name", "option"), [pair for pair, kind in KINDS.items() if not kind.is_folder])
def test_a_file_of_somebody_else_is_taken_with_overwrite_alone(refused, passed, tmp_path, name, option):
    """Text, a page, a table of others; also through a link never. Planted fault: a `recognizes` that says yes."""
    for suffix in KINDS[name, option].suffixes:
        place, link = tmp_path / f"mine{suffix}", tmp_path / f"link{suffix}"
        place.write_bytes(FOREIGN[suffix])
        link.symlink_to(place)
        before = _snapshot(tmp_path)
        assert str(place) in refused(name, option, place)
        passed(name, option, place, "--overwrite")
        for more in ((), ("--overwrite",)):
            assert f"{link}: it is a link" in refused(name, option, link, *more)
        assert _snapshot(tmp_path) == before
        link.unlink()
