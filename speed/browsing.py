"""The page of all rows at 1,000, 10,000 and 100,000 rows: `PYTHONPATH=tests/helpers python speed/browsing.py`.

Ten classes in ten contexts with an image each, cut from photographs if there are any. Written by Python; opened, and
filtered, from disk in Chromium at 1280 px: a filter is timed from the event to the second frame after it, which shows
the cards. Memory is that of the process that writes, and the heap of the page's scripts; the small images of the
predictions, 16 kB a row, stay in their file. Medians of five; the first number of each is said beside it.

Measured code: browsing.
"""

import io
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

import oochub
from oochub.browsing.browse import browse
from oochub.prediction.predictions import Predictions

SIZES, ROUNDS, OPEN, FILTER = (1_000, 10_000, 100_000), 5, 2.0, 0.1
FILTERS = {
    "class": {"label": "class 3"},
    "class, context, wrong": {"label": "class 3", "context": "place 4", "outcome": "wrong"},
    "confidence": {"low": "50", "high": "90"},
    "none": {"low": "", "high": "", "label": "", "context": "", "outcome": ""},
}
_DATA = Path(os.environ.get("OOCHUB_TEST_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def main() -> None:
    """Prints the tables."""
    from browser import Browser

    sizes = [int(each) for each in sys.argv[1:]] or SIZES
    print("| rows | written, s | Python, MB | folder, MB | images, MB | files | opened, s | first | bound | heap, MB |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    timed = []
    with tempfile.TemporaryDirectory() as name:
        pictures = cut_pictures()
        for rows in sizes:
            folder, seconds, memory = write(Path(name) / str(rows), rows, pictures)
            files = [path for path in folder.rglob("*") if path.is_file()]
            images = sum(path.stat().st_size for path in files if path.suffix == ".jpg")
            whole = sum(path.stat().st_size for path in files)
            browser = Browser(Path(name) / f"profile {rows}")
            opened, heap = [], 0.0
            for _ in range(ROUNDS):
                opened.append(measure_opening(browser, folder))
                heap = browser.evaluate("performance.memory.usedJSHeapSize") / 1e6
            median = statistics.median(opened)
            print(
                f"| {rows:,} | {seconds:.1f} | {memory:.0f} | {whole / 1e6:.1f} | {images / 1e6:.1f} | {len(files)} "
                f"| {median:.2f} | {opened[0]:.2f} | {OPEN} {'yes' if median < OPEN else '**no**'} | {heap:.0f} |",
                flush=True,
            )
            for what in FILTERS:
                times = [measure_filter(browser, FILTERS[what]) for _ in range(ROUNDS)]
                timed.append((rows, what, statistics.median(times), times[0]))
            browser.close()
    print("\n| rows | filter | median, ms | first, ms | bound, ms |\n|---|---|---|---|---|")
    for rows, what, median, first in timed:
        bound = f"{1000 * FILTER:.0f} {'yes' if median < FILTER else '**no**'}" if rows <= 10_000 else ""
        print(f"| {rows:,} | {what} | {1000 * median:.0f} | {1000 * first:.0f} | {bound} |")


def cut_pictures(count: int = 512) -> list[bytes]:
    """JPEGs of 224 pixels: parts of photographs, or drawn noise where there are none."""
    generator = random.Random(0)
    files = sorted(_DATA.glob("coco/**/images/*.jpg"))[:64]
    photos = [Image.open(file).convert("RGB") for file in files] or [
        Image.effect_noise((640, 480), 60).convert("RGB") for _ in range(8)
    ]
    images = []
    for number in range(count):
        photo = photos[number % len(photos)]
        side = generator.randint(min(photo.size) // 2, min(photo.size))
        left, top = (generator.randint(0, length - side) for length in photo.size)
        file = io.BytesIO()
        photo.crop((left, top, left + side, top + side * 3 // 4)).resize((224, 168)).save(file, "JPEG", quality=80)
        images.append(file.getvalue())
    return images


def write(folder: Path, rows: int, pictures: list[bytes]) -> tuple[Path, float, float]:
    """The page of drawn predictions, how long it takes to write it, and in how much memory."""
    rng = np.random.default_rng(0)
    label, place = rng.integers(0, 10, rows), rng.integers(0, 10, rows)
    logits = rng.normal(size=(rows, 10)) + 2 * np.eye(10)[label]
    predictions = Predictions.from_arrays(
        logits=logits.astype(np.float32),
        label=label,
        class_names=[f"class {k}" for k in range(10)],
        context=[f"place {k}" for k in place],
        group=[f"class {a}/place {b}" for a, b in zip(label, place, strict=True)],
        challenge=np.where(rng.random(rows) < 0.3, "hard", "easy"),
        example_id=[f"{row:012}" for row in range(rows)],
        thumbnail=[pictures[row % len(pictures)] for row in range(rows)],
        model="drawn",
    )
    folder.mkdir(parents=True)
    predictions.save(folder / "predictions.parquet")
    oochub.evaluate(folder / "predictions.parquet", resamples=100).save(folder / "report.json")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return folder / "rows", *process.submit(measure_writing, folder).result()


def measure_writing(folder: Path) -> tuple[float, float]:
    """Seconds to write the page of a folder's report, and the most memory that the process had, in MB.

    That of `resource` begins at what the process that started this one holds.
    """
    start = time.perf_counter()
    browse(folder / "report.json", folder / "rows")
    seconds, status = time.perf_counter() - start, Path("/proc/self/status").read_text("ascii").splitlines()
    return seconds, int(next(line.split()[1] for line in status if line.startswith("VmHWM"))) / 1e3


def measure_opening(browser: object, folder: Path) -> float:
    """Seconds from the navigation until cards stand on the page."""
    browser.call("Page.navigate", url="about:blank")
    while browser.evaluate("location.href") != "about:blank":
        time.sleep(0.01)
    browser.show(folder / "index.html", width=1280)
    while not browser.evaluate("document.querySelectorAll('.card').length > 0"):
        time.sleep(0.01)
    return browser.evaluate("performance.getEntriesByName('oochub open')[0].startTime / 1000")


def measure_filter(browser: object, fields: dict[str, str]) -> float:
    """Seconds from a change of filters to the second frame after it."""
    filters = ", ".join(f"[{name!r}, {value!r}]" for name, value in fields.items())
    spent: float = browser.evaluate(
        f"""new Promise(done => {{ const form = document.getElementById("filters"), start = performance.now();
        for (const [name, value] of [{filters}]) form.elements[name].value = value;
        form.elements.label.dispatchEvent(new Event("change", {{bubbles: true}}));
        requestAnimationFrame(() => requestAnimationFrame(() => done((performance.now() - start) / 1000))); }})""",
        wait=True,
    )
    browser.evaluate("document.querySelector('#filters button').click()")
    return spent


if __name__ == "__main__":
    main()
