"""Opening a folder of 20,000 images, beside listing it, and beside imagefolder: `python speed/opening.py`.

The floor lists the folder, asks the disk for each file's size and time, and reads the metadata file. "Before" is the
same call with imagefolder of `datasets` in the place of our rows of a plain folder. CPU time in one process, after a
small folder was opened for the imports; interleaved rounds, each with a cache of its own. The rows are compared.

Measured code: data.
"""

import io
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import datasets
import pandas as pd
from PIL import Image

from oochub.data import open_source as opening
from oochub.data.load import load
from oochub.data.open_source import open_source
from oochub.settings.data_settings import DataSettings

IMAGES, ROUNDS, ROUNDS_BEFORE, BOUND = 20_000, 7, 2, 5.0


def main() -> None:
    """Prints the table."""
    warnings.simplefilter("ignore")
    datasets.disable_progress_bars()
    print("| folder | what | floor, s | median, s | lowest to highest | ratio | bound | holds |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for layout, make in {"metadata.csv": metadata, "train and test, 10 classes": classes}.items():
            small, large = (make(Path(name) / f"{layout} {size}", size) for size in (20, IMAGES))
            load(str(small))
            measure(layout, large)


def measure(layout: str, folder: Path) -> None:
    """Prints the rows of one folder."""
    calls: dict[str, tuple[Callable[[], object], int, float | None, str]] = {
        "floor": (lambda: floor(folder), ROUNDS, None, ""),
        "the rows alone": (lambda: open_source(str(folder), DataSettings()), ROUNDS, BOUND, "rows"),
        "oochub.load": (lambda: load(str(folder)), ROUNDS, BOUND, "load"),
        "oochub.load, again": (lambda: load(str(folder)), ROUNDS, BOUND, "load"),
        "before: the rows alone": (lambda: through_imagefolder(folder), ROUNDS_BEFORE, None, "before"),
        "before: the rows alone, again": (lambda: through_imagefolder(folder), ROUNDS_BEFORE, None, "before"),
    }
    times: dict[str, list[float]] = {what: [] for what in calls}
    for number in range(ROUNDS):
        with tempfile.TemporaryDirectory() as cache:
            for what, (call, rounds, _, own_cache) in calls.items():
                if number < rounds:
                    datasets.config.HF_DATASETS_CACHE = str(Path(cache) / own_cache)
                    before = time.process_time()
                    call()
                    times[what].append(time.process_time() - before)
            if number == 0:
                compare(folder)
    for what, (_, _, bound, _) in calls.items():
        spent, least = times[what], statistics.median(times["floor"])
        ratios = [each / base for each, base in zip(spent, times["floor"], strict=False)]
        holds = "" if bound is None else "yes" if statistics.median(ratios) <= bound else "**no**"
        limits, ratio = f"{min(spent):.2f} to {max(spent):.2f}", statistics.median(ratios)
        print(
            f"| {layout} | {what} | {least:.3f} | {statistics.median(spent):.2f} | {limits} | {ratio:.1f} "
            f"| {'' if bound is None else f'{bound:g}'} | {holds} |"
        )


def floor(folder: Path) -> None:
    """Lists a folder, with the size and time of each file, and reads its metadata file."""
    for place, _, _ in os.walk(folder):
        for entry in os.scandir(place):
            entry.stat()
    if (folder / "metadata.csv").exists():
        pd.read_csv(folder / "metadata.csv")


def through_imagefolder(folder: Path) -> datasets.DatasetDict:
    """The rows as imagefolder gives them."""
    with patch.object(opening, "find_folder_rows", return_value=None):
        return open_source(str(folder), DataSettings()).rows


def compare(folder: Path) -> None:
    """Checks that rows and features are the same; texts of pandas are large strings of Arrow."""
    ours, theirs = open_source(str(folder), DataSettings()).rows, through_imagefolder(folder)
    for part in theirs:
        tables = [rows[part].with_format("arrow")[:] for rows in (ours, theirs)]
        features = [str(rows[part].features).replace("large_string", "string") for rows in (ours, theirs)]
        same = features[0] == features[1] and tables[0].equals(tables[1].cast(tables[0].schema))
        if list(ours) != list(theirs) or not same:
            raise AssertionError(f"the split {part} has other rows")


def metadata(folder: Path, images: int) -> Path:
    """Images in one folder, with a class and a context each."""
    lines = ["file_name,label,context"]
    for number in range(images):
        write(folder / f"{number:05d}.jpg")
        lines.append(f"{number:05d}.jpg,{('cow', 'camel')[number % 2]},{('grass', 'sand')[number * 7 % 3 % 2]}")
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def classes(folder: Path, images: int) -> Path:
    """Images of ten classes, a fifth of them in the split test."""
    for number in range(images):
        write(folder / ("test" if number % 5 == 0 else "train") / f"class {number // 5 % 10}" / f"{number:05d}.jpg")
    return folder


def write(path: Path) -> None:
    """Writes a small image."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_JPEG)


def encode() -> bytes:
    """A small image."""
    file = io.BytesIO()
    Image.new("RGB", (16, 16), (200, 60, 9)).save(file, "JPEG")
    return file.getvalue()


_JPEG = encode()

if __name__ == "__main__":
    main()
