"""The digest of truth and answers, by hashlib and json over the whole columns, and the summary, a block at a time."""

import hashlib
import json

import numpy as np
import pytest
from scipy.special import log_softmax

from oochub.prediction.check_predictions import digest_rows, read_answer_facts
from oochub.prediction.predictions import Predictions

_ODD = ["plain", "", 'quo"te', "back\\slash", "ü", "a\tb", "\x7f", '", "', "\u2028", "😀", "1", "a/b", " "]


@pytest.mark.parametrize("odd", _ODD)
def test_each_odd_sign_alone_is_that_of_json(odd):
    """Planted and seen: a text with a quote joined to the others as it is."""
    ids = ["a", f"{odd}b", "c"]
    made = Predictions.from_arrays(example_id=ids, label=[0.5, 1.0, 2.0], value=[1.0, 2.0, 3.0])
    content = json.dumps([ids, ["test"] * 3, [0.5, 1.0, 2.0]]).encode() + np.array([1.0, 2.0, 3.0]).tobytes()
    assert made.digest == hashlib.sha256(content).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 13, 8192, 20_000])
@pytest.mark.parametrize("kind", ["int64", "int8", "odd", "number", "labels"])
def test_the_digest_is_that_of_json_and_bytes(n, kind):
    """The same as earlier versions wrote, whatever the texts and the pieces that they come in."""
    rng = np.random.default_rng(0)
    names = [f"{_ODD[k % len(_ODD)] if kind == 'odd' else 'id'}{k}" for k in range(n)]
    split = [("test", "a \\ b")[k % 2 if kind == "odd" else 0] for k in range(n)]
    if kind == "number":
        label, answers = rng.normal(size=n), rng.normal(size=n)
        label[0], given = np.nan, {"value": answers}
    elif kind == "labels":
        answers = rng.normal(size=(n, 3)).astype(np.float32)
        label, given = [[0, 2][: 2 - k % 3] for k in range(n)], {"logits": answers}
    else:
        label = rng.integers(-1, 3, n).astype("int64" if kind == "odd" else kind)
        answers = rng.normal(size=(n, 3)).astype(np.float32)
        given = {"logits": answers}
    truth = {"labels" if kind == "labels" else "label": label}
    made = Predictions.from_arrays(example_id=names, split=split, **truth, **given)
    listed = [list(row) if kind == "labels" else row.item() for row in label]
    content = json.dumps([names, split, listed]).encode() + answers.tobytes()
    expected = hashlib.sha256(content).hexdigest()
    assert digest_rows(made.rows, made.metadata) == read_answer_facts(made.rows, made.metadata).digest == expected


@pytest.mark.slow
def test_one_pass_gives_the_summary_of_every_row(tmp_path):
    """Of rows in several blocks, in memory and in a file. Planted and seen: the labels of the first block for all."""
    rng = np.random.default_rng(0)
    n, classes = 9000, 500  # two blocks and more, of 8 MB
    logits, label = rng.normal(size=(n, classes)).astype(np.float32), rng.integers(-1, classes, n)
    made = Predictions.from_arrays(logits=logits, label=label)
    loaded = Predictions.load(made.save(tmp_path / "p.parquet"))
    assert len(list(loaded.blocks("logits"))) > 1
    logs = log_softmax(logits.astype(np.float64), axis=1)
    loss = np.where(label < 0, np.nan, -logs[np.arange(n), label])
    for summary in (made.summary, loaded.summary, read_answer_facts(loaded.rows, loaded.metadata).summary):
        assert summary.prediction.dtype == np.int32
        np.testing.assert_array_equal(summary.prediction, logits.argmax(axis=1))
        np.testing.assert_allclose(summary.confidence, np.exp(logs.max(axis=1)), rtol=1e-9)
        np.testing.assert_allclose(summary.loss, loss, rtol=1e-9)
