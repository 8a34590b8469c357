"""AUC-Hard against scikit-learn on rows chosen by a loop."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from oochub.errors import OochubError
from oochub.eval_modules.metrics.auc_hard.auc_hard import auc_hard
from oochub.stats.delong import delong
from oochub.stats.estimation import estimate


def columns(n: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    names = [["hard_negative", "hard_positive"][true] if rng.random() < 0.4 else "easy" for true in label]
    return {"label": label, "score": rng.normal(label), "challenge": np.array(names)}


def test_equals_scikit_learn_on_the_hard_rows() -> None:
    """Planted fault: `challenge != "hard_positive"` as the choice of rows."""
    for seed in range(5):
        arrays = columns(200, seed)
        hard_rows = [i for i, name in enumerate(arrays["challenge"]) if name.startswith("hard")]
        expected = roc_auc_score(arrays["label"][hard_rows], arrays["score"][hard_rows])
        assert auc_hard(**arrays) == pytest.approx(expected, abs=1e-14)
        as_lists = {name: column.tolist() for name, column in arrays.items()}
        as_objects = arrays | {"challenge": arrays["challenge"].astype(object)}
        assert auc_hard(**as_lists) == auc_hard(**as_objects) == auc_hard(**arrays)


def test_hard_without_a_sign_counts() -> None:
    assert auc_hard(label=[0, 1, 1], score=[1, 2, 0], challenge=["hard", "hard", "easy"]) == 1.0


def test_undefined_is_nan_with_a_reason() -> None:
    easy = {"label": [0, 1], "score": [1, 2], "challenge": ["easy", "easy"]}
    assert np.isnan(auc_hard(**easy))
    assert estimate(auc_hard, easy).reason == "no row is hard"
    of_one_class = {"label": [0, 1, 1], "score": [1, 2, 3], "challenge": ["easy", "hard", "hard"]}
    assert np.isnan(auc_hard(**of_one_class))
    assert estimate(auc_hard, of_one_class).reason == "all 2 rows are of class 1"


def test_interval_is_of_the_hard_rows_and_their_clusters() -> None:
    arrays, cluster = columns(300, 0), np.arange(300) % 40
    hard = arrays["challenge"] != "easy"
    expected = delong(arrays["label"][hard], arrays["score"][hard], cluster=cluster[hard])
    assert estimate(auc_hard, arrays, cluster=cluster).to_dict() == expected.to_dict()
    assert expected.n == hard.sum()


@pytest.mark.parametrize(
    ("challenge", "message"),
    [
        (np.array([1, 2]), "challenge must hold names .* such as 1. .*int2str"),
        (["easy", "hardest"], "challenge must be one of easy, .* got 'hardest' at row 1"),
        (["easy", None], "got None at row 1"),
        (["easy", "hard_negative"], "'hard_negative' but label is 1 at row 1"),
        (["easy"], "same number of rows"),
    ],
)
def test_messages(challenge: object, message: str) -> None:
    with pytest.raises(OochubError, match=message):
        auc_hard(label=[0, 1], score=[0.1, 0.2], challenge=challenge)
