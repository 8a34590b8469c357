"""Reading COCO's areas against json.load, and building 20,000 images against copying their bytes; as ratios.

A wall ratio needs a machine without other work; beside it stands the CPU time of all processes, over the cores they
share. A plain builder of `datasets`, without a check or a column of ours, shows what is its own.
Nothing syncs. The floor is a copy in one process, written an image at a time, and one written 64 images at a
time, as a build's tables are: on ext4 with large folios, in a virtual machine that gives free memory back to its host,
the system time of writes of 4 MB was seen to be up to 5 times that of writes of 64 kB.

Measured code: builders, storage.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
from datasets.builder import Key
from PIL import Image

from oochub.builders.sources.coco_categories import STUFF, THINGS

_ROUNDS = 5


def _annotations(folder: Path, images: int, per_image: int) -> Path:
    """Four annotation files of the real form, polygons included, about 8.5 annotations per image."""
    rng = np.random.default_rng(0)
    (folder / "annotations").mkdir(parents=True)
    for kind, ids in (("instances", (1, 91)), ("stuff", (92, 183))):
        for year, share in (("train2017", 0.9), ("val2017", 0.1)):
            first = 0 if year == "train2017" else int(0.9 * images)
            numbers = range(first, first + int(share * images))
            allowed = [1, 2, 3, 4, 5, 44, 62, 67] if kind == "instances" else list(range(*ids))
            entries = [
                {
                    "segmentation": [rng.integers(0, 640, 40).astype(float).tolist()],
                    "area": float(rng.integers(1, 90_000)),
                    "iscrowd": 0,
                    "image_id": int(i),
                    "bbox": [1.5, 2.5, 30.0, 40.0],
                    "category_id": int(rng.choice(allowed)),
                    "id": int(i) * 100 + k,
                }
                for i in numbers
                for k in range(per_image)
            ]
            listed = [{"id": i, "file_name": f"{i:012d}.jpg", "height": 480, "width": 640} for i in numbers]
            categories = THINGS if kind == "instances" else STUFF
            content = {"images": listed, "annotations": entries, "categories": categories}
            (folder / "annotations" / f"{kind}_{year}.json").write_text(json.dumps(content))
    return folder


def _load_all(folder: Path) -> None:
    for file in sorted((folder / "annotations").iterdir()):
        json.loads(file.read_bytes())


class _Seconds(NamedTuple):
    wall: float
    cpu: float  # of this process and of those that ended in it


def _cpu() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _timed(work: Callable[[], object]) -> _Seconds:
    started, used = time.perf_counter(), _cpu()
    work()
    return _Seconds(time.perf_counter() - started, _cpu() - used)


def _rounds(*works: Callable[[], object]) -> list[list[_Seconds]]:
    """The seconds of each, in interleaved rounds."""
    return [[_timed(work) for work in works] for _ in range(_ROUNDS)]


def _pictures(folder: Path, count: int) -> Path:
    """JPEGs of about 65 kB below a NOOCH folder, so that the real builder builds them."""
    rng = np.random.default_rng(0)
    target = folder / "images" / "train2017"
    target.mkdir(parents=True)
    (folder / "images" / "val2017").mkdir()
    noise = rng.integers(0, 255, (375, 500, 3), dtype=np.uint8)
    smooth = np.linspace(0, 255, 500, dtype=np.uint8)[None, :, None]
    Image.fromarray((0.55 * smooth + 0.45 * noise).astype(np.uint8)).save(folder / "one.jpg", quality=80)
    data = (folder / "one.jpg").read_bytes()
    images, annotations = [], []
    for number in range(count):
        (target / f"{number:012d}.jpg").write_bytes(data)
        images.append({"id": number, "file_name": f"{number:012d}.jpg", "height": 375, "width": 500})
        annotations.append({"image_id": number, "category_id": 3 if number % 2 else 1, "area": 30_000.0})
    (folder / "annotations").mkdir()
    empty = {"images": [], "annotations": [], "categories": []}
    for name in ("instances_val2017", "stuff_train2017", "stuff_val2017"):
        (folder / "annotations" / f"{name}.json").write_text(json.dumps(empty))
    roads = [{"image_id": n, "category_id": 149, "area": 60_000.0} for n in range(0, count, 3)]
    stuff = {"images": [], "annotations": roads, "categories": STUFF}
    (folder / "annotations" / "stuff_train2017.json").write_text(json.dumps(stuff))
    content = {"images": images, "annotations": annotations, "categories": THINGS}
    (folder / "annotations" / "instances_train2017.json").write_text(json.dumps(content))
    return folder


def _build(raw: Path, cache: Path, processes: int) -> None:
    from datasets import load_dataset

    import oochub  # noqa: F401  registers the builders

    load_dataset("nooch", "ce_car", data_dir=str(raw), contexts=["road"], cache_dir=str(cache), num_proc=processes)
    shutil.rmtree(cache)


class _Plain(datasets.ArrowBasedBuilder):  # type: ignore[misc]
    """The same images by `datasets` alone: what anything that is built on it takes at least."""

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(features=datasets.Features({"image": datasets.Image()}))

    def _split_generators(self, _: Any) -> list[datasets.SplitGenerator]:
        files = sorted((Path(self.config.data_dir) / "images" / "train2017").iterdir())
        return [datasets.SplitGenerator(name="train", gen_kwargs={"shards": [files[n::64] for n in range(64)]})]

    def _generate_tables(self, shards: list[list[Path]]) -> Iterator[tuple[Key, pa.Table]]:
        schema = self.info.features.arrow_schema
        for number, files in enumerate(shards):
            for start in range(0, len(files), 64):
                images = [{"bytes": file.read_bytes(), "path": file.name} for file in files[start : start + 64]]
                yield Key(number, start), pa.Table.from_pydict({"image": images}, schema=schema)


def _build_plainly(raw: Path, cache: Path) -> None:
    _Plain(cache_dir=str(cache), data_dir=str(raw)).download_and_prepare(num_proc=2)
    shutil.rmtree(cache)


def _copy(raw: Path, target: Path, pictures: int) -> None:
    """The floor: every byte read and written once, by one process, into one file, `pictures` images per write."""
    files = sorted((raw / "images" / "train2017").iterdir())
    with target.open("wb", buffering=0) as out:
        for start in range(0, len(files), pictures):
            os.writev(out.fileno(), [file.read_bytes() for file in files[start : start + pictures]])
    target.unlink()


_PEAK = """
def peak():
    lines = open('/proc/self/status').read().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith('VmHWM')))
"""


def _fresh(code: str, *arguments: object) -> list[float]:
    """The numbers that a fresh process prints; a used one would report its own earlier peak."""
    command = [sys.executable, "-c", _PEAK + code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def _memory(folder: Path) -> float:
    """Peak memory that reading the areas adds, over the size of the files."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom oochub.builders.sources.coco import read_coco\n"
        "before = peak()\nread_coco(Path(sys.argv[1]))\nprint(peak() - before)"
    )
    size = sum(file.stat().st_size for file in (folder / "annotations").iterdir())
    return _fresh(code, folder)[0] / size


def _build_peaks(raw: Path, cache: Path) -> float:
    """Peak memory in MB of the largest worker of a build with two processes."""
    code = (
        "import sys, resource, oochub, datasets\ndatasets.disable_progress_bars()\n"
        "datasets.load_dataset('nooch', 'ce_car', data_dir=sys.argv[1], contexts=['road'], cache_dir=sys.argv[2], "
        "num_proc=2)\nprint(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    bytes_held = _fresh(code, raw, cache)[0] / 1e6
    shutil.rmtree(cache)
    return bytes_held


def main() -> None:
    """Prints the table; a bound that does not hold is said."""
    from oochub.builders.sources.coco import read_coco

    datasets.disable_progress_bars()
    count = int(os.environ.get("OOCHUB_BENCH_IMAGES", 20_000))
    print(f"load {os.getloadavg()[0]:.1f}, median of {_ROUNDS} interleaved rounds\n")
    print("| what | ours | floor | ratio | bound | holds |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        coco = _annotations(root / "coco", 10_000, 8)
        areas = _rounds(lambda: read_coco(coco), lambda: _load_all(coco))
        _row("areas of 160,000 annotations / json.load", 1.5, [(ours.cpu, floor.cpu) for ours, floor in areas])
        memory = _memory(coco)
        print(f"| memory that it adds / size of the files | | | {memory:.1f} | 6 | {_holds(memory <= 6)} |")
        _building_rows(root, count)


def _building_rows(root: Path, count: int) -> None:
    raw = _pictures(root / "raw", count)
    cache, copied = root / "cache", root / "copy"
    timed = _rounds(
        lambda: _build(raw, cache, 2),
        lambda: _build(raw, cache, 1),
        lambda: _build_plainly(raw, cache),
        lambda: _copy(raw, copied, 1),
        lambda: _copy(raw, copied, 64),
    )
    two, one, plain, copy, large = zip(*timed, strict=True)
    what = f"building {count:,} images, num_proc=2"
    for floor, name in ((copy, "byte copy"), (large, "byte copy in writes of 64 images")):
        _row(f"{what} / {name}", 1.8, _walls(two, floor))
        halves = [(built.cpu / 2, copied.cpu) for built, copied in zip(two, floor, strict=True)]
        _row(f"{what}, CPU time over 2 / of the {name}", 1.8, halves)
    for floor, name in ((one, "one process"), (plain, "a plain builder of datasets")):
        _row(f"{what} / by {name}", 1, _walls(two, floor))
        _row(f"{what}, CPU time / by {name}", 1, [(a.cpu, b.cpu) for a, b in zip(two, floor, strict=True)])
    peak = _build_peaks(raw, root / "cache")
    print(f"| peak memory of a building process | {peak:.0f} MB | | | 250 MB | {_holds(peak <= 250)} |")


def _walls(ours: Sequence[_Seconds], floor: Sequence[_Seconds]) -> list[tuple[float, float]]:
    return [(a.wall, b.wall) for a, b in zip(ours, floor, strict=True)]


def _row(what: str, bound: float, pairs: list[tuple[float, float]]) -> None:
    mine, least = (statistics.median(each) for each in zip(*pairs, strict=True))
    ratio = statistics.median(ours / floor for ours, floor in pairs)
    print(f"| {what} | {mine:.2f} s | {least:.2f} s | {ratio:.2f} | {bound} | {_holds(ratio <= bound)} |", flush=True)


def _holds(is_within: bool) -> str:
    return "yes" if is_within else "no"


if __name__ == "__main__":
    main()
