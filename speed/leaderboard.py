"""A board of 1,000 entries in headless Chromium, beside a page of 10: `python speed/leaderboard.py`.

Interleaved rounds. What opening takes is the browser's own task time (layout, style, script), which other processes
move less than the clock; the clock's time to the load event is printed beside it. Then one filter and one sort, and
writing the page in CPU time.
"""

import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from oochub.leaderboard.board import Board
from oochub.leaderboard.board_page import board_page
from oochub.leaderboard.checked_entry import CheckedEntry
from oochub.stats.estimate import Estimate

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
from browser import Browser  # noqa: E402
from leaderboard_entries import sent_entry  # noqa: E402

ROUNDS, SIZES, BOUND = 5, (10, 1000), 1.0
_TASKS = ("TaskDuration", "LayoutDuration", "RecalcStyleDuration", "ScriptDuration")


def entries(folder: Path, number: int) -> list[CheckedEntry]:
    """One checked entry under many names, each with another number out of context."""
    made, draws = CheckedEntry.of(sent_entry(folder / "results")), np.random.default_rng(0)
    many = []
    for k in range(number):
        value = float(draws.uniform(0.6, 0.9))
        out = Estimate(value, low=value - 0.02, high=value + 0.02, n=100, method="")
        parts = tuple(
            replace(part, metrics={**part.metrics, "auc": out}) if part.role == "out" else part
            for part in made.report.slices
        )
        said = replace(made.entry, model=f"model {k}", who="somebody")
        many.append(replace(made, name=f"entry-{k}", entry=said, report=replace(made.report, slices=parts)))
    return many


def tasks(browser: Browser) -> dict[str, float]:
    """Seconds of the browser's tasks so far."""
    return {each["name"]: each["value"] for each in browser.call("Performance.getMetrics")["metrics"]}


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as name:
        folder, pages, writing = Path(name), {}, {}
        for size in SIZES:
            many = entries(folder, size)
            start = time.process_time()
            (board,) = Board.all_of(many)
            pages[size] = folder / f"{size}.html"
            pages[size].write_text(board_page(board, source="a measurement"), "utf-8")
            writing[size] = time.process_time() - start
        browser = Browser(folder / "profile")
        browser.call("Performance.enable", timeDomain="threadTicks")
        took: dict[tuple[int, str], list[float]] = {}
        for _ in range(ROUNDS):
            for size, page in pages.items():
                browser.call("Page.navigate", url="about:blank")
                before = tasks(browser)
                browser.show(page, width=1280)
                browser.evaluate("document.body.offsetHeight")
                after = tasks(browser)
                for key in _TASKS:
                    took.setdefault((size, key), []).append(after[key] - before.get(key, 0) if after[key] >= before.get(key, 0) else after[key])
                load = browser.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000
                took.setdefault((size, "load event, clock"), []).append(load)
                for what, code in (("sort", "document.querySelector('#open button[data-k=i]').click()"), ("filter", "document.getElementById('filters').elements.q.value = 'model 99'; document.getElementById('filters').dispatchEvent(new Event('input'))")):
                    before = tasks(browser)
                    browser.evaluate(code + "; document.body.offsetHeight")
                    took.setdefault((size, what), []).append(tasks(browser)["TaskDuration"] - before["TaskDuration"])
        browser.close()
    for (size, key), values in took.items():
        print(size, key, f"{statistics.median(values):.3f}", f"{min(values):.3f}")
    print({size: page for size, page in writing.items()})


if __name__ == "__main__":
    main()
