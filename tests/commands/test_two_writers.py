"""Two processes that write one folder: the second says who is there, and two configs of one repository both stand.

Every command that writes is run by two processes at once, from one moment on and with the second somewhat later. Either
one says who is there, or both end well; the output is one whole run's, and a third run finds nothing in its way.
"""

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from threading import BrokenBarrierError

import pytest
from huggingface_hub import DatasetCard
from killed_command import ended, ended_together, left_in
from test_kills import artefacts
from writing_commands import COMMANDS

from oochub.errors import OochubError
from oochub.storage.files import lock_target
from oochub.storage.ownership import MANIFEST

_COUNTS: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def counts(request) -> Iterator[None]:
    """Prints at the end how the pairs ended."""
    yield
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("", *(f"{how}: {count}" for how, count in _COUNTS.items()), sep="\n")  # noqa: T201


_HELD = {
    "build": "spawrious/o2o_hard",
    "challenge": "set",
    "contexts": "found",
    "train": "run",
    "sweep": "sweep",
    "sweep features": "sweep",
    "waterbirds construct": "waterbirds",
    "wilds submission": "scores",
    "spawrious cleanliness": "check",
    "spawrious compose": "composed",
    "spawrious compose search": "found",
    "example": "example",
    "demo": "demo",
    "evaluate tasks": "reports",
    "spawrious prompt_check": "check",
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in _HELD])
def test_a_held_output_is_said(name, inputs, tmp_path, scratch):
    """Planted fault: each of these commands without the lock; the files of two could be mixed in one folder."""
    with lock_target(tmp_path / _HELD[name]):
        end = ended(COMMANDS[name](inputs, tmp_path), tmp_path / "data", scratch, ours=tmp_path / "ours")
    assert end.code == 2 and "Another process writes" in end.message and "Traceback" not in end.message, end
    assert f"process {os.getpid()} " in end.message and "since 20" in end.message, end
    kept = {path.name for path in (tmp_path / _HELD[name]).glob("*")}
    assert kept <= {"sweep.json", MANIFEST}  # a sweep first notes whose the folder is


def test_the_card_is_written_while_the_shards_are_held(spawrious, tmp_path, monkeypatch):
    """Planted fault: the card written after; another build of the config could replace what its digests are of."""
    from oochub.loading_scripts import build_repository
    from oochub.loading_scripts.build_repository import build_parquet

    original, held = build_repository._license_text, []

    def read(benchmark):
        with pytest.raises(OochubError, match="Another process writes"):
            with lock_target(tmp_path / "spawrious" / "o2o_hard", patience=0):
                pass
        held.append(True)
        return original(benchmark)

    monkeypatch.setattr(build_repository, "_license_text", read)
    build_parquet("spawrious/o2o_hard", tmp_path / "spawrious", data_dir=str(spawrious))
    assert held


def _build(config: str, raw: Path, out: Path, both) -> None:
    """Builds; between reading the card and writing it, it waits until the other has read it too, if it ever does."""
    from oochub.loading_scripts import build_repository
    from oochub.loading_scripts.build_repository import build_parquet

    original = build_repository._license_text

    def read(benchmark):
        try:
            both.wait(1)
        except BrokenBarrierError:
            pass
        return original(benchmark)

    build_repository._license_text = read
    build_parquet(f"spawrious/{config}", out, data_dir=str(raw))


@pytest.mark.slow
def test_two_builds_of_one_repository_both_stand_in_its_card(spawrious, tmp_path):
    """Planted fault: the card written without the lock; one of the two was lost."""
    context = get_context("forkserver")  # forks from a process without threads; pytest's own has some
    context.set_forkserver_preload(["oochub.loading_scripts.build_repository"])
    both = context.Barrier(2)
    processes = [
        context.Process(target=_build, args=(config, spawrious, tmp_path / "spawrious", both))
        for config in ("o2o_easy", "o2o_hard")
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0]
    configs = DatasetCard.load(tmp_path / "spawrious" / "README.md").data.to_dict()["configs"]
    assert {config["config_name"] for config in configs} == {"o2o_easy", "o2o_hard"}
    assert [path.name for path in (tmp_path / "spawrious").glob(".*")] == [MANIFEST]


_SLOW = ("compare pair", "evaluate", "report", "build", "challenge", "train", "predict")
_ONCE, _MORE = (0.3,), (0.0, 0.9)  # where in the first run the second one begins
_PAIRS = [
    *(
        pytest.param(name, _ONCE, marks=pytest.mark.slow if name in _SLOW else pytest.mark.campaign)
        for name in COMMANDS
    ),
    *(pytest.param(name, _MORE, marks=pytest.mark.campaign) for name in COMMANDS),
]


@pytest.mark.parametrize(("name", "moments"), _PAIRS)
def test_two_at_once(name, moments, inputs, tmp_path, scratch):
    """The caches and TMPDIR are theirs too."""
    out = tmp_path / "out"
    words = COMMANDS[name](inputs, out)
    alone = ended(words, tmp_path / "data", scratch, ours=tmp_path / "ours")
    assert alone.code == 0, alone
    expected = artefacts(out)
    assert expected
    for part in moments:
        for folder in (out, tmp_path / "data", tmp_path / "ours"):
            shutil.rmtree(folder, ignore_errors=True)
        ends = ended_together((words, words), tmp_path / "data", scratch, part * alone.seconds, ours=tmp_path / "ours")
        codes = sorted(end.code for end in ends)
        case = f"{name}, the second after {part}: {ends}"
        assert codes in ([0, 0], [0, 2]), case
        for end in ends:
            assert "Traceback" not in end.message, case
            assert end.code == 0 or re.search(r"Another process writes .* \(process \d+ on .*, since ", end.message), (
                case
            )
        assert artefacts(out) == expected, case
        hidden = (path for path in out.rglob(".*") if path.name not in (".gitattributes", MANIFEST))
        left = [*hidden, *left_in(scratch)]
        assert not left, (left, case)
        assert ended(words, tmp_path / "data", scratch, ours=tmp_path / "ours").code == 0, case
        assert artefacts(out) == expected, case
        _COUNTS["both ended well" if codes == [0, 0] else "one said who is there"] += 1
