"""What tests share: a cache of their own, toy worlds rendered once, the real data where they are."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["OMP_NUM_THREADS"] = "1"  # some tests fork, and OpenMP does not survive a fork with threads
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.pop("OOCHUB_DATA", None)


@pytest.fixture(scope="session", autouse=True)
def own_caches(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Hugging Face caches of the session, so a test never meets what an earlier run or the user built."""
    import datasets
    import evaluate

    folder = tmp_path_factory.mktemp("caches")
    os.environ["HF_DATASETS_CACHE"] = datasets.config.HF_DATASETS_CACHE = str(folder / "datasets")
    os.environ["HF_MODULES_CACHE"] = str(folder / "modules")
    datasets.config.HF_MODULES_CACHE = evaluate.config.HF_MODULES_CACHE = folder / "modules"
    datasets.disable_progress_bars()


@pytest.fixture(scope="session")
def coco(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small raw COCO folder."""
    from oochub.builders.toy_worlds.toy_coco import toy_coco

    return toy_coco(tmp_path_factory.mktemp("raw") / "nooch", size="small")


@pytest.fixture(scope="session")
def spawrious(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small raw Spawrious folder."""
    from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious

    return toy_spawrious(tmp_path_factory.mktemp("raw") / "spawrious", size="small")


@pytest.fixture(scope="session")
def imagenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small raw folder of ImageNet and the sets beside it."""
    from oochub.builders.toy_worlds.toy_imagenet import toy_imagenet

    return toy_imagenet(tmp_path_factory.mktemp("raw") / "imagenet_ood", size="small")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data; a test that needs it is skipped where it is absent."""
    folder = Path(os.environ.get("OOCHUB_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real data are not at {folder}; set OOCHUB_TEST_DATA")
    return folder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how many of the tests that need real data ran; `.ci/run` adds these lines up."""
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
