"""ViM against its definition with numpy's pseudo-inverse, and singular vectors where directions are small."""

import numpy as np
import pytest
from scipy.special import logsumexp

from oochub.errors import OochubError
from oochub.eval_modules.detectors import vim
from oochub.eval_modules.detectors.residual import _choose_dim as choose_dim
from oochub.eval_modules.detectors.vim import Vim
from oochub.eval_modules.detectors.vim import _RowSample as RowSample

D, C = 24, 30
RNG = np.random.default_rng(0)
WEIGHT, BIAS = RNG.normal(size=(C, D)), RNG.normal(size=C)
MIXING = RNG.normal(size=(D, D))


def made(n: int, seed: int, dtype: type = np.float64) -> dict[str, np.ndarray]:
    features = (np.random.default_rng(seed).normal(size=(n, D)) @ MIXING).astype(dtype)
    return {"features": features, "logits": features @ WEIGHT.astype(dtype).T + BIAS.astype(dtype)}


TRAIN, TEST = made(2000, 1), made(100, 2)


def definition(train: dict, test: dict, dim: int, weight: np.ndarray = WEIGHT, bias: np.ndarray = BIAS) -> np.ndarray:
    """The formula as it stands, all training rows at once."""
    origin = -np.linalg.pinv(weight) @ bias
    moved = train["features"].astype(np.float64) - origin
    residual = np.linalg.eigh(moved.T @ moved / len(moved))[1][:, : moved.shape[1] - dim]
    largest = train["logits"].astype(np.float64).max(axis=1)
    alpha = largest.mean() / np.linalg.norm(moved @ residual, axis=1).mean()
    beyond = np.linalg.norm((test["features"].astype(np.float64) - origin) @ residual, axis=1)
    return -alpha * beyond + logsumexp(test["logits"].astype(np.float64), axis=1)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("dim", [None, 1, 23])
def test_equals_the_definition(dim: int | None, dtype: type) -> None:
    """Planted faults: the largest directions; the moment about the mean; alpha of the logits' mean; alpha = 1."""
    train, test = made(2000, 1, dtype), made(100, 2, dtype)
    found = Vim(dim=dim).fit(**train, weight=WEIGHT, bias=BIAS).score(**test)
    np.testing.assert_allclose(found, definition(train, test, dim or D // 2), rtol=1e-9)


def test_fewer_classes_than_features() -> None:
    """The weight has more columns than rows: the least-norm origin, as the pseudo-inverse gives it."""
    weight, bias = WEIGHT[:10], BIAS[:10]
    train, test = ({**one, "logits": one["logits"][:, :10]} for one in (TRAIN, TEST))
    found = Vim(dim=12).fit(**train, weight=weight, bias=bias).score(**test)
    np.testing.assert_allclose(found, definition(train, test, 12, weight, bias), rtol=1e-9)


@pytest.mark.parametrize(("d", "dim"), [(4096, 1000), (2048, 1000), (2047, 512), (768, 512), (767, 383), (512, 256)])
def test_default_dim(d: int, dim: int) -> None:
    assert choose_dim(None, d) == dim


def test_small_directions() -> None:
    """Spread down to 1e-5 of the largest: float32 loses these directions. Planted fault: a Gram matrix in float32."""
    basis = np.linalg.qr(MIXING)[0]
    stretch = np.logspace(0, -5, D)
    train, test = RNG.normal(size=(3000, D)) * stretch @ basis.T, RNG.normal(size=(50, D)) * stretch @ basis.T
    small = {"features": train, "logits": train @ WEIGHT.T}
    other = {"features": test, "logits": test @ WEIGHT.T}
    found = Vim(dim=20).fit(**small, weight=WEIGHT, bias=np.zeros(C)).score(**other)
    scores, vectors = np.linalg.svd(train, full_matrices=False)[1:]
    residual = vectors[20:].T  # of the rows themselves: their singular values are not squared
    alpha = small["logits"].max(axis=1).mean() / np.linalg.norm(train @ residual, axis=1).mean()
    expected = logsumexp(other["logits"], axis=1) - alpha * np.linalg.norm(test @ residual, axis=1)
    assert scores[-1] < 2e-5 * scores[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_alpha_of_a_sample_is_the_same_in_any_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than alpha is taken over: batches, workers and one call choose the same rows, evenly."""
    monkeypatch.setattr(vim, "_SAMPLED", 300)
    monkeypatch.setattr(vim, "_SAMPLED_VALUES", 1)
    head = {"weight": WEIGHT, "bias": BIAS}
    whole = Vim().fit(**TRAIN, **head)
    assert whole.alpha_rows == 300
    for seed in range(3):
        rng = np.random.default_rng(seed)
        workers = [Vim() for _ in range(4)]
        for number, rows in enumerate(np.array_split(rng.permutation(2000), 64)):
            workers[number % 4].partial_fit(**{name: one[rows] for name, one in TRAIN.items()}, **head)
        total = Vim()
        for i in rng.permutation(4):
            total.merge(workers[i])
        np.testing.assert_allclose(total.finalize().alpha, whole.alpha, rtol=1e-12)
    monkeypatch.undo()
    assert whole.alpha == pytest.approx(Vim().fit(**TRAIN, **head).alpha, rel=0.05)


@pytest.mark.parametrize(("dtype", "columns"), [(np.float16, 3), (np.float32, 5), (np.float64, 4)])
def test_the_sample_is_even(dtype: type, columns: int) -> None:
    """Rows of every kind enter alike: over 40 sets of rows, the share kept of each fifth is the share of all."""
    kept = np.zeros(5)
    for seed in range(40):
        rows = np.random.default_rng(seed).normal(size=(1000, columns)).astype(dtype)
        rows[:, 0] = np.sort(rows[:, 0])
        sample = RowSample(200)
        for part in np.array_split(np.arange(1000), 7):
            sample.update(rows[part], part.astype(float)[:, None])
        assert sample.count == 200 and sample.seen == 1000
        np.testing.assert_array_equal(sample.rows, rows[sample.largest.astype(int)])
        kept += np.histogram(sample.largest, 5, (0, 1000))[0]
    assert np.abs(kept / 40 - 40).max() < 5 * np.sqrt(40 * 0.8 / 40), kept  # five standard deviations


def test_a_dim_that_leaves_nothing_is_refused() -> None:
    head = {"weight": WEIGHT, "bias": BIAS}
    with pytest.raises(OochubError, match="largest dim allowed is 23"):
        Vim(dim=24).fit(**TRAIN, **head)
    few = {name: one[:9] for name, one in TRAIN.items()}
    with pytest.raises(OochubError, match="largest dim allowed is 8"):
        Vim().fit(**few, **head)
    with pytest.raises(OochubError, match="dim must be a whole number"):
        Vim(dim=0)


def test_another_head_is_refused() -> None:
    detector = Vim().partial_fit(**TRAIN, weight=WEIGHT, bias=BIAS)
    detector.partial_fit(**TRAIN)
    with pytest.raises(OochubError, match="differ from those of an earlier batch"):
        detector.partial_fit(**TRAIN, weight=WEIGHT + 1, bias=BIAS)
    with pytest.raises(OochubError, match="head"):
        Vim().fit(**TRAIN, weight=WEIGHT[:, 1:], bias=BIAS)
