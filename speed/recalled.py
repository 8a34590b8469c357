"""A second `oochub audit` and `oochub predict` that run no model: `python speed/recalled.py`.

Each command runs in a process of its own, beside an interpreter that imports what predictions are read with (numpy,
pandas, pyarrow). "Before" opens the data and the model's config to find the key of the predictions, as a command does
that was not asked before: the notes of what was asked are removed first. CPU time of the processes, interleaved rounds,
medians; the two print and write the same bytes.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from startup import FLOOR, seconds

ROUNDS, BOUND = 3, 1.2


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["OOCHUB_CACHE"] = str(folder / "cache")
        oochub = [sys.executable, "-m", "oochub.cli"]
        subprocess.run([*oochub, "example", str(folder / "toy")], check=True, capture_output=True)
        asked = [str(folder / "toy/model"), str(folder / "toy/pictures")]
        asked += ["--label-column", "breed", "--context-column", "background", "--out"]
        commands = {
            "audit": [*oochub, "audit", *asked, str(folder / "audit")],
            "predict": [*oochub, "predict", *asked, str(folder / "predictions.parquet")],
        }
        for command in commands.values():
            subprocess.run(command, check=True, capture_output=True)
        times: dict[str, list[tuple[float, float, float]]] = {what: [] for what in commands}
        for _ in range(ROUNDS):
            for what, command in commands.items():
                say(command)  # which notes what was asked
                kept, said = seconds(command), say(command)
                shutil.rmtree(folder / "cache/predictions/asked")
                times[what].append((kept, seconds(command), seconds(FLOOR)))
                if say(command) != said:
                    raise AssertionError(f"{what} prints something else")
    print("| what | CPU seconds | lowest to highest | before | / the interpreter | bound | holds |")
    print("|---|---|---|---|---|---|---|")
    for what, each in times.items():
        ours, before, floor = zip(*each, strict=True)
        spent, ratio = (
            statistics.median(ours),
            statistics.median(own / base for own, base in zip(ours, floor, strict=True)),
        )
        holds = "yes" if spent <= BOUND else "**no**"
        limits = f"{min(ours):.2f} to {max(ours):.2f}"
        print(
            f"| {what} | {spent:.2f} | {limits} | {statistics.median(before):.2f} | {ratio:.1f} | {BOUND} s | {holds} |"
        )


def say(command: list[str]) -> tuple[bytes, bytes]:
    """What a command prints."""
    made = subprocess.run(command, check=True, capture_output=True)
    return made.stdout, made.stderr


if __name__ == "__main__":
    main()
