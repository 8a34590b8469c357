"""What the detectors' fits hold in memory, at a quarter and all of the rows: `python speed/detector_memory.py`.

The rows of `speed/detectors.py`: what a fit allocates at most, and what a process of its own takes to fit on a file.

Measured code: detection, eval_modules.
"""

import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial

from detectors import ROWS, SCALE, World, world  # first: it asks numpy for one thread


def peak(run: Callable[[], object]) -> float:
    """MiB that a call allocates at most."""
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return peak


def memory(w: World) -> Iterator[str]:
    quarter = w._replace(features=w.features[: ROWS // 4], logits=w.logits[: ROWS // 4], label=w.label[: ROWS // 4])
    for name in ("vim", "mahalanobis", "react"):
        few, many = (peak(partial(part.fit, name)) for part in (quarter, w))
        yield f"| {name} fit | {few:.1f} | {many:.1f} |"
    few, many = (
        peak(partial(part.fit("knn", k=min(50, ROWS // 4)).score, features=w.queries)) for part in (quarter, w)
    )
    yield f"| knn score, bank of as many rows | {few:.1f} | {many:.1f} |"


_CHILD = """
import resource, sys
import numpy as np
import scipy.linalg, scipy.sparse
from oochub import Predictions
from oochub.detection.detector_scores import score_sets
from oochub.prediction.predictions_file import StoredHead

def rows(n):
    features = rng.random((n, 512), np.float32)
    label = np.arange(n) % 20
    return Predictions.from_arrays(logits=features @ weight.T, label=label, features=features, split="train")

file, n, *detectors = sys.argv[1:]
rng = np.random.default_rng(0)
weight = rng.normal(size=(20, 512)).astype(np.float32)
if not detectors:
    rows(int(n)).save(file)
else:
    small = rows(1000)
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    head = StoredHead(weight=weight, bias=np.zeros(20, np.float32))
    score_sets([small], detectors, reference=Predictions.load(file), head=head)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) / 1024)
"""


def resident() -> Iterator[str]:
    """MiB that a process of its own takes to fit on a file of predictions and to score 1,000 rows, at 10x the rows."""
    sizes = int(20_000 * SCALE), int(200_000 * SCALE)
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/{n}.parquet" for n in sizes]
        for file, n in zip(files, sizes, strict=True):
            _said(file, str(n))
        for name in ("mahalanobis", "vim", "react", "knn:k=50"):
            few, many = (float(_said(file, str(n), name)) for file, n in zip(files, sizes, strict=True))
            yield f"| {name} | {few:.0f} | {many:.0f} | {many / few:.2f} |"


def _said(*words: str) -> str:
    return subprocess.run([sys.executable, "-c", _CHILD, *words], check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Prints the tables."""
    print(f"| peak MiB | {ROWS // 4:,} rows | {ROWS:,} rows |\n|---|---|---|")
    for line in memory(world()):
        print(line, flush=True)
    sizes = f"{int(20_000 * SCALE):,} rows | {int(200_000 * SCALE):,} rows"
    print(f"\n| resident MiB above the imports, fit on a file | {sizes} | ratio |\n|---|---|---|---|")
    for line in resident():
        print(line, flush=True)


if __name__ == "__main__":
    main()
