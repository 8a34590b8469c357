"""How long a command takes from a cold start: `python speed/startup.py`.

Each command runs in a process of its own, beside an interpreter that imports what predictions are read with (numpy,
pandas, pyarrow). CPU time of the processes, which a load beside them hardly moves; five interleaved rounds, medians.

Measured code: commands, catalog.py, records.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from oochub import evaluate
from oochub.prediction.predictions import Predictions

ROUNDS = 5
_HOLDS = {True: "yes", False: "**no**"}
FLOOR = [sys.executable, "-c", "import numpy, pandas, pyarrow"]


def seconds(command: list[str]) -> float:
    """CPU time of a process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def predictions(rows: int, benchmark: str | None) -> Predictions:
    """Two classes, each row in or out of context by a coin, logits that follow the class and the context alike."""
    rng = np.random.default_rng(0)
    label, context = rng.integers(0, 2, (2, rows))
    hard = np.where(label == 1, "hard_positive", "hard_negative")
    score = 2.0 * label + 2.0 * context - 2 + rng.normal(0, 1.5, rows)
    return Predictions.from_arrays(
        logits=np.stack([np.zeros(rows), score], axis=1).astype(np.float32),
        label=label,
        class_names=["no car", "car"],
        benchmark=benchmark,
        config="ce_car" if benchmark else None,
        challenge=np.where(label == context, "easy", hard),
        group=np.char.add(np.where(label == 1, "car/", "no car/"), np.where(context == 1, "road", "no road")),
    )


def main() -> None:
    """Prints the table."""
    oochub = [sys.executable, "-m", "oochub.cli"]
    with tempfile.TemporaryDirectory() as folder:
        few, own, small, large = (Path(folder) / f"{name}.parquet" for name in ("few", "own", "small", "large"))
        predictions(200, None).save(few)
        predictions(1000, None).save(small)
        predictions(200, "nooch").save(own)
        predictions(50_000, "nooch").save(large)
        report, rules, written = (str(Path(folder) / name) for name in ("report.json", "rules.toml", "out.json"))
        evaluate(own).save(report)
        Path(rules).write_text('[[rule]]\nmetric = "auc"\nat_least = 0.5\n', "utf-8")
        out = ["--out", written]
        commands = {
            "oochub --help": ([*oochub, "--help"], "0.4 s"),
            "oochub predict --help": ([*oochub, "predict", "--help"], "1.3"),
            "oochub audit --help": ([*oochub, "audit", "--help"], "1.3"),
            "oochub list": ([*oochub, "list"], "1.2"),
            "oochub show objective group_dro": ([*oochub, "show", "objective", "group_dro"], None),
            "oochub show benchmark nooch": ([*oochub, "show", "benchmark", "nooch"], None),
            "oochub check, one rule": ([*oochub, "check", report, "--rules", rules], "1.2"),
            "oochub evaluate, 200 rows of NOOCH": ([*oochub, "evaluate", str(own), *out], "2.5"),
            "oochub evaluate, 200 rows of your own": ([*oochub, "evaluate", str(few), *out], "3"),
            "oochub evaluate, 1,000 rows of your own": ([*oochub, "evaluate", str(small), *out], "3"),
            "oochub evaluate, 50,000 rows of NOOCH": ([*oochub, "evaluate", str(large), *out], "4 s"),
        }
        times: dict[str, list[tuple[float, float]]] = {what: [] for what in commands}
        for _ in range(ROUNDS):
            for what, (command, _) in commands.items():
                times[what].append((seconds(command), seconds(FLOOR)))
    print("| what | seconds | ratio | bound | holds |\n|---|---|---|---|---|")
    for what, (_, bound) in commands.items():
        spent = statistics.median(own for own, _ in times[what])
        ratio = statistics.median(own / floor for own, floor in times[what])
        within = bound is None or (spent if bound.endswith("s") else ratio) <= float(bound.removesuffix(" s"))
        print(f"| {what} | {spent:.2f} | {ratio:.2f} | {bound or ''} | {'' if bound is None else _HOLDS[within]} |")


if __name__ == "__main__":
    main()
