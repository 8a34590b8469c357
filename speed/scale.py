"""Seconds, bytes and memory of one row more, of everything that docs/scale.md adds up: `python speed/scale.py`.

Each work is done at two sizes, in interleaved rounds after one to be warm; the slope between them is free of what the
start takes. One thread does all, so CPU seconds are those of one core. Memory is the
peak of a fresh process above what it had after its imports and 200 rows. `--short` tries everything at toy sizes, in
under a minute: its numbers mean nothing. `--out docs/scale/slopes.json` writes what
`python docs/make/scale_page.py` makes the page of.

Measured code: evaluation, prediction, context_finding, eval_modules.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

_MEMORY = {
    "predict_1000": (20_000, 200_000),
    "evaluate_2": (50_000, 500_000),
    "contexts_properties": (2_000, 20_000),
    "contexts_clusters": (1_000, 5_000),
    "contexts_segments": (2_000, 20_000),
    "contexts_zero_shot": (2_000, 20_000),
}


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A slope, as it is written.

    Attributes:
        name: Name of the slope.
        what: What is measured, in words.
        unit: What the sizes count.
        sizes: The small and the large.
        rounds: Number of rounds in which both were done.
        cpu: CPU seconds of one unit more, the median of the rounds.
        cpu_least: The smallest of the rounds.
        cpu_most: The largest.
        wall: Seconds by the clock, which other work on the machine makes longer.
        start: CPU seconds that the size does not change.
        bytes: Bytes on the disk of one unit more; None if nothing is written.
    """

    name: str
    what: str
    unit: str
    sizes: tuple[int, int]
    rounds: int
    cpu: float
    cpu_least: float
    cpu_most: float
    wall: float
    start: float
    bytes: float | None = None


def measured(slope: "Slope") -> Measured:  # noqa: F821
    """Both sizes of a slope, round by round."""
    few, many = slope.sizes
    calls = [slope.ready(size) for size in slope.sizes]
    if slope.rounds > 1:
        calls[0]()
    rounds = [[_spent(call) for call in calls] for _ in range(slope.rounds)]
    cpu = [(large[0] - small[0]) / (many - few) for small, large in rounds]
    wall = statistics.median((large[1] - small[1]) / (many - few) for small, large in rounds)
    middle, held = statistics.median(cpu), None
    if slope.size_of is not None:
        sizes = []
        for call in calls:
            call()
            sizes.append(slope.size_of())
        held = (sizes[1] - sizes[0]) / (many - few)
    return Measured(
        name=slope.name,
        what=slope.what,
        unit=slope.unit,
        sizes=slope.sizes,
        rounds=slope.rounds,
        cpu=middle,
        cpu_least=min(cpu),
        cpu_most=max(cpu),
        wall=wall,
        start=max(0.0, statistics.median(small[0] for small, _ in rounds) - middle * few),
        bytes=held,
    )


def _spent(call: object) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    call()  # type: ignore[operator]
    return time.process_time() - cpu, time.perf_counter() - wall


def peak(name: str, rows: int) -> int:
    """Bytes of this process's peak above what it had after its imports and 200 rows."""
    import oochub

    work, _, classes = name.partition("_")
    with tempfile.TemporaryDirectory() as folder:
        if work == "evaluate":
            file = Path(folder) / "{}.parquet"
            subprocess.run([sys.executable, __file__, "--write", str(file), str(rows), classes], check=True)
            calls = [lambda size=size: oochub.evaluate(str(file).format(size)) for size in (200, rows)]
        elif work == "contexts":
            from context_slopes import joined

            subprocess.run([sys.executable, __file__, "--write", folder, str(rows), "pictures"], check=True)
            calls = [joined(classes, Path(folder), size) for size in (200, rows)]
        else:
            calls = [_prediction(size, int(classes), Path(folder)) for size in (200, rows)]
        held = []
        for call in calls:
            call()
            held.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    return held[1] - held[0]


def _prediction(rows: int, classes: int, folder: Path) -> object:
    """Vectors of 8 numbers through one layer, into a file in parts."""
    import numpy as np
    import pyarrow as pa
    import torch
    from datasets import ClassLabel, Dataset, Features, List, Value, disable_progress_bars
    from transformers import PreTrainedConfig, PreTrainedModel
    from transformers.modeling_outputs import ImageClassifierOutput

    import oochub
    from oochub.inputs._stored_processors import ArrayProcessor

    disable_progress_bars()

    class Layer(PreTrainedModel):
        config_class, main_input_name = PreTrainedConfig, "pixel_values"

        def __init__(self, config: PreTrainedConfig) -> None:
            super().__init__(config)
            self.layer = torch.nn.Linear(8, config.num_labels)
            self.post_init()

        def forward(self, pixel_values: torch.Tensor) -> ImageClassifierOutput:
            return ImageClassifierOutput(logits=self.layer(pixel_values))

    names = dict(enumerate(map(str, range(classes))))
    model = Layer(PreTrainedConfig(id2label=names, label2id={name: k for k, name in names.items()})).eval()
    array = pa.array(np.random.default_rng(0).normal(size=8 * rows).astype(np.float32))
    columns = {"array": pa.FixedSizeListArray.from_arrays(array, 8), "label": np.arange(rows) % classes}
    kinds = {"array": List(Value("float32"), length=8), "label": ClassLabel(names=list(names.values()))}
    data, processor = Dataset(pa.table(columns)).cast(Features(kinds)), ArrayProcessor(column="array", shape=(8,))
    out = folder / f"{rows}.parquet"
    return lambda: oochub.predict(model, data, processor=processor, images=False, out=out)


def write(file: str, rows: str, classes: str) -> None:
    """Predictions to evaluate, or images, from another process: what makes them would count."""
    if classes == "pictures":
        from context_slopes import small_pictures

        for size in (200, int(rows)):
            small_pictures(size).save_to_disk(f"{file}/{size}")
        return
    from scored_rows import scored

    for size in (200, int(rows)):
        scored(size, int(classes)).save(file.format(size))


def machine() -> str:
    """The processor in words: cores and what it computes in."""
    flags = set(Path("/proc/cpuinfo").read_text().split())
    features = [name for name in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if name in flags]
    return f"{platform.machine()} with {', '.join(features) or 'no AVX2'}, {os.cpu_count()} cores, no GPU used"


def _in_a_process(*words: object) -> object:
    command = [sys.executable, __file__, *map(str, words)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def _put_into(before: dict[str, Any], now: dict[str, Any], *, only: str) -> dict[str, Any]:
    """What stood in the file, with what was measured now in the place of the same or at the end."""
    for part in ("slopes", "memory"):
        rows = {each["name"]: each for each in before[part]} | {each["name"]: each for each in now[part]}
        before[part] = list(rows.values())
    return before | {"loads": {**before.get("loads", {}), only: now["load"]}}


def main() -> None:
    """Prints the tables; writes them as JSON with --out."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="toy sizes, to see that all runs")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    parser.add_argument("--only", help="measure what has this in its name, and put it into the file of --out")
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        return write(*arguments.write)
    if arguments.peak:
        return print(json.dumps(peak(arguments.peak[0], int(arguments.peak[1]))))
    if arguments.out:  # before the first slow step
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.touch()
    load = os.getloadavg()[0]
    print(f"{machine()}; load {load:.1f}\n\n| peak above the imports | rows | MB | rows | MB | bytes a row more |")
    print("|---|---|---|---|---|---|")
    memory = []
    for name, sizes in _MEMORY.items():  # first: a child's peak starts at its parent's
        if arguments.only and arguments.only not in name:
            continue
        few, many = (200, 2000) if arguments.short else sizes
        held = [_in_a_process("--peak", name, size) for size in (few, many)]
        memory.append({"name": name, "sizes": (few, many), "peaks": held})
        cells = (f"{few:,}", f"{held[0] / 1e6:.0f}", f"{many:,}", f"{held[1] / 1e6:.0f}")
        print(f"| {name} | {' | '.join(cells)} | {(held[1] - held[0]) / (many - few):.0f} |", flush=True)
    import datasets
    import torch
    from scale_slopes import SUBJECTS

    torch.set_num_threads(1)
    datasets.disable_progress_bars()
    print("\n| what | CPU seconds a unit | of the rounds | start | bytes |\n|---|---|---|---|---|")
    slopes = []
    for subject in SUBJECTS:
        if arguments.only and arguments.only not in subject.__name__:
            continue
        for row in map(measured, subject(arguments.short)):
            slopes.append(asdict(row))
            stored = "" if row.bytes is None else f"{row.bytes:,.0f}"
            rounds = f"{row.cpu_least:.3g} to {row.cpu_most:.3g}"
            print(f"| {row.what} | {row.cpu:.3g} | {rounds} | {row.start:.2g} s | {stored} |", flush=True)
    if arguments.out:
        content = {"machine": machine(), "load": round(load, 1), "slopes": slopes, "memory": memory}
        if arguments.only:
            content = _put_into(json.loads(arguments.out.read_text("utf-8")), content, only=arguments.only)
        arguments.out.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
