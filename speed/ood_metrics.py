"""All metrics of out-of-distribution detection from one sort, against one argsort: `python speed/ood_metrics.py`.

Each round times the argsort and then ours on the same scores, in CPU time; the ratio is the median of the rounds'
ratios, so a load that comes and goes hits both. What is timed: five AUROCs, both average precisions, both FPR@95, and
Table 2's share; then the interval of average precision, of which the resampling is nearly all. pytorch-ood's metrics
stand beside ours where it is installed (`pip install pytorch-ood`).

Measured code: stats, eval_modules.
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

from oochub.eval_modules.metrics.average_precision.average_precision import average_precision
from oochub.stats.estimation import estimate
from oochub.stats.ranking import ood_numbers

_ROUNDS = 9
_ROWS = 1_000_000
_MOST = 2.5  # times one argsort
_MOST_MEMORY = 120  # MiB
_INTERVAL_ROWS = 80_000
_INTERVAL_MOST = 25  # times one argsort


def _timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


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


def _print_intervals(score: np.ndarray, is_ood: np.ndarray) -> None:
    """Average precision with its interval, of 1,000 resamples, against one argsort."""
    print(f"\n| interval of average precision, {len(score):,} scores | argsort ms | ours ms | ratio | holds |")
    print("|---|---|---|---|---|")
    for positive in ("id", "ood"):

        def ours(positive: str = positive) -> object:
            return estimate(average_precision, {"score": score, "is_ood": is_ood}, options={"positive": positive})

        rounds = np.array([(_timed(lambda: np.argsort(score)), _timed(ours)) for _ in range(_ROUNDS)])
        ratio = float(np.median(rounds[:, 1] / rounds[:, 0]))
        milliseconds = " | ".join(f"{1000 * seconds:.1f}" for seconds in np.median(rounds, axis=0))
        holds = "yes" if ratio <= _INTERVAL_MOST else "no"
        print(f"| positive={positive!r} | {milliseconds} | {ratio:.1f} | {holds} |")


def _print_pytorch_ood(score: np.ndarray, is_ood: np.ndarray) -> None:
    """pytorch-ood's metrics of the same scores, which are the area below one curve more and no breakdown."""
    try:
        import torch
        from pytorch_ood.metrics import OODMetrics
    except (ImportError, RuntimeError) as error:  # a torchvision of another torch is a RuntimeError
        print(f"\npytorch-ood is not compared ({error}): pip install pytorch-ood, and torchvision as torch came")
        return

    outlier, label = torch.from_numpy(-score), torch.from_numpy(np.where(is_ood, -1, 0))

    def peer() -> dict[str, float]:
        return OODMetrics().update(outlier, label).compute()

    def ours() -> dict[str, float]:
        return ood_numbers(score, is_ood)

    same = {"AUROC": "auroc_new_class", "FPR95TPR": "fpr_at_tpr_ood"}
    assert all(abs(peer()[theirs] - ours()[name]) < 1e-6 for theirs, name in same.items())
    ratio = statistics.median(_timed(peer) / _timed(ours) for _ in range(_ROUNDS))
    print(f"\npytorch-ood's OODMetrics / ours, {len(score):,} {score.dtype} scores: {ratio:.1f}")


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
    _print_intervals(wide[:_INTERVAL_ROWS], is_ood[:_INTERVAL_ROWS])
    _print_pytorch_ood(kinds["float32"], is_ood)
    print(f"\nload after: {' '.join(f'{load:.1f}' for load in os.getloadavg())}")


if __name__ == "__main__":
    main()
