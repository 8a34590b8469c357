"""A second `oochub audit` and `oochub predict` that run no model: `python speed/recalled.py`.

Each command runs in a process of its own, beside an interpreter that imports what predictions are read with (numpy,
pandas, pyarrow). The key of the predictions needs the data and the model's config, so most of the time is importing
torch, transformers and `datasets`. CPU time of the processes, interleaved rounds, medians.

Measured code: storage, prediction, commands.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from startup import FLOOR, seconds

ROUNDS, BOUND = 5, 7.0


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["OOCHUB_CACHE"] = str(folder / "cache")
        oochub = [sys.executable, "-m", "oochub.cli"]
        subprocess.run([*oochub, "example", str(folder / "toy")], check=True, capture_output=True)
        typed = [str(folder / "toy/model"), str(folder / "toy/pictures")]
        typed += ["--label-column", "breed", "--context-column", "background", "--out"]
        commands = {
            "audit": [*oochub, "audit", *typed, str(folder / "audit")],
            "predict": [*oochub, "predict", *typed, str(folder / "predictions.parquet")],
        }
        for command in commands.values():
            subprocess.run(command, check=True, capture_output=True)
        times: dict[str, list[tuple[float, float]]] = {what: [] for what in commands}
        for _ in range(ROUNDS):
            for what, command in commands.items():
                times[what].append((seconds(command), seconds(FLOOR)))
        said = subprocess.run(commands["audit"], check=True, capture_output=True, text=True).stderr
        if "it was made with the same model, data and settings" not in said:
            raise AssertionError(said)
    print("| what | CPU seconds | lowest to highest | / the interpreter | bound | holds |")
    print("|---|---|---|---|---|---|")
    for what, pairs in times.items():
        ours = [own for own, _ in pairs]
        spent, ratio = statistics.median(ours), statistics.median(own / base for own, base in pairs)
        holds = "yes" if spent <= BOUND else "**no**"
        print(f"| {what} | {spent:.2f} | {min(ours):.2f} to {max(ours):.2f} | {ratio:.1f} | {BOUND} s | {holds} |")


if __name__ == "__main__":
    main()
