"""Areas of 176,500 images and 1.5 million real annotations, replicated, against json.load of the same files."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

_ROUNDS = 3
_IMAGES = 120_000
_STUFF_IMAGES = 56_500  # more, of 8.5 annotations: together with the instances 1.5 million
_PEAK = """
import sys
from pathlib import Path
from oochub.builders.sources.coco import read_coco
def peak():
    lines = open('/proc/self/status').read().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith('VmHWM')))
before = peak()
table = read_coco(Path(sys.argv[1]))
print(peak() - before, table.count.sum())
"""


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


def _write(folder: Path, source: Path) -> int:
    (folder / "annotations").mkdir(parents=True)
    instances = _replicated(source / "instances_slice569.json", _IMAGES, 0)
    stuff = _replicated(source / "stuff_examples.json", _STUFF_IMAGES, 10**6)
    instances["images"] += stuff["images"]
    empty = {"images": [], "annotations": [], "categories": []}
    for name, content in {"instances": instances, "stuff": stuff}.items():
        (folder / "annotations" / f"{name}_train2017.json").write_text(json.dumps(content))
        (folder / "annotations" / f"{name}_val2017.json").write_text(json.dumps(empty))
    return len(instances["annotations"]) + len(stuff["annotations"])


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    """Prints the two rows; says so where the real annotations are absent."""
    from oochub.builders.sources.coco import read_coco

    default = Path(__file__).parents[2] / "shared" / "data"
    source = Path(os.environ.get("OOCHUB_TEST_DATA", default)) / "coco" / "annotations"
    if not source.is_dir():
        print(f"not measured: no real annotations at {source}; set OOCHUB_TEST_DATA")
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        count = _write(folder, source)
        files = sorted((folder / "annotations").iterdir())
        size = sum(file.stat().st_size for file in files)
        done = subprocess.run([sys.executable, "-c", _PEAK, folder], capture_output=True, text=True, check=True)
        added, total = map(float, done.stdout.split())
        pairs = [
            (_timed(lambda: read_coco(folder)), _timed(lambda: [json.loads(file.read_bytes()) for file in files]))
            for _ in range(_ROUNDS)
        ]
    ratio = statistics.median(ours / floor for ours, floor in pairs)
    print(f"load {os.getloadavg()[0]:.1f}, median of {_ROUNDS} interleaved rounds, {size / 1e9:.2f} GB of JSON")
    print(f"{count:,} annotations of {_IMAGES + _STUFF_IMAGES:,} images, {total:,.0f} counted")
    print(f"| areas / json.load | {ratio:.2f} | at most 1.5 | {'yes' if ratio <= 1.5 else 'no'} |")
    print(f"| memory added / size | {added / size:.2f} | at most 6 | {'yes' if added <= 6 * size else 'no'} |")


if __name__ == "__main__":
    main()
