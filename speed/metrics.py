"""How fast the metrics are, as ratios to a floor measured beside them: `python speed/metrics.py`.

Each round times the floor and then ours in CPU time; the ratio is the median of nine rounds, so a load that
comes and goes hits both. Bounds are those of the design; a bound that does not hold is printed as such. A second table
sets torchmetrics beside ours where it is installed (`pip install torchmetrics`).

Measured code: eval_modules, stats.
"""

import os
import platform
import statistics as numbers
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files
from importlib.util import find_spec
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import datasets
import evaluate
import numpy as np
from sklearn.metrics import roc_auc_score

from oochub.eval_modules.metrics.accuracy.accuracy import accuracy
from oochub.eval_modules.metrics.auc.auc import auc
from oochub.eval_modules.metrics.ece.ece import ece
from oochub.eval_modules.metrics.worst_group.worst_group import worst_group
from oochub.stats.logits import summarize_softmax

ROUNDS = 9


class Row(NamedTuple):
    """One comparison: ours against the floor; `bound` None is a peer, printed to compare, not held."""

    what: str
    floor: Callable[[], object]
    ours: Callable[[], object]
    bound: float | None
    repeat: int = 1


def ratio(row: Row) -> tuple[float, float]:
    """The median ratio of ROUNDS interleaved rounds, and the floor's median in milliseconds."""
    row.floor(), row.ours()
    ratios, floors = [], []
    for _ in range(ROUNDS):
        floor, ours = (_seconds(run, row.repeat) for run in (row.floor, row.ours))
        ratios.append(ours / floor)
        floors.append(1000 * floor)
    return numbers.median(ratios), numbers.median(floors)


def _seconds(run: Callable[[], object], repeat: int) -> float:
    start = time.process_time()
    for _ in range(repeat):
        run()
    return (time.process_time() - start) / repeat


def auroc_rows() -> Iterator[Row]:
    for n, repeat in ((100_000, 20), (1_000_000, 3)):
        rng = np.random.default_rng(0)
        label = (rng.random(n) < 0.3).astype(np.int64)
        score = rng.normal(label).astype(np.float32)
        wide = score.astype(np.float64)
        bound = 1.3 if n == 1_000_000 else None

        def sort(score: np.ndarray = score) -> object:
            return np.argsort(score)

        def exact(label: np.ndarray = label, score: np.ndarray = score) -> object:
            return auc(label, score)

        def exact_wide(label: np.ndarray = label, score: np.ndarray = wide) -> object:
            return auc(label, score)

        def peer(label: np.ndarray = label, score: np.ndarray = score) -> object:
            return roc_auc_score(label, score)

        yield Row(f"exact AUROC, {n:,} float32 / argsort", sort, exact, bound, repeat)
        yield Row(f"exact AUROC, {n:,} float64 / argsort (float32)", sort, exact_wide, None, repeat)
        yield Row(f"scikit-learn AUROC, {n:,} / argsort", sort, peer, None)


def worst_group_rows() -> Iterator[Row]:
    for n, repeat in ((100_000, 50), (1_000_000, 10)):
        for count in (4, 180):
            rng = np.random.default_rng(0)
            label, prediction, group = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.integers(0, count, n)

            def floor(label=label, prediction=prediction, group=group) -> object:
                return np.bincount(group * 2 + (label == prediction))

            def ours(label=label, prediction=prediction, group=group) -> object:
                return worst_group(label, prediction, group)

            yield Row(f"worst-group accuracy, {n:,} rows, {count} groups / bincount", floor, ours, 1.3, repeat)


def logits_rows() -> Iterator[Row]:
    for n, classes, bound, repeat in ((100_000, 10, 3.0, 5), (20_000, 1000, 5.0, 2)):
        rng = np.random.default_rng(0)
        logits = rng.normal(size=(n, classes)).astype(np.float32)
        label = rng.integers(0, classes, n)

        def floor(logits: np.ndarray = logits) -> object:
            return logits.max(axis=1)

        def ours(logits: np.ndarray = logits, label: np.ndarray = label) -> object:
            summary = summarize_softmax(logits, label=label)
            calibration = ece(summary.prediction == label, summary.confidence, of="positive")
            return accuracy(label, summary.prediction), summary.loss.mean(), calibration

        yield Row(f"accuracy + NLL + ECE, {n:,} x {classes} logits / max", floor, ours, bound, repeat)


class _DefaultAccuracy(evaluate.Metric):
    """An evaluate.Metric as most are written: rows pass through Arrow and Python lists."""

    def _info(self) -> evaluate.MetricInfo:
        columns = {"predictions": datasets.Value("int64"), "references": datasets.Value("int64")}
        return evaluate.MetricInfo("", "", datasets.Features(columns), inputs_description="")

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        return {"accuracy": float(np.mean(np.array(predictions) == np.array(references)))}


def evaluate_rows(cache: str) -> Iterator[Row]:
    n = 200_000
    rng = np.random.default_rng(0)
    label, prediction = rng.integers(0, 10, n), rng.integers(0, 10, n)
    ours = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "accuracy"))
    default = _DefaultAccuracy(cache_dir=cache)

    def stream(metric: evaluate.Metric, batch: int) -> object:
        for start in range(0, n, batch):
            rows = slice(start, start + batch)
            metric.add_batch(references=label[rows], predictions=prediction[rows])
        return metric.compute()

    assert stream(ours, 256) == stream(default, 256)
    for batch in (256, 4096):
        what = f"our accuracy in evaluate.Metric, {n:,} rows by {batch} / default add_batch"
        yield Row(what, partial(stream, default, batch), partial(stream, ours, batch), 0.01)


def peer_rows() -> Iterator[Row]:
    """Rows of torchmetrics against ours, which is the floor here; their numbers are the same."""
    import torch
    from torchmetrics.classification import MulticlassAccuracy
    from torchmetrics.functional.classification import (
        binary_auroc,
        binary_groups_stat_rates,
        multiclass_accuracy,
        multiclass_calibration_error,
    )

    n, rng = 1_000_000, np.random.default_rng(0)
    label, group = rng.integers(0, 2, n), rng.integers(0, 4, n)
    score = 1 / (1 + np.exp(-rng.normal(label))).astype(np.float32)
    prediction = (score > 0.5).astype(np.int64)
    labels, scores, groups, predictions = map(torch.from_numpy, (label, score, group, prediction))
    assert abs(auc(label, score) - float(binary_auroc(scores, labels))) < 1e-5

    def worst() -> object:
        rates = torch.stack(list(binary_groups_stat_rates(predictions, labels, groups, 4).values()))
        return float((rates[:, 0] + rates[:, 2]).min())

    assert abs(worst_group(label, prediction, group)["accuracy"] - worst()) < 1e-5
    yield Row(f"AUROC, {n:,} float32", partial(auc, label, score), partial(binary_auroc, scores, labels), 1)
    yield Row(f"worst-group accuracy, {n:,} rows, 4 groups", partial(worst_group, label, prediction, group), worst, 1)

    for row in logits_rows():
        rows, classes = row.ours.__defaults__[0].shape
        logits, true = map(torch.from_numpy, row.ours.__defaults__)

        def theirs(logits=logits, true=true, classes=classes) -> object:
            shares = logits.softmax(dim=1)
            calibration = multiclass_calibration_error(shares, true, classes)
            loss = torch.nn.functional.cross_entropy(logits, true)
            return multiclass_accuracy(logits, true, classes, average="micro"), loss, calibration

        assert np.allclose(row.ours(), theirs(), atol=1e-4)
        yield Row(f"accuracy + NLL + ECE, {rows:,} x {classes} logits", row.ours, theirs, 1)

    ours = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "accuracy"))

    def stream() -> object:
        for start in range(0, 200_000, 256):
            ours.add_batch(references=label[start : start + 256], predictions=prediction[start : start + 256])
        return ours.compute()["accuracy"]

    def stream_theirs() -> object:
        metric = MulticlassAccuracy(2, average="micro")
        for start in range(0, 200_000, 256):
            metric.update(predictions[start : start + 256], labels[start : start + 256])
        return float(metric.compute())

    assert abs(stream() - stream_theirs()) < 1e-3
    yield Row("accuracy, 200,000 rows by 256", stream, stream_theirs, 1)


def main() -> None:
    """Prints the table; a bound that does not hold is said."""
    print(
        f"numpy {np.__version__}, {platform.machine()}, {os.cpu_count()} cores, one thread, median of {ROUNDS} rounds"
    )
    print(f"load before: {' '.join(f'{load:.1f}' for load in os.getloadavg())}\n")
    print("| what / floor | ratio | bound | holds | floor ms |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as cache:
        for rows in (auroc_rows(), worst_group_rows(), logits_rows(), evaluate_rows(cache)):
            for row in rows:
                value, floor = ratio(row)
                holds = "-" if row.bound is None else "yes" if value <= row.bound else "no"
                print(f"| {row.what} | {value:.3g} | {row.bound or '-'} | {holds} | {floor:.3g} |", flush=True)
    if find_spec("torchmetrics") is None:
        print("\ntorchmetrics is not installed, so it is not compared: pip install torchmetrics")
    else:
        print("\n| what, torchmetrics / ours | ratio | ahead | ours ms |\n|---|---|---|---|")
        for row in peer_rows():
            value, own = ratio(row)
            print(f"| {row.what} | {value:.3g} | {'yes' if value > 1 else 'no'} | {own:.3g} |", flush=True)
    print(f"\nload after: {' '.join(f'{load:.1f}' for load in os.getloadavg())}")


if __name__ == "__main__":
    main()
