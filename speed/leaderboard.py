"""A board of 1,000 entries in headless Chromium, beside one of 10, and its site: `python speed/leaderboard.py`.

Interleaved rounds. Seconds are processor time of the page's own thread (reading, style, layout, script, painting);
beside it the clock's time until it is loaded. Then one sort and one filter. Then `oochub leaderboard` as it is typed,
in processor time: of a new folder, again, and again after one entry has changed.

Measured code: leaderboard.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from oochub.leaderboard.board import Board
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.leaderboard.leaderboard_pages import make_board_page

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
from browser import Browser
from leaderboard_entries import draw_entries, sent_entry

ROUNDS, SIZES, BOUND = 5, (10, 1000), 1.0
ACTIONS = {
    "sort": "document.querySelector('#open button[data-k=i]').click()",
    "filter": "(form => { form.elements.q.value = 'model 99'; form.dispatchEvent(new Event('input')) })(filters)",
}
_LAID_OUT = "document.body.offsetHeight"


def main() -> None:
    """Prints the table."""
    took: dict[tuple[str, int], list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        pages = {size: written(Path(name), size) for size in SIZES}
        browser = Browser(Path(name) / "profile")
        browser.call("Performance.enable", timeDomain="threadTicks")
        for _ in range(ROUNDS):
            for size, page in pages.items():
                browser.call("Page.navigate", url="about:blank")
                browser.call("Page.navigate", url=page.as_uri())  # a page begins at zero
                while browser.evaluate("document.readyState + location.protocol") != "completefile:":
                    pass
                browser.evaluate(_LAID_OUT)
                took.setdefault(("open", size), []).append(tasks(browser))
                load = browser.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
                took.setdefault(("open, by the clock", size), []).append(load / 1000)
                for what, code in ACTIONS.items():
                    before = tasks(browser)
                    browser.evaluate(f"{code}; {_LAID_OUT}")
                    took.setdefault((what, size), []).append(tasks(browser) - before)
        browser.close()
        kilobytes = {size: page.stat().st_size / 1000 for size, page in pages.items()}
    print(
        "| what | "
        + " | ".join(f"{size:,} entries, s" for size in SIZES)
        + " | bound, s | holds |\n|---|---|---|---|---|"
    )
    for what in dict.fromkeys(what for what, _ in took):
        median = [statistics.median(took[what, size]) for size in SIZES]
        cells = " | ".join(f"{seconds:.3f}" for seconds in median)
        print(f"| {what} | {cells} | {BOUND} | {'yes' if median[-1] < BOUND else '**no**'} |")
    with tempfile.TemporaryDirectory() as name:
        print_site(Path(name))
    print("\nkB: " + ", ".join(f"{size:,} entries {number:.0f}" for size, number in kilobytes.items()))


def written(folder: Path, size: int) -> Path:
    """The page of a board."""
    (board,) = Board.all_of(draw_entries(CheckedEntry.of(sent_entry(folder / "results")), size))
    page = folder / f"{size}.html"
    page.write_text(make_board_page(board, source="a measurement"), "utf-8")
    return page


def print_site(folder: Path) -> None:
    """Prints how long the site takes: new, again, and after a change of one entry."""
    entry, results = sent_entry(folder / "made"), folder / "results"
    for k in range(SIZES[-1]):
        shutil.copytree(entry, results / f"entry-{k}")
        name(results / f"entry-{k}", f"model {k}")
    took = {"new": [run(folder)]}
    for round in range(ROUNDS):
        took.setdefault("again", []).append(run(folder))
        name(results / f"entry-{round}", f"model {round} of round {round}")
        took.setdefault("again, one entry changed", []).append(run(folder))
    for what, seconds in took.items():
        spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
        print(f"| the site, {what} | | {statistics.median(seconds):.2f} ({spread}) | {BOUND} | |")


def name(entry: Path, model: str) -> None:
    """Writes another name of the model into an entry."""
    entry_fields = json.loads((entry / "entry.json").read_text("utf-8"))
    (entry / "entry.json").write_text(json.dumps(entry_fields | {"model": model}), "utf-8")


def run(folder: Path) -> float:
    """Seconds of processor time of the command, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [
        sys.executable,
        "-m",
        "oochub.cli",
        "leaderboard",
        str(folder / "results"),
        "--out",
        str(folder / "site"),
    ]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"OOCHUB_CACHE": str(folder / "cache")})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def tasks(browser: Browser) -> float:
    """Seconds of processor time that the page took so far: reading, style, layout, script, painting."""
    metrics = browser.call("Performance.getMetrics")["metrics"]
    return next(float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")


if __name__ == "__main__":
    main()
