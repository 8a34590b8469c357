"""`oochub.predict` of a small network beside one busy program, and alone: `python speed/busy.py`.

A ResNet of four blocks predicts 400 JPEGs of 500 x 375 in a process of its own that may use all cores. The busy program
counts in one thread and is ended by its number. "Before" is torch's own choice of one thread per core for every pass.
Seconds are of the clock, of `predict` alone, because waiting is what is measured; interleaved rounds, medians. The
logits of all four are the same bits. A machine that does other work says more of that work than of ours: the load is
printed.

Measured code: prediction, models.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS, IMAGES, BOUND = 3, 400, 2.0
_WORK = """
import sys, time
import numpy as np, torch
from datasets import Dataset, Features, Value, Image
from transformers import BitImageProcessorPil, ResNetConfig, ResNetForImageClassification
import oochub
from oochub.models import acceleration
folder, images, way, out = sys.argv[1:]
if way == "before":
    acceleration.PassThreads.run = lambda self, work: work()
torch.manual_seed(0)
network = ResNetForImageClassification(
    ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 1, 1], num_labels=2,
                 layer_type="basic")
)
processor = BitImageProcessorPil(size={"shortest_edge": 256}, crop_size={"height": 224, "width": 224})
paths = [f"{folder}/{number % 40}.jpg" for number in range(int(images))]
data = Dataset.from_dict({"image": paths, "label": [0, 1] * (len(paths) // 2)}).cast_column("image", Image())
few = data.select(range(32))
oochub.predict(network, few, image_processor=processor, preprocessing="fused", images=False)
began, cpu = time.perf_counter(), time.process_time()
made = oochub.predict(network, data, image_processor=processor, preprocessing="fused", images=False)
print(time.perf_counter() - began, time.process_time() - cpu)
np.save(out, made.logits)
"""


def main() -> None:
    """Prints the table."""
    import numpy as np
    from images import jpeg

    times: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        for number in range(40):
            (Path(name) / f"{number}.jpg").write_bytes(jpeg(number))
        logits = []
        for _ in range(ROUNDS):
            for beside in ("alone", "busy"):
                for way in ("now", "before"):
                    times.setdefault((beside, way), []).append(measure(name, way, is_busy=beside == "busy"))
                    logits.append(np.load(Path(name) / "logits.npy"))
        if not all(np.array_equal(logit, logits[0]) for logit in logits):
            raise AssertionError("the logits differ")
    print("| what | seconds | lowest to highest | CPU seconds |\n|---|---|---|---|")
    medians = {}
    for (beside, way), each in times.items():
        walls, spent = zip(*each, strict=True)
        medians[beside, way] = statistics.median(walls)
        limits = f"{min(walls):.1f} to {max(walls):.1f}"
        print(f"| {beside}, {way} | {medians[beside, way]:.1f} | {limits} | {statistics.median(spent):.1f} |")
    for way in ("now", "before"):
        print(f"\nbusy / alone, {way}: {medians['busy', way] / medians['alone', way]:.2f} (bound {BOUND:g})")
    print(f"alone, now / before: {medians['alone', 'now'] / medians['alone', 'before']:.2f}")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def measure(folder: str, way: str, *, is_busy: bool) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if is_busy else None
    try:
        words = [sys.executable, "-c", _WORK, folder, str(IMAGES), way, f"{folder}/logits.npy"]
        process = subprocess.run(words, check=True, capture_output=True, text=True, env=environment)
    finally:
        if busy is not None:
            busy.kill()
            busy.wait()
    wall, spent = map(float, process.stdout.split())
    return wall, spent


if __name__ == "__main__":
    main()
