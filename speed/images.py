"""Images to uint8 batches beside pure decoding on the same cores: `python speed/images.py`.

Synthetic 500 x 375 JPEGs of noise and shapes, and larger ones for drafts. "Decoding" is Pillow's decoder alone, into an
array; the cached epoch reads shuffled batches in this process and normalizes them. Medians of interleaved rounds.

Measured code: inputs.
"""

import io
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from datasets import Dataset, Features
from datasets import Image as ImageFeature
from PIL import Image, ImageDraw
from torch.utils.data import DataLoader

from oochub.inputs.pictures.image_threads import cache_pixels, read_batches
from oochub.inputs.pictures.preprocessing import Normalizer, Preprocessing

ROUNDS, PICTURES, BATCH = 5, 600, 64
WORKERS = min(2, os.cpu_count() or 1)
_LARGE, _PHOTOGRAPHS = ((1600, 1200), (4032, 3024)), 6
PREPROCESSING = Preprocessing(resize=256, crop=(224, 224), mean=(0.5,) * 3, std=(0.5,) * 3)


def jpeg(seed: int, size: tuple[int, int] = (500, 375)) -> bytes:
    rng = np.random.default_rng(seed)
    picture = Image.fromarray(rng.integers(0, 256, (12, 16, 3), np.uint8)).resize(size, Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(picture)
    for _ in range(12):
        x, y = rng.integers(0, 400), rng.integers(0, 300)
        draw.ellipse((x, y, x + rng.integers(20, 120), y + rng.integers(20, 120)), fill=tuple(rng.integers(0, 256, 3)))
    noisy = np.asarray(picture) + rng.normal(0, 12, (*size[::-1], 3))
    file = io.BytesIO()
    Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=88)
    return file.getvalue()


class Decoding:
    """Decodes and throws the pixels away."""

    def __init__(self, files: list[bytes]) -> None:
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, rows: range) -> int:
        for row in rows:
            np.asarray(Image.open(io.BytesIO(self.files[row])))
        return len(rows)


class Row(NamedTuple):
    what: str
    ours: Callable[[], None]
    floor: Callable[[], None]
    bound: float


def ratio(row: Row) -> float:
    ratios = []
    for _ in range(ROUNDS):
        seconds = []
        for function in (row.ours, row.floor):
            start = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - start)
        ratios.append(seconds[0] / seconds[1])
    return statistics.median(ratios)


def _read_all(files: list[bytes], preprocessing: Preprocessing) -> None:
    for file in files:
        preprocessing.pixels(file, "a photograph")


def _decode_all(files: list[bytes]) -> None:
    for file in files:
        np.asarray(Image.open(io.BytesIO(file)))


def main() -> None:
    torch.set_num_threads(1)
    files = [jpeg(seed) for seed in range(PICTURES)]
    columns = {"image": [{"bytes": file, "path": None} for file in files]}
    data = Dataset.from_dict(columns, Features({"image": ImageFeature()}))
    rows = [range(start, min(start + BATCH, PICTURES)) for start in range(0, PICTURES, BATCH)]

    def decode(workers: int) -> None:
        for _ in DataLoader(Decoding(files), sampler=rows, batch_size=None, num_workers=workers):
            pass

    def ours(workers: int) -> None:
        for _ in read_batches(data, PREPROCESSING.pixels, batch_size=BATCH, num_workers=workers):
            pass

    with tempfile.TemporaryDirectory() as folder:
        cached = cache_pixels(data, PREPROCESSING, cache_dir=Path(folder))
        normalizer = Normalizer(PREPROCESSING)

        def epoch() -> None:
            for chosen in np.array_split(np.random.default_rng(0).permutation(PICTURES), len(rows)):
                normalizer(torch.from_numpy(cached[chosen]))

        in_workers, alone = partial(decode, WORKERS), partial(decode, 0)
        compared = [
            Row("images to uint8 batches at 224, one process / decoding in it", partial(ours, 0), alone, 1.9),
            Row(f"the same, {WORKERS} workers / decoding in them", partial(ours, WORKERS), in_workers, 1.9),
            Row(f"cached epoch, normalized, one process / decoding in {WORKERS} workers", epoch, in_workers, 0.2),
        ]
        for width, height in _LARGE:
            photographs = [jpeg(seed, (width, height)) for seed in range(_PHOTOGRAPHS)]
            whole = partial(_read_all, photographs, PREPROCESSING)
            draft = partial(_read_all, photographs, replace(PREPROCESSING, draft=True))
            each = partial(_decode_all, photographs)
            what = f"{width} x {height} to 224, one process"
            compared.append(Row(f"{what} / decoding", whole, each, 1.9))
            compared.append(Row(f"{what}, as a draft / decoding", draft, each, 1.0))
        ratios = [ratio(row) for row in compared]
    size = np.mean([len(file) for file in files]) / 1024
    print(f"load {os.getloadavg()[0]:.1f}; {PICTURES} JPEGs of {size:.0f} KB, {WORKERS} workers, {ROUNDS} rounds\n")
    print("| what | ratio | bound | holds |\n|---|---|---|---|")
    for row, value in zip(compared, ratios, strict=True):
        print(f"| {row.what} | {value:.2f} | {row.bound} | {'yes' if value <= row.bound else 'no'} |")


if __name__ == "__main__":
    main()
