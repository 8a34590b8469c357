"""All metrics of out-of-distribution detection from one sort, against one argsort: `python speed/ood_metrics.py`.

Each round times the argsort and then ours on the same scores; the ratio is the median of the rounds' ratios, so a load
that comes and goes hits both. What is timed: five AUROCs, both average precisions, both FPR@95, and Table 2's share.
"""

import os
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.metrics import auc, precision_recall_curve, roc_curve

from oochub.stats.ranking import ood_numbers

_ROUNDS = 9
_ROWS = 1_000_000
_MOST = 2.5  # times one argsort
_MOST_MEMORY = 120  # MiB


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _peer(score: np.ndarray, is_ood: np.ndarray) -> None:
    """Three curves of scikit-learn, as OpenOOD takes AUROC, FPR@95 and both areas under precision and recall."""
    fpr, tpr, _ = roc_curve(is_ood, -score)
    float(fpr[np.argmax(tpr >= 0.95)]), auc(fpr, tpr)
    for truth, sign in ((is_ood, -1), (~is_ood, 1)):
        precision, recall, _ = precision_recall_curve(truth, sign * score)
        auc(recall, precision)


def _peak_memory(work: Callable[[], object]) -> float:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return peak


def main() -> None:
    """Prints the table; a bound that does not hold is said."""
    rng = np.random.default_rng(0)
    is_ood, correct = rng.random(_ROWS) < 0.39, rng.random(_ROWS) < 0.76
    wide = rng.normal(np.where(is_ood, 0, 1 + correct))
    kinds = {
        "float32": wide.astype(np.float32),
        "float64": wide,
        "float64, 100 distinct": np.round(10 * wide) / 10,
    }
    print(f"numpy {np.__version__}, {platform.machine()}, {os.cpu_count()} cores, median of {_ROUNDS} rounds")
    print(f"load before: {' '.join(f'{load:.1f}' for load in os.getloadavg())}\n")
    print(f"| {_ROWS:,} scores | argsort ms | ours ms | ratio | holds | MiB | holds | scikit-learn's curves, ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for name, score in kinds.items():

        def ours(score: np.ndarray = score) -> object:
            return ood_numbers(score, is_ood, correct)

        def floor(score: np.ndarray = score) -> object:
            return np.argsort(score)

        ours(), floor()
        rounds = np.array([(_timed(floor), _timed(ours)) for _ in range(_ROUNDS)])
        ratio = float(np.median(rounds[:, 1] / rounds[:, 0]))
        peer = statistics.median(_timed(lambda s=score: _peer(s, is_ood)) / _timed(floor) for _ in range(3))
        memory = _peak_memory(ours)
        milliseconds = " | ".join(f"{1000 * seconds:.0f}" for seconds in np.median(rounds, axis=0))
        holds = ["yes" if kept else "no" for kept in (ratio <= _MOST, memory <= _MOST_MEMORY)]
        print(f"| {name} | {milliseconds} | {ratio:.2f} | {holds[0]} | {memory:.0f} | {holds[1]} | {peer:.1f} |")
    print(f"\nload after: {' '.join(f'{load:.1f}' for load in os.getloadavg())}")


if __name__ == "__main__":
    main()
