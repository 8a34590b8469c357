"""KNN against scikit-learn's exact search, and 80-bit distances to near-duplicates."""

import json
import mmap
import pickle
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from sklearn.neighbors import NearestNeighbors

from oochub.detector import Detector
from oochub.errors import OochubError
from oochub.eval_modules.detectors import _graph, _nearest
from oochub.eval_modules.detectors.knn import Knn
from oochub.storage import tensor_file


def unit(rows: np.ndarray) -> np.ndarray:
    rows = rows.astype(np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def by_scikit_learn(train: np.ndarray, test: np.ndarray, k: int) -> np.ndarray:
    search = NearestNeighbors(n_neighbors=k, algorithm="kd_tree").fit(unit(train))
    return -search.kneighbors(unit(test))[0][:, -1]


def exact(train: np.ndarray, test: np.ndarray, k: int) -> np.ndarray:
    """The definition in 80-bit floats, a query at a time."""
    rows, queries = (one.astype(np.longdouble) for one in (train, test))
    rows = rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))
    queries = queries / np.sqrt((queries**2).sum(axis=1, keepdims=True))
    squared = [np.sort(((rows - one) ** 2).sum(axis=1))[k - 1] for one in queries]
    return -np.sqrt(np.array(squared)).astype(np.float64)


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that these tests cross many of them."""
    monkeypatch.setattr(_nearest, "_WIDTH", 128)
    monkeypatch.setattr(_nearest, "_VALUES", 128 * 40)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 2, 50, 700, 1000])
def test_equals_scikit_learn(k: int, dtype: type) -> None:
    """Planted faults: features not normalized; the (k + 1)-th; squared distances; -k of the last block alone."""
    rng = np.random.default_rng(0)
    train, test = rng.normal(size=(1000, 8)).astype(dtype), rng.normal(size=(90, 8)).astype(dtype)
    found = Knn(k=k).fit(features=train).score(features=test)
    np.testing.assert_allclose(found, by_scikit_learn(train, test, k), rtol=1e-12)


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 1e-7])
def test_near_duplicates(apart: float) -> None:
    """2 - 2 cos of float32 is negative for a seventh of such pairs. Planted fault: sqrt(max(2 - 2 cos, 0))."""
    rng = np.random.default_rng(1)
    test = rng.normal(size=(60, 64))
    train = np.concatenate([test * rng.uniform(0.5, 2, (60, 1)) + apart * rng.normal(size=(60, 64)) for _ in range(20)])
    for k in (1, 10):
        found = Knn(k=k).fit(features=train).score(features=test)
        np.testing.assert_allclose(found, exact(train, test, k), rtol=1e-7)


def test_more_near_ties_than_candidates() -> None:
    """300 rows within 1e-6 of each other, copies among them: float64 decides. Planted fault: no second look."""
    rng = np.random.default_rng(2)
    train = np.concatenate([1 + 1e-6 * rng.normal(size=(300, 32)), rng.normal(size=(200, 32))])
    train[100:150] = train[50]
    test = np.concatenate([1 + 1e-3 * rng.normal(size=(20, 32)), np.ones((1, 32)), train[50:51]])
    for k in (1, 40, 150, 299, 301, 500):
        found = Knn(k=k).fit(features=train).score(features=test)
        np.testing.assert_allclose(found, exact(train, test, k), rtol=1e-6, atol=1e-15)


def test_a_copy_is_at_distance_zero_and_zero_features_at_one() -> None:
    """Planted fault: rows / norm + 1e-10, which is nan for a zero row."""
    train = np.array([[3.0, 4.0], [0.0, 2.0], [0.0, 0.0]])
    assert Knn(k=1).fit(features=train).score(features=[[6.0, 8.0], [0.0, 0.0]]).tolist() == [0, 0]
    assert Knn(k=2).fit(features=train).score(features=[[0.0, 0.0], [-1.0, 0.0]]).tolist() == [-1, -np.sqrt(2)]


def low_dimensional(n: int, seed: int) -> np.ndarray:
    spread = np.random.default_rng(8).normal(size=(6, 16))
    return np.random.default_rng(seed).normal(size=(n, 6)) @ spread


def test_the_graph_measures_exactly_what_it_finds() -> None:
    """A graph that looks far finds all; found rows have the distances of exact search, so a score is never nearer."""
    pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    train, test = low_dimensional(3000, 1), low_dimensional(200, 2)
    for dtype in (np.float16, np.float64):
        exact, graph = (Knn(k=20, index=index).fit(features=train.astype(dtype)) for index in ("exact", "faiss"))
        np.testing.assert_array_equal(graph.score(features=test), exact.score(features=test))
        assert graph.search_recall(features=test) == (1, 200) and exact.search_recall(features=test) is None


def test_what_the_graph_misses_is_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of scikit-learn's neighbors, those that a graph finds which looks at few. Planted faults: 1; k + 1 neighbors."""
    pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    monkeypatch.setattr(_graph, "_LOOK", (0, 1))
    monkeypatch.setattr(_graph, "_LINKS", 2)
    train, test = low_dimensional(3000, 1), low_dimensional(700, 2)
    detector = Knn(k=20, index="faiss").fit(features=train)
    recall = detector.search_recall(features=test)
    some = unit(test[np.linspace(0, 699, 500).astype(int)])
    right = NearestNeighbors(n_neighbors=20).fit(unit(train)).kneighbors(some)[1]
    near, found = detector._graph.candidates(some, 20)
    found[np.isinf(near)] = -1
    expected = np.mean([len(np.intersect1d(*rows)) / 20 for rows in zip(right, found, strict=True)])
    assert recall is not None and recall.queries == 500 and 0.02 < expected < 0.98
    assert recall.share == pytest.approx(expected)
    scores = detector.score(features=test)
    assert (scores <= Knn(k=20).fit(features=train).score(features=test)).all()
    np.testing.assert_array_equal(Detector.load(detector.save(tmp_path / "saved")).score(features=test), scores)


def test_fewer_rows_found_than_k_are_searched_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted fault: their score is infinite."""
    pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    train, test = low_dimensional(300, 1), low_dimensional(30, 2)
    candidates = _graph.Graph.candidates

    def lose_some(self: _graph.Graph, queries: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        near, index = candidates(self, queries, count)
        near[::3, 5:] = -np.inf
        return near, index

    monkeypatch.setattr(_graph.Graph, "candidates", lose_some)
    graph, exact = (Knn(k=20, index=index).fit(features=train) for index in ("faiss", "exact"))
    np.testing.assert_array_equal(graph.score(features=test), exact.score(features=test))


def test_without_faiss_it_is_said_before_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(OochubError, match=r"pip install 'oochub\[faiss\]'"):
        Knn(index="faiss")
    with pytest.raises(OochubError, match="index must be one of exact, faiss, got 'hnsw'"):
        Knn(index="hnsw")


def test_a_detector_saved_before_there_were_indices_opens(tmp_path: Path) -> None:
    detector = Knn(k=3).fit(features=np.eye(5))
    card = detector.save(tmp_path / "saved") / "detector.json"
    said = json.loads(card.read_text())
    del said["hyperparameters"]["index"]
    card.write_text(json.dumps(said))
    save_file({"bank": np.eye(5)}, tmp_path / "saved" / "state.safetensors")  # of before: without a digest
    assert Detector.load(tmp_path / "saved").hyperparameters == {"k": 3, "index": "exact"}


def test_k_above_the_rows_is_refused() -> None:
    with pytest.raises(OochubError, match="largest k allowed is 5"):
        Knn(k=6).fit(features=np.eye(5))


def test_a_memory_map_is_searched_where_it_is(tmp_path: Path) -> None:
    """Read-only arrays are not copied; others are, so that the caller may change them."""
    train = np.random.default_rng(3).normal(size=(200, 8))
    np.save(tmp_path / "bank.npy", train)
    mapped = np.load(tmp_path / "bank.npy", mmap_mode="r")
    detector = Knn(k=3).fit(features=mapped)
    assert np.shares_memory(detector.bank, mapped) and not np.shares_memory(Knn(k=3).fit(features=train).bank, train)
    np.testing.assert_array_equal(detector.score(features=train), Knn(k=3).fit(features=train).score(features=train))


def test_memory_of_scoring_does_not_depend_on_the_bank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted fault: the product of a block of queries with the whole bank."""
    monkeypatch.undo()
    rng = np.random.default_rng(4)
    test = rng.normal(size=(300, 16)).astype(np.float32)
    peaks = []
    for n in (10_000, 40_000):
        detector = Knn(k=50).fit(features=rng.normal(size=(n, 16)).astype(np.float32))
        tracemalloc.start()
        detector.score(features=test)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.05 * peaks[0], peaks


def is_on_disk(array: np.ndarray) -> bool:
    owner = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, mmap.mmap)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_bank_on_disk_gives_the_bits_of_one_in_memory(
    dtype: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FitState at once, in batches of any size, merged, saved and opened; small ones stay in memory."""
    rng = np.random.default_rng(6)
    train, test = rng.normal(size=(1000, 8)).astype(dtype), rng.normal(size=(50, 8)).astype(dtype)
    small = Knn(k=20).fit(features=train)
    expected = small.score(features=test)
    assert not is_on_disk(small.bank)
    monkeypatch.setattr(tensor_file, "LARGE", train.nbytes // 3)
    whole, parts, other = Knn(k=20).fit(features=train), Knn(k=20), Knn(k=20)
    for number, rows in enumerate(np.array_split(rng.permutation(1000), [3, 10, 200, 201, 500, 900])):
        (other if number % 3 == 1 else parts).partial_fit(features=train[rows])
    merged = Knn(k=20).merge(pickle.loads(pickle.dumps(other))).merge(parts).finalize()  # noqa: S301
    opened = Detector.load(merged.save(tmp_path / "saved"))
    for detector in (whole, merged, opened):
        assert is_on_disk(detector.bank) and detector.bank.shape == (1000, 8) and detector.bank.dtype == dtype
        np.testing.assert_array_equal(np.sort(detector.bank, axis=0), np.sort(train, axis=0))
        np.testing.assert_array_equal(detector.score(features=test), expected)
    small.save(tmp_path / "saved")  # in the place of the one that is open
    np.testing.assert_array_equal(opened.score(features=test), expected)


def test_batches_of_different_types_share_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also pickled. Planted faults: read from the file's start for a part behind another, in blocks and as a map."""
    rng = np.random.default_rng(7)
    rows, test = rng.normal(size=(300, 8)).astype(np.float16), rng.normal(size=(20, 8))
    expected = Knn(k=5).fit(features=rows.astype(np.float64)).score(features=test)
    monkeypatch.setattr(tensor_file, "LARGE", 100)
    parts = Knn(k=5).partial_fit(features=rows[:120]).partial_fit(features=rows[120:].astype(np.float32))
    for detector in (pickle.loads(pickle.dumps(parts)), parts):  # noqa: S301
        np.testing.assert_array_equal(detector.finalize().score(features=test), expected)


def test_memory_of_a_fit_on_disk_is_16_bytes_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 64 a row that the bank has. Planted faults: batches kept in memory; the bank copied when it is opened."""
    monkeypatch.undo()
    monkeypatch.setattr(tensor_file, "LARGE", 1 << 16)
    rng = np.random.default_rng(4)
    test, peaks = rng.normal(size=(300, 16)).astype(np.float32), []
    for n in (20, 80):
        tracemalloc.start()
        detector = Knn(k=50)
        for _ in range(n):
            detector.partial_fit(features=rng.normal(size=(500, 16)).astype(np.float32))
        detector.finalize().score(features=test)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 20 * 60 * 500, peaks


def test_where_no_file_can_be_kept_there_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tensor_file, "LARGE", 100)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(OochubError, match="Set TMPDIR"):
        Knn(k=1).partial_fit(features=np.eye(20))
