"""OpenMax against a loop over rows and classes, with Weibull distributions that scipy fits."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from scipy.stats import weibull_min

from oochub.errors import OochubError
from oochub.eval_modules.detectors.open_max import OpenMax
from oochub.eval_modules.detectors.open_max import _fit_weibull as fit_weibull

C = 6


def made(n: int, seed: int, size: float = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, C, n)
    logits = rng.gamma(2, size=(n, 1)) * rng.normal(size=(n, C)) + size * np.eye(C)[label]
    return logits.astype(np.float32), label


def by_row(logits: np.ndarray, label: np.ndarray, test: np.ndarray, tail: int, alpha: int) -> list[float]:
    """Bendale and Boult's two algorithms as loops; scipy's weibull_min, its fit polished."""
    logits, test = logits.astype(np.float64), test.astype(np.float64)
    means, models = [], []
    for c in range(C):
        rows = logits[(label == c) & (logits.argmax(axis=1) == c)]
        means.append(rows.mean(axis=0))
        far = np.sort(np.linalg.norm(rows - means[c], axis=1))[-tail:]
        models.append((far[0], *polished(far - far[0] + 10_000)))
    found = []
    for row in test:
        known, unknown = row.copy(), 0.0
        for rank, c in enumerate(sorted(range(C), key=lambda c: (-row[c], c))[:alpha]):
            start, shape, scale = models[c]
            moved = np.linalg.norm(row - means[c]) - start + 10_000
            weight = weibull_min.cdf(moved, shape, scale=scale) * (alpha - rank) / alpha
            known[c] -= row[c] * weight
            unknown += row[c] * weight
        found.append(-float(softmax(np.append(known, unknown))[-1]))
    return found


def polished(values: np.ndarray) -> tuple[float, float]:
    """Where scipy's likelihood is largest; its own fit, without a good start, stops early."""

    def loss(at: np.ndarray) -> float:
        return -weibull_min.logpdf(values, np.exp(at[0]), scale=10_000 + np.exp(at[1])).sum()

    start = np.log([1.3 * values.mean() / values.std(), max(values.mean() - 10_000, 1e-3)])
    best = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-11, "fatol": 1e-13, "maxiter": 4000}).x
    return float(np.exp(best[0])), float(10_000 + np.exp(best[1]))


@pytest.mark.parametrize(("tail", "alpha"), [(20, 3), (5, 6), (40, 1)])
def test_equals_the_loops(tail: int, alpha: int) -> None:
    """Planted faults: wrong rows in the means; the smallest distances; weights (alpha - i) / alpha from i = 1."""
    (logits, label), (test, _) = made(1500, 0), made(60, 1, size=2)
    found = OpenMax(tail=tail, alpha=alpha).fit(logits=logits, label=label).score(logits=test)
    np.testing.assert_allclose(found, by_row(logits, label, test, tail, alpha), rtol=1e-5, atol=1e-6)


def test_the_likelihood_is_at_its_maximum() -> None:
    """No nearby shape or scale is likelier, by scipy's density. Planted fault: a first guess of the shape."""
    for seed in range(20):
        tail = np.sort(np.random.default_rng(seed).gamma(3, 2, 200))[-20:]
        fitted = fit_weibull(tail)
        assert fitted is not None
        values, scale = tail - tail[0] + 10_000, 10_000 * np.exp(fitted.log_scale)

        def likelihood(shape: float, scale: float, values: np.ndarray = values) -> float:
            return weibull_min.logpdf(values, shape, scale=scale).sum()

        best = likelihood(fitted.shape, scale)
        for step in (0.99, 1.01):
            assert likelihood(fitted.shape * step, scale) < best
            assert likelihood(fitted.shape, 10_000 + (scale - 10_000) * step) < best
        np.testing.assert_allclose(
            fitted(tail), weibull_min.cdf(values, fitted.shape, scale=scale), rtol=1e-6
        )  # scipy's loses digits at 10,000


def test_a_row_does_not_depend_on_the_classes_of_its_batch() -> None:
    """pytorch-ood 0.4 measures distances to the classes that are an argmax in the batch only; scores differ by .5."""
    (logits, label), (test, _) = made(1500, 0), made(40, 1, size=2)
    detector = OpenMax(alpha=6).fit(logits=logits, label=label)
    together = detector.score(logits=test)
    alone = [detector.score(logits=test[i : i + 1])[0] for i in range(40)]
    np.testing.assert_allclose(alone, together, rtol=1e-13)


def test_huge_logits_do_not_saturate() -> None:
    """An exp leaves float64 at 709. Planted fault: logits cut there."""
    (logits, label), (test, _) = made(1500, 0), made(40, 1)
    logits, test = 300 * logits, 300 * np.abs(test)
    score = OpenMax(alpha=6).fit(logits=logits, label=label).score(logits=test)
    assert logits.max() > 5000 and (score >= -1).all() and (score <= 0).all()
    np.testing.assert_allclose(score, by_row(logits, label, test, 20, 6), atol=1e-4)


def test_what_the_data_do_not_allow_is_refused() -> None:
    logits, label = made(300, 0)
    right = (logits.argmax(axis=1) == label) & (label == 2)
    kept = ~right | (np.cumsum(right) <= 7)
    with pytest.raises(OochubError, match=r"class 2 has 7 correctly .* largest tail allowed is 7"):
        OpenMax(alpha=3).fit(logits=logits[kept], label=label[kept])
    with pytest.raises(OochubError, match="no tail can be fitted"):
        OpenMax(alpha=3).fit(logits=logits[~right], label=label[~right])
    with pytest.raises(OochubError, match="largest allowed is 6"):
        OpenMax(alpha=7).fit(logits=logits, label=label)
    same = np.tile(6 * np.eye(C), (30, 1))
    with pytest.raises(OochubError, match="all equal"):
        OpenMax(alpha=2).fit(logits=same, label=np.tile(np.arange(C), 30))
    with pytest.raises(OochubError, match=r"0\.\.5"):
        OpenMax(alpha=2).fit(logits=logits, label=label + 1)
