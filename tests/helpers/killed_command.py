"""Runs commands in processes that can be killed: forked from a server that has imported everything, in a second."""

import os
import runpy
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from own_group import wait_for_the_last

from oochub.catalog import module_name, names

_LONGEST = 300.0  # seconds
_STEPS = get_context("forkserver")  # forks from a process without threads; pytest's own has some
_STEPS.set_forkserver_preload(
    [
        "oochub.app",
        *(module_name("command", name) for name in names("command")),
        "oochub.studies.demo.demo",
        "oochub.studies.imagenet_ood.study",
        "oochub.studies.imagenet_ood.review",
        "oochub.studies.spawrious.generation.generate_spawrious",
        "oochub.models.captioner",
        "oochub.studies.spawrious.generation.picture_maker",
        "diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion",
        "oochub.sweep.feature_measurement",
        "oochub.report.page",
        "oochub.prediction.predict",
        "oochub.trainers.robust_trainer",
        "oochub.training",
        "oochub.repository.write_repository",
        "oochub.loading_scripts.build_repository",
        "oochub.figures.gallery",
        "sentence_transformers",
        "transformers.models.resnet.modeling_resnet",
        "transformers.models.vision_encoder_decoder.modeling_vision_encoder_decoder",
        "transformers.models.vit.image_processing_pil_vit",
    ]
)


class End(NamedTuple):
    """How a command ended: its exit code (negative: a signal), what it said, and after how many seconds."""

    code: int
    message: str
    seconds: float


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder for temporary files with a short path: that of a socket has 107 bytes at most."""
    folder = Path(tempfile.mkdtemp(prefix="kill"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def ended(
    words: list[str],
    cache: Path,
    scratch: Path,
    number: int = 0,
    moment: float = 0.0,
    *,
    folder: Path | None = None,
    said: Path | None = None,
    ours: Path | None = None,
) -> End:
    """Runs a command to its end; with a signal's number, sends it after `moment` seconds of work.

    Ctrl-C reaches all processes of the command, as from a terminal; the other signals its first process alone.

    Args:
        words: What its user types after `oochub`.
        cache: For the data sets that it builds.
        scratch: Its TMPDIR.
        number: Of the signal, 0 for none.
        moment: Seconds after its handlers are there.
        folder: Where it runs; None for the folder of the tests.
        said: Gets what it says; None for a file in `cache`.
        ours: The caches of the hub; None for those of the first test.

    Raises:
        AssertionError: It or a process that it started does not end.
    """
    said = said or cache / "stderr.txt"
    process, ready = _begun(words, cache, scratch, said, folder=folder, ours=ours)
    assert ready.poll(_LONGEST), "it did not start"
    ready.recv()
    started = time.monotonic()
    if number:
        process.join(moment)
        if process.exitcode is None:
            with suppress(ProcessLookupError):  # it has ended meanwhile
                (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    return _end(process, said, started)


def left_in(scratch: Path) -> list[Path]:
    """What a command left in its TMPDIR; diffusers imports ONNX Runtime where it is installed, which leaves `.ses`."""
    return [path for path in scratch.iterdir() if path.name != ".ses"]


def ended_together(
    both: tuple[list[str], list[str]], cache: Path, scratch: Path, moment: float = 0.0, *, ours: Path | None = None
) -> list[End]:
    """Runs two commands at once to their ends; they begin to work at the same moment, or the second somewhat later.

    Args:
        both: What their users type after `oochub`.
        cache: As for `ended`, of both.
        scratch: As for `ended`, of both.
        moment: Seconds that the second waits after the first has begun.
        ours: As for `ended`, of both.

    Raises:
        AssertionError: As for `ended`.
    """
    line = _STEPS.Barrier(2)
    notes = [cache / f"stderr{number}.txt" for number in range(2)]
    begun = [
        _begun(words, cache, scratch, said, ours=ours, line=line, wait=wait)
        for words, said, wait in zip(both, notes, (0.0, moment), strict=True)
    ]
    started = time.monotonic()
    return [_end(process, said, started) for (process, _), said in zip(begun, notes, strict=True)]


def _begun(
    words: list[str],
    cache: Path,
    scratch: Path,
    said: Path,
    *,
    folder: Path | None = None,
    ours: Path | None = None,
    line: Any = None,
    wait: float = 0.0,
) -> tuple[Any, Any]:
    """A process that has been started, and what says that its handlers are there."""
    cache.mkdir(parents=True, exist_ok=True)
    ready, child = _STEPS.Pipe(duplex=False)
    process = _STEPS.Process(target=_work, args=(words, cache, scratch, said, child, folder, ours, line, wait))
    process.start()
    child.close()
    return process, ready


def _end(process: Any, said: Path, started: float) -> End:
    process.join(_LONGEST)
    seconds = time.monotonic() - started
    if process.exitcode is None:
        os.killpg(process.pid, signal.SIGKILL)
        raise AssertionError(f"It did not end: {said.read_text()[-2000:]}")
    wait_for_the_last(process.pid)
    return End(process.exitcode, said.read_text(errors="replace"), seconds)


def _work(
    words: list[str],
    cache: Path,
    scratch: Path,
    said: Path,
    ready: Any,
    folder: Path | None = None,
    ours: Path | None = None,
    line: Any = None,
    wait: float = 0.0,
) -> None:
    os.setsid()
    os.chdir(folder or ".")
    import datasets
    import torch

    import oochub.process.program
    from oochub.cli import main
    from oochub.studies.demo import effect

    for folder in (effect.SIZES, effect._EPOCHS):
        folder.update({"nooch": 300, "spawrious": 10} if folder is effect.SIZES else dict.fromkeys(folder, 1))
    torch.set_num_threads(1)
    os.environ |= {"TMPDIR": str(scratch), "MPLBACKEND": "Agg"}
    if ours:
        os.environ["OOCHUB_CACHE"] = str(ours)
    tempfile.tempdir = None
    datasets.config.HF_DATASETS_CACHE = str(cache)
    datasets.disable_progress_bars()
    with said.open("w") as file, Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(file.fileno(), 2)
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    take = oochub.process.program.StopSignals.take

    def take_and_say(self: Any) -> None:
        take(self)
        ready.send(True)
        ready.close()
        if line:
            line.wait(_LONGEST)
            time.sleep(wait)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)

    oochub.process.program.StopSignals.take = take_and_say
    script = words[0].removeprefix("loading script ")
    sys.argv = [words[0], *words[1:]] if script != words[0] else ["oochub", *words]
    if script != words[0]:
        file_name = Path(oochub.__file__).parent / "loading_scripts" / f"{script}.py"
        runpy.run_path(str(file_name), run_name="__main__")
    else:
        main()
