"""AUC-Hard against scikit-learn on rows chosen by a loop."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from oochub.errors import OochubError
from oochub.eval_modules.metrics.auc_hard.auc_hard import auc_hard
from oochub.stats.estimation import delong, estimate


def columns(n: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    names = [["hard_negative", "hard_positive"][one] if rng.random() < 0.4 else "easy" for one in label]
    return {"label": label, "score": rng.normal(label), "challenge": np.array(names)}


def test_equals_scikit_learn_on_the_hard_rows() -> None:
    """Planted fault: `challenge != "hard_positive"` as the choice of rows."""
    for seed in range(5):
        given = columns(200, seed)
        kept = [i for i, name in enumerate(given["challenge"]) if name.startswith("hard")]
        expected = roc_auc_score(given["label"][kept], given["score"][kept])
        assert auc_hard(**given) == pytest.approx(expected, abs=1e-14)
        as_lists = {name: column.tolist() for name, column in given.items()}
        as_objects = given | {"challenge": given["challenge"].astype(object)}
        assert auc_hard(**as_lists) == auc_hard(**as_objects) == auc_hard(**given)


def test_hard_without_a_sign_counts() -> None:
    assert auc_hard(label=[0, 1, 1], score=[1, 2, 0], challenge=["hard", "hard", "easy"]) == 1.0


def test_undefined_is_nan_with_a_reason() -> None:
    easy = {"label": [0, 1], "score": [1, 2], "challenge": ["easy", "easy"]}
    assert np.isnan(auc_hard(**easy))
    assert estimate(auc_hard, easy).reason == "no row is hard"
    one = {"label": [0, 1, 1], "score": [1, 2, 3], "challenge": ["easy", "hard", "hard"]}
    assert np.isnan(auc_hard(**one))
    assert estimate(auc_hard, one).reason == "all 2 rows are of class 1"


def test_interval_is_of_the_hard_rows_and_their_clusters() -> None:
    given, cluster = columns(300, 0), np.arange(300) % 40
    hard = given["challenge"] != "easy"
    expected = delong(given["label"][hard], given["score"][hard], cluster=cluster[hard])
    assert estimate(auc_hard, given, cluster=cluster).to_dict() == expected.to_dict()
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
