"""How fast the detectors are, as ratios to a floor measured beside them: `python speed/detectors.py`.

50,000 x 512 training features in float32, 1,000 classes, 10,000 queries; OOCHUB_BENCHMARK_SCALE=0.1 takes a tenth of
the rows. Each round takes the CPU time of the floor and then of ours, in one thread, five rounds; the ratio is the
median of the rounds' ratios, so a load that comes and goes hits both. A bound that does not hold is printed as such.
pytorch-ood, where it is installed, is timed beside.

Measured code: eval_modules, stats.
"""

import importlib.util
import os
import platform
import statistics as numbers
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

import oochub
from oochub.detector import Detector

ROUNDS = 5
SCALE = float(os.environ.get("OOCHUB_BENCHMARK_SCALE", "1"))
ROWS, QUERIES, CLASSES, WIDTH = int(50_000 * SCALE), int(10_000 * SCALE), 1000, 512


class Row(NamedTuple):
    """One comparison: ours against the floor; `bound` None is printed to compare, not held."""

    what: str
    floor: Callable[[], object]
    ours: Callable[[], object]
    bound: float | None


def ratio(row: Row) -> tuple[float, float]:
    """The median ratio of ROUNDS interleaved rounds, and the floor's median in milliseconds."""
    row.floor(), row.ours()
    ratios, floors = [], []
    for _ in range(ROUNDS):
        floor, ours = _seconds(row.floor), _seconds(row.ours)
        ratios.append(ours / floor)
        floors.append(1000 * floor)
    return numbers.median(ratios), numbers.median(floors)


def _seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


class World(NamedTuple):
    """Training rows, queries, and the head."""

    features: np.ndarray
    logits: np.ndarray
    label: np.ndarray
    queries: np.ndarray
    query_logits: np.ndarray
    weight: np.ndarray
    bias: np.ndarray

    def fit(self, name: str, **parameters: object) -> Detector:
        return oochub.get("detector", name)(**parameters).fit(
            features=self.features, logits=self.logits, label=self.label, weight=self.weight, bias=self.bias
        )


def world() -> World:
    rng = np.random.default_rng(0)
    means = rng.normal(size=(CLASSES, WIDTH)).astype(np.float32)
    label = np.arange(ROWS) % CLASSES
    features = np.maximum(means[label] + rng.normal(size=(ROWS, WIDTH), scale=1.5).astype(np.float32), 0)
    queries = np.maximum(means[:QUERIES] if QUERIES <= CLASSES else np.resize(means, (QUERIES, WIDTH)), 0)
    queries = queries + np.abs(rng.normal(size=(QUERIES, WIDTH)).astype(np.float32))
    weight, bias = means / 8, np.zeros(CLASSES, np.float32)
    return World(features, features @ weight.T, label, queries, queries @ weight.T, weight, bias)


def mahalanobis_rows(w: World) -> Iterator[Row]:
    detector = w.fit("mahalanobis")
    for dtype in (np.float32, np.float64):
        whitener, means = detector.whitener.astype(dtype), detector.whitened_means.astype(dtype)

        def floor(whitener: np.ndarray = whitener, means: np.ndarray = means) -> object:
            return (w.queries.astype(means.dtype, copy=False) @ whitener) @ means.T

        name = np.dtype(dtype).name
        yield Row(
            f"Mahalanobis score / whitening + one product in {name}",
            floor,
            partial(detector.score, features=w.queries),
            1.2,
        )
    precision = detector.whitener @ detector.whitener.T
    means = np.stack([w.features[w.label == c].mean(axis=0) for c in range(CLASSES)]).astype(np.float64)
    some = w.queries[: max(1, QUERIES // 100)].astype(np.float64)

    def loop() -> object:
        return [np.einsum("ij,jk,ik->i", some - mean, precision, some - mean, optimize=True) for mean in means]

    yield Row(
        "a loop over classes / ours, of a hundredth of the queries", partial(detector.score, features=some), loop, None
    )


def gram(features: np.ndarray, center: np.ndarray) -> np.ndarray:
    total = np.zeros((features.shape[1],) * 2)
    for start in range(0, len(features), 4096):
        block = features[start : start + 4096].astype(np.float64)
        block -= center
        total += block.T @ block
    return total


def fit_rows(w: World) -> Iterator[Row]:
    center = w.features.mean(axis=0, dtype=np.float64)

    def gram_and_eigh() -> object:
        return np.linalg.eigh(gram(w.features, center))

    yield Row("ViM fit / float64 Gram + eigh", gram_and_eigh, lambda: w.fit("vim"), 1.6)
    yield Row("Mahalanobis fit / float64 Gram + eigh", gram_and_eigh, lambda: w.fit("mahalanobis"), 1.3)
    yield Row("ReAct fit / numpy.percentile", lambda: np.percentile(w.features, 90), lambda: w.fit("react"), None)


def knn_rows(w: World) -> Iterator[Row]:
    for k in (50, 1000):
        detector = w.fit("knn", k=min(k, ROWS))
        bank = w.features / np.linalg.norm(w.features, axis=1, keepdims=True)
        queries = w.queries / np.linalg.norm(w.queries, axis=1, keepdims=True)

        def floor(k: int = detector.k, bank: np.ndarray = bank, queries: np.ndarray = queries) -> object:
            kth = []
            for start in range(0, len(queries), 512):
                best = np.empty((len(queries[start : start + 512]), 0), np.float32)
                for at in range(0, len(bank), 8192):
                    candidates = np.concatenate([best, queries[start : start + 512] @ bank[at : at + 8192].T], axis=1)
                    best = np.partition(candidates, -min(k, candidates.shape[1]), axis=1)[:, -k:]
                kth.append(best[:, 0])
            return kth

        ours = partial(detector.score, features=w.queries)
        yield Row(f"KNN score, k = {k} / blocked product + top k", floor, ours, 1.3)
    if importlib.util.find_spec("faiss"):
        exact, graph = (w.fit("knn", k=min(50, ROWS), index=index) for index in ("exact", "faiss"))
        recall = graph.search_recall(features=w.queries)
        yield Row(
            f"KNN score, k = 50, index=faiss, which finds {recall.share:.1%} / exact",
            partial(exact.score, features=w.queries),
            partial(graph.score, features=w.queries),
            None,
        )


def logit_rows(w: World) -> Iterator[Row]:
    for name in ("max_logit", "msp", "energy", "odin", "grad_norm"):
        detector = oochub.get("detector", name)()
        run = partial(detector.score, features=w.queries, logits=w.query_logits)
        yield Row(f"{name} score / largest logit", lambda: w.query_logits.max(axis=1), run, None)
    for name, parameters in (("max_cosine", {}), ("ash_b", {}), ("react", {}), ("vim", {})):
        detector = w.fit(name, **parameters)
        run = partial(detector.score, features=w.queries, logits=w.query_logits)
        yield Row(f"{name} score / features @ weight.T", lambda: w.queries @ w.weight.T, run, None)
    detector = w.fit("open_max", tail=min(20, ROWS // CLASSES // 2))
    run = partial(detector.score, logits=w.query_logits)
    yield Row("open_max score / largest logit", lambda: w.query_logits.max(axis=1), run, None)


def peer_rows(w: World) -> Iterator[Row]:
    if importlib.util.find_spec("pytorch_ood") is None:
        return
    import torch
    from pytorch_ood.detector import KNN, Mahalanobis, ViM

    features, label, queries = (
        torch.from_numpy(np.ascontiguousarray(array)) for array in (w.features, w.label, w.queries)
    )
    peer = Mahalanobis(None)
    peer.fit_features(features, label)
    ours = w.fit("mahalanobis")
    yield Row(
        "pytorch-ood Mahalanobis score / ours",
        partial(ours.score, features=w.queries),
        lambda: peer.predict_features(queries),
        None,
    )
    yield Row(
        "pytorch-ood Mahalanobis fit (float32) / ours (float64)",
        lambda: w.fit("mahalanobis"),
        lambda: Mahalanobis(None).fit_features(features, label),
        None,
    )
    near = KNN(None, k=50)
    near.fit_features(features, label)
    knn = w.fit("knn", k=50)
    yield Row(
        "pytorch-ood KNN score / ours",
        partial(knn.score, features=w.queries),
        lambda: near.predict_features(queries),
        None,
    )
    virtual = ViM(None, d=WIDTH // 2, w=torch.from_numpy(w.weight), b=torch.from_numpy(w.bias))
    yield Row(
        "pytorch-ood ViM fit (float32) / ours (float64)",
        lambda: w.fit("vim"),
        lambda: virtual.fit_features(features, label),
        None,
    )


def on_paper(w: World) -> Iterator[str]:
    """What ImageNet would take, at the rates of this machine: formulas of memory and operations, not a run."""
    n, d, c, queries = 1_281_167, 2048, 1000, 111_800
    rows = min(ROWS, 8192)
    double = rows * WIDTH**2 / _seconds(lambda: gram(w.features[:rows], np.zeros(WIDTH)))
    single = 2 * rows * QUERIES * WIDTH / _seconds(lambda: w.queries @ w.features[:rows].T)
    mib, square = 2**20, 8 * d**2
    sample = 4096 * 4 * d
    yield f"rates: {double / 1e9:.0f} GFLOP/s of a float64 Gram matrix, {single / 1e9:.0f} of a float32 product"
    yield "\n| detector | remembered, MiB | fit, TFLOP | fit, minutes | scores, TFLOP | scores, minutes |"
    yield "|---|---|---|---|---|---|"
    score = queries * 2 * (d * d + d * c)
    table = [
        ("mahalanobis", (3 * square + 16 * c * d) / mib, n * d**2, score),
        ("vim", (3 * square + sample) / mib, n * d**2 + 2 * 4096 * d * (d - 1000), queries * 2 * d * (d - 1000)),
        ("knn, float32 bank", n * d * 4 / mib, 0, queries * 2 * n * d),
        ("react", (1 << 16) * 8 / mib, 0, queries * 2 * d * c),
        ("open_max", (8 * c * c + 16 * 20 * c) / mib, 3 * n * c, queries * 30 * c),
        ("ash_b, max_cosine", 8 * c * d / mib, 0, queries * 2 * d * c),
    ]
    for name, remembered, fit, scores in table:
        rate = single if name.startswith("knn") else double
        cells = (remembered, fit / 1e12, fit / double / 60, scores / 1e12, scores / rate / 60)
        yield f"| {name} | {' | '.join(f'{cell:.3g}' for cell in cells)} |"
    yield f"\nTemporary files of batches, GiB: react {n * d * 4 / 2**30:.1f}, open_max {n * c * 4 / 2**30:.1f}"


def main() -> None:
    """Prints the tables."""
    print(
        f"numpy {np.__version__}, {platform.machine()}, {os.cpu_count()} cores, "
        f"OMP_NUM_THREADS={os.environ['OMP_NUM_THREADS']},"
    )
    print(f"{ROWS:,} x {WIDTH} training rows, {CLASSES:,} classes, {QUERIES:,} queries, median of {ROUNDS} rounds")
    print(f"load before: {' '.join(f'{load:.1f}' for load in os.getloadavg())}\n")
    print("| what / floor | ratio | bound | holds | floor ms |\n|---|---|---|---|---|")
    arrays = world()
    for rows in (mahalanobis_rows, fit_rows, knn_rows, logit_rows, peer_rows):
        for row in rows(arrays):
            value, floor = ratio(row)
            holds = "-" if row.bound is None else "yes" if value <= row.bound else "no"
            print(f"| {row.what} | {value:.3g} | {row.bound or '-'} | {holds} | {floor:.3g} |", flush=True)
    print("\nImageNet on paper: 1,281,167 x 2048 training rows, 1,000 classes, 111,800 queries")
    for line in on_paper(arrays):
        print(line, flush=True)
    print(f"\nload after: {' '.join(f'{load:.1f}' for load in os.getloadavg())}")


if __name__ == "__main__":
    main()
