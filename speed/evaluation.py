"""How long evaluation takes and what it holds, as its rows grow: `python speed/evaluation.py`.

Two classes as NOOCH has them (sides, groups, every interval), beside one argsort of as many scores; 1,000 classes; rows
in clusters beside the same without. CPU time, five interleaved rounds, medians; ten million rows once. Memory is the
peak of a fresh process above what it had after its imports and an evaluation of 200 rows; this process imports nothing,
since a child's peak starts at its parent's.

Measured code: evaluation, stats.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5
_HOLDS = {True: "yes", False: "**no**"}
_MANY = 10_000_000
_SIZES = {"two": (100_000, 1_000_000), "thousand": (10_000, 100_000)}
_GROUPS = (1_000, 20_000)  # of 100,000 rows, such as users
_CLUSTERS = 2_000  # of all rows, such as patients


def write(folder: Path) -> None:
    """Writes the predictions that are evaluated: two classes with sides and groups, and 1,000 classes without."""
    from dataclasses import replace

    import numpy as np

    import oochub

    for name, sizes in _SIZES.items():
        for rows in (200, *sizes, *([_MANY] if name == "two" else [])):
            rng = np.random.default_rng(0)
            label, context = rng.integers(0, 2 if name == "two" else 1000, rows), rng.integers(0, 2, rows)
            logits = rng.standard_normal((rows, 2 if name == "two" else 1000), np.float32)
            logits[np.arange(rows), label] += 1
            cell = 2 * label + context if name == "two" else label % 4
            side = np.array(["easy", "hard_negative", "hard_positive", "easy"])[cell]
            group = np.array(["no car/no road", "no car/road", "car/no road", "car/road"])[cell]
            more = {"challenge": side, "group": group, "benchmark": "nooch", "config": "ce_car"}
            more = more | {"class_names": ["no car", "car"]} if name == "two" else {}
            predictions = oochub.Predictions.from_arrays(logits=logits, label=label, model="made", **more)
            predictions.save(folder / f"{name}_{rows}.parquet")
            if name == "two" and rows in sizes:
                patient = [f"patient {number}" for number in rng.integers(0, _CLUSTERS, rows)]
                own = {"challenge": side, "group": group, "model": "made"}
                made = oochub.Predictions.from_arrays(logits=logits, label=label, patient=patient, **own)
                made.save(folder / f"apart_{rows}.parquet")
                facts = replace(made.metadata.facts, cluster="patient")
                replace(made, metadata=replace(made.metadata, facts=facts)).save(folder / f"clusters_{rows}.parquet")
            for groups in _GROUPS if rows == _SIZES["two"][0] and name == "two" else ():
                users = [f"user {number}" for number in rng.integers(0, groups, rows)]
                more = {"challenge": side, "group": users, "model": "made"}
                made = oochub.Predictions.from_arrays(logits=logits, label=label, **more)
                made.save(folder / f"groups_{groups}.parquet")


def spent(folder: Path) -> dict[str, list[float]]:
    """CPU seconds of evaluating each file, and of an argsort of 100,000 scores."""
    import numpy as np

    import oochub

    small, large = _SIZES["two"]
    score = np.random.default_rng(0).normal(size=small)
    runs = {
        "argsort": lambda: [np.argsort(score) for _ in range(10)],
        "small": lambda: oochub.evaluate(folder / f"two_{small}.parquet"),
        "large": lambda: oochub.evaluate(folder / f"two_{large}.parquet"),
        **{
            f"{groups}": lambda groups=groups: oochub.evaluate(folder / f"groups_{groups}.parquet")
            for groups in _GROUPS
        },
        **{
            file: lambda file=file: oochub.evaluate(folder / f"{file}.parquet")
            for file in (
                "thousand_100000",
                *(f"{kind}_{rows}" for kind in ("apart", "clusters") for rows in _SIZES["two"]),
            )
        },
    }
    oochub.evaluate(folder / "two_200.parquet")
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.process_time()
            run()
            times[name].append((time.process_time() - start) / (10 if name == "argsort" else 1))
    start = time.process_time()
    oochub.evaluate(folder / f"two_{_MANY}.parquet")
    return times | {"many": [time.process_time() - start]}


def peak(folder: Path, name: str, rows: str) -> float:
    """Bytes of the peak of this process above what it had before it evaluated a file."""
    import resource

    import oochub

    oochub.evaluate(folder / f"{name}_200.parquet")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    oochub.evaluate(folder / f"{name}_{rows}.parquet")
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024.0


_STEPS = {"write": write, "spent": spent, "peak": peak}


def _in_a_process(*words: object) -> object:
    command = [sys.executable, __file__, *map(str, words)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout)


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        _in_a_process("write", folder)
        times = _in_a_process("spent", folder)
        memory = {name: [_in_a_process("peak", folder, name, rows) for rows in sizes] for name, sizes in _SIZES.items()}
        of_many = _in_a_process("peak", folder, "two", _MANY)
    small, large = (times[name] for name in ("small", "large"))
    beside = [one / floor for one, floor in zip(small, times["argsort"], strict=True)]
    growth = [many / few for many, few in zip(large, small, strict=True)]
    grouped = {groups: [many / few for many, few in zip(times[f"{groups}"], small, strict=True)] for groups in _GROUPS}
    lines = [
        ("evaluate 100,000 x 2 with intervals / one argsort of its rows", statistics.median(beside), "", 120),
        ("evaluate 1,000,000 x 2, CPU time", statistics.median(large), " s", 1.4),
        ("evaluate 10,000,000 x 2, CPU time, once", times["many"][0], " s", 15),
        ("evaluate 1,000,000 / 100,000 rows, CPU time", statistics.median(growth), "", 11),
        ("evaluate 100,000 x 1,000, CPU time", statistics.median(times["thousand_100000"]), " s", 1.2),
        *(
            (
                f"evaluate {rows:,} x 2 in {_CLUSTERS:,} clusters / the same without, CPU time "
                f"({min(times[f'clusters_{rows}']):.2f} to {max(times[f'clusters_{rows}']):.2f} s)",
                statistics.median(
                    own / other for own, other in zip(times[f"clusters_{rows}"], times[f"apart_{rows}"], strict=True)
                ),
                "",
                bound,
            )
            for rows, bound in zip(_SIZES["two"], (2.25, 1.8), strict=True)
        ),
        *(
            (f"evaluate 100,000 x 2 in {groups:,} groups / in 4, CPU time", statistics.median(ratios), "", bound)
            for (groups, ratios), bound in zip(grouped.items(), (1.3, 2), strict=True)
        ),
        ("memory of 1,000,000 x 2 above the imports", memory["two"][1] / 1e9, " GB", 1),
        ("memory of 10,000,000 x 2 above the imports", of_many / 1e9, " GB", 1.3),
        ("memory of 100,000 x 1,000 above the imports", memory["thousand"][1] / 1e9, " GB", 1.5),
    ]
    for name, (few, many) in _SIZES.items():
        slope = (memory[name][1] - memory[name][0]) / (many - few)
        lines.append((f"memory of a row of {name} classes, {few:,} to {many:,} rows", slope, " bytes", 100))
    print("| what | ours | bound | holds |\n|---|---|---|---|")
    for what, value, unit, bound in lines:
        print(f"| {what} | {value:.3g}{unit} | {bound}{unit} | {_HOLDS[value <= bound]} |")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        step, folder, *more = sys.argv[1:]
        print(json.dumps(_STEPS[step](Path(folder), *more)))
    else:
        main()
