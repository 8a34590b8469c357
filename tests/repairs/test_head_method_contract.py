"""Contract tests over every way to fit a new last layer: its settings, its form, and what it gives on rows by hand."""

import inspect

import numpy as np
import pytest

from oochub import catalog
from oochub.prediction.predictions_file import StoredHead
from oochub.repairs.head_method import HeadMethod, HeadRows

NAMES = catalog.names("repair")


def two_features(*, unusual: int = 20, usual: int = 200, seed: int = 0) -> HeadRows:
    """Two classes told by feature 0, a context told by the larger feature 1 that goes with the class in most rows.

    Worked by hand: class y and context a are -1 or 1, the features y + noise and 3 a + noise, and a = y in `usual` rows
    of each class. The best head for all four groups alike looks at feature 0 alone; ERM looks at feature 1.
    """
    rng = np.random.default_rng(seed)
    label, context = [], []
    for y in (0, 1):
        label += [y] * (usual + unusual)
        context += [y] * usual + [1 - y] * unusual
    y, a = np.array(label), np.array(context)
    noise = rng.normal(scale=0.3, size=(len(y), 2))
    features = np.stack([2 * y - 1, 3 * (2 * a - 1)], axis=1) + noise
    own = StoredHead(weight=np.array([[0.0, -1.0], [0.0, 1.0]]), bias=np.zeros(2))  # looks at the context alone
    return HeadRows(features.astype(np.float32), y.astype(np.int64), (2 * y + (a != y)).astype(np.int64), 2, own)


def worst_group(head: StoredHead, rows: HeadRows) -> float:
    right = (rows.features @ head.weight.T + head.bias).argmax(axis=1) == rows.label
    return min(float(right[rows.group == group].mean()) for group in np.unique(rows.group))


@pytest.mark.parametrize("name", NAMES)
def test_a_method_keeps_its_contract(name: str) -> None:
    """One class, settings that it takes, keyword-only hyperparameters, a head of the right shape, twice the same."""
    method = catalog.get("repair", name)
    assert issubclass(method, HeadMethod) and method.title and method.settings and "20" in method.citation
    parameters = inspect.signature(method).parameters.values()
    assert all(each.kind is each.KEYWORD_ONLY and each.default is not each.empty for each in parameters)
    rows = two_features()
    for settings in method.settings:
        made = method(**settings)
        heads = [made.fit(rows, seed=0) for _ in range(2)]
        assert heads[0].weight.shape == (2, 2) and heads[0].bias.shape == (2,)
        assert np.isfinite(heads[0].weight).all() and np.array_equal(heads[0].weight, heads[1].weight)


@pytest.mark.parametrize("name", [name for name in NAMES if catalog.get("repair", name).uses_groups])
def test_the_best_setting_finds_the_core_feature(name: str) -> None:
    """The model's own head has no row of the unusual groups right; the best of the settings has nearly all."""
    rows, fresh, method = two_features(), two_features(seed=1), catalog.get("repair", name)
    assert rows.head is not None and worst_group(rows.head, fresh) == 0
    assert max(worst_group(method(**settings).fit(rows, seed=0), fresh) for settings in method.settings) > 0.97


@pytest.mark.parametrize("name", NAMES)
def test_a_class_without_rows_never_wins(name: str) -> None:
    """Three classes, of which the last has no row to fit on."""
    rows = two_features(unusual=10, usual=50)
    own = StoredHead(weight=np.array([[0.0, -1.0], [0.0, 1.0], [0.0, 0.0]]), bias=np.array([0.0, 0.0, -9.0]))
    three = rows._replace(classes=3, head=own)
    for settings in catalog.get("repair", name).settings:
        head = catalog.get("repair", name)(**settings).fit(three, seed=0)
        assert head.weight.shape == (3, 2)
        assert ((rows.features @ head.weight.T + head.bias).argmax(axis=1) < 2).all(), settings


def test_every_method_is_covered() -> None:
    assert {"adjust_logits", "retrain_balanced", "retrain_weighted", "retrain_worst_group"} <= set(NAMES)
