"""Areas of 176,500 images and 1.5 million real annotations, replicated, against json.load; memory of `nooch/all`.

Measured code: builders.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from PIL import Image

from oochub.builders.sources.coco import read_coco

_ROUNDS = 3
_IMAGES = 120_000
_STUFF_IMAGES = 56_500  # more, of 8.5 annotations: together with the instances 1.5 million
_LINKS = 60_000  # that one file may have
_PEAK = """
import sys
from pathlib import Path
import datasets
import oochub
from oochub.builders.sources.coco import read_coco
datasets.disable_progress_bars()
def peak():
    lines = open('/proc/self/status').read().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith('VmHWM')))
before = peak()
"""
_AREAS = _PEAK + "table = read_coco(Path(sys.argv[1])); print(peak() - before, table.count.sum())"
_ALL = _PEAK + "datasets.load_dataset('nooch', 'all', data_dir=sys.argv[1], cache_dir=sys.argv[2]); print(peak())"


def _replicated(source: Path, images: int, first: int) -> dict[str, list[dict[str, object]]]:
    """The images and annotations of a COCO file again and again under new ids from `first` on."""
    content = json.loads(source.read_text())
    number = {image["id"]: k for k, image in enumerate(content["images"])}
    listed, annotations = [], []
    for start in range(first, first + images, len(number)):
        for image in content["images"]:
            new_id = start + number[image["id"]]
            listed.append({**image, "id": new_id, "file_name": f"{new_id:012d}.jpg"})
        for annotation in content["annotations"]:
            new = {"image_id": start + number[annotation["image_id"]], "id": 20 * first + len(annotations)}
            annotations.append({**annotation, **new})
    return {"images": listed, "annotations": annotations, "categories": content["categories"]}


def _write(folder: Path, source: Path) -> None:
    (folder / "annotations").mkdir(parents=True)
    instances = _replicated(source / "instances_slice569.json", _IMAGES, 0)
    stuff = _replicated(source / "stuff_examples.json", _STUFF_IMAGES, 10**6)
    instances["images"] += stuff["images"]
    empty = {"images": [], "annotations": [], "categories": []}
    for name, content in {"instances": instances, "stuff": stuff}.items():
        (folder / "annotations" / f"{name}_train2017.json").write_text(json.dumps(content))
        (folder / "annotations" / f"{name}_val2017.json").write_text(json.dumps(empty))


def _pictures(folder: Path) -> None:
    """One small JPEG under the name of every image; the bytes of images are not held, so few show as much."""
    places = [folder / "images" / year for year in ("train2017", "val2017")]
    for place in places:
        place.mkdir(parents=True)
    content = json.loads((folder / "annotations" / "instances_train2017.json").read_bytes())
    for number, image in enumerate(content["images"]):
        file = places[0] / image["file_name"]
        if number % _LINKS == 0:
            Image.new("RGB", (32, 32)).save(file)
            first = file
        else:
            os.link(first, file)


def _printed(code: str, *arguments: object) -> list[float]:
    """The numbers that a fresh process prints; a used one would report its own earlier peak."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return [float(number) for number in done.stdout.split()]


def _timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _by_json(folder: Path) -> None:
    """The areas as they are read where msgspec is not installed."""
    with mock.patch.dict(sys.modules, {"msgspec": None}):
        read_coco(folder)


def _measure(folder: Path) -> None:
    files = sorted((folder / "annotations").iterdir())
    size = sum(file.stat().st_size for file in files)
    rounds = [
        (
            _timed(lambda: read_coco(folder)),
            _timed(lambda: _by_json(folder)),
            _timed(lambda: [json.loads(file.read_bytes()) for file in files]),
        )
        for _ in range(_ROUNDS)
    ]
    fast, plain, floor = (statistics.median(each) for each in zip(*rounds, strict=True))
    print(
        f"load {os.getloadavg()[0]:.1f}, CPU time, median of {_ROUNDS} interleaved rounds, {size / 1e9:.2f} GB of JSON"
    )
    added, total = _printed(_AREAS, folder)
    with tempfile.TemporaryDirectory() as cache:
        (peak,) = _printed(_ALL, folder, cache)
    print(f"{total:,.0f} annotations counted\n")
    print("| what | ours | floor | ratio | bound | holds |\n|---|---|---|---|---|---|")
    _row("areas / json.load", fast, floor, 0.5)
    _row("the same without msgspec / json.load", plain, floor, 1.5)
    print(f"| memory that this adds / size of the files | | | {added / size:.2f} | 2 | {_holds(added <= 2 * size)} |")
    print(f"| peak memory of building nooch/all | {peak / 1e9:.2f} GB | | | 1.5 GB | {_holds(peak <= 1.5e9)} |")


def _row(what: str, ours: float, floor: float, bound: float) -> None:
    ratio = ours / floor
    print(f"| {what} | {ours:.1f} s | {floor:.1f} s | {ratio:.2f} | {bound} | {_holds(ratio <= bound)} |")


def _holds(is_within: bool) -> str:
    return "yes" if is_within else "no"


def main() -> None:
    """Prints the rows; says so where the real annotations are absent."""
    default = Path(__file__).parents[2] / "shared" / "data"
    source = Path(os.environ.get("OOCHUB_TEST_DATA", default)) / "coco" / "annotations"
    if not source.is_dir():
        print(f"not measured: no real annotations at {source}; set OOCHUB_TEST_DATA")
        return
    with tempfile.TemporaryDirectory() as temporary:
        _write(Path(temporary), source)
        _pictures(Path(temporary))
        _measure(Path(temporary))


if __name__ == "__main__":
    main()
