"""`oochub compare` of two files of a million rows, beside `oochub evaluate` of one: `python speed/comparing.py`.

Two classes with sides and groups, two models whose mistakes go together; the second file in the same order, and
shuffled. Each command in a process of its own: CPU time, and the most memory that it held. Interleaved rounds, medians;
`python speed/comparing.py 100000` takes fewer rows.

Measured code: comparison, evaluation, prediction.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROUNDS = 3
_HOLDS = {True: "yes", False: "**no**"}


class Spent(NamedTuple):
    """Seconds of CPU and megabytes of a process."""

    seconds: float
    megabytes: float


def spent(command: list[str]) -> Spent:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert not status, command
    return Spent(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3)


def write(folder: Path, rows: int) -> None:
    """Writes the first model's predictions, and the second's in both orders."""
    import numpy as np

    import oochub

    rng = np.random.default_rng(0)
    label, context = rng.integers(0, 2, (2, rows))
    side = np.where(label == context, "easy", np.where(label == 1, "hard_positive", "hard_negative"))
    group = np.char.add(np.where(label == 1, "car/", "no car/"), np.where(context == 1, "road", "no road"))
    ids = np.char.add("row ", np.arange(rows).astype(str))
    shared = rng.normal(size=rows)
    for name, model in {"one": 0.9, "same": 0.8, "shuffled": 0.8}.items():
        order = rng.permutation(rows) if name == "shuffled" else np.arange(rows)
        noise = 0.9 * shared + 0.4 * np.random.default_rng(round(100 * model)).normal(size=rows)
        score = (2 * label - 1) * model + 0.6 * context + noise
        logits = np.stack([np.zeros(rows), score], axis=1).astype(np.float32)
        about = {"class_names": ["no car", "car"], "benchmark": "nooch", "config": "ce_car", "model": f"model {model}"}
        of = {"label": label, "challenge": side, "group": group, "example_id": ids, "logits": logits}
        predictions = oochub.Predictions.from_arrays(**{key: value[order] for key, value in of.items()}, **about)
        predictions.save(folder / f"{name}.parquet")


def main() -> None:
    """Prints the table."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    program = [sys.executable, "-m", "oochub.cli"]
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, __file__, str(rows), name], check=True)  # whose peak ours would start from
        files = {key: f"{name}/{key}.parquet" for key in ("one", "same", "shuffled")}
        commands = {
            "evaluate one": ([*program, "evaluate", files["one"], "--out", f"{name}/one.json"], 0.0),
            "compare, the same order": ([*program, "compare", files["one"], files["same"]], 5.0),
            "compare, shuffled": ([*program, "compare", files["one"], files["shuffled"]], 6.0),
        }
        rounds = [{what: spent(command) for what, (command, _) in commands.items()} for _ in range(ROUNDS)]
    print(f"| {rows:,} rows | CPU s | evaluate of one | MB | bounds | holds |\n|---|---|---|---|---|---|")
    for what, (_, bound) in commands.items():
        taken = [each[what] for each in rounds]
        seconds = statistics.median(one.seconds for one in taken)
        ratio = statistics.median(each[what].seconds / each["evaluate one"].seconds for each in rounds)
        memory = max(one.megabytes for one in taken)
        low, high = min(one.seconds for one in taken), max(one.seconds for one in taken)
        within = _HOLDS[seconds <= bound and memory <= 500] if bound else ""
        words = f"{seconds:.1f} ({low:.1f} to {high:.1f}) | {ratio:.2f} | {memory:.0f}"
        print(f"| {what} | {words} | {f'{bound:.0f} s; 500 MB' if bound else ''} | {within} |")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        write(Path(sys.argv[2]), int(sys.argv[1]))
    else:
        main()
