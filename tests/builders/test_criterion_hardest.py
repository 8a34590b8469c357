"""The rule of the hardest rows: a loop, an ensemble's predictions joined with rows by hand, and both typed."""

import json
import math
import sys

import numpy as np
import pytest
from datasets import load_dataset

import oochub
from oochub.builders.criteria.hardest import hardest
from oochub.cli import main


def test_against_a_loop():
    rng = np.random.default_rng(0)
    probability, label = rng.uniform(0.05, 1, (300, 3)), rng.integers(2, size=300)
    probability[0] = (0.15, 1, 1)
    expected = ["easy" if all(p > 0.15 for p in row) else "hard" for row in probability.tolist()]
    assert hardest(-np.log(probability)).tolist() == expected and expected[0] == "hard"
    signed = [each if each == "easy" else f"hard_{'np'[y]}" for each, y in zip(expected, label, strict=True)]
    assert [name[:6] for name in hardest(-np.log(probability), label=label).tolist()] == signed
    assert hardest([0.5, 2.0], at=2).tolist() == ["easy", "hard"]


@pytest.mark.parametrize(
    ("losses", "words"), [([[0.1, np.nan]], "missing or nan"), (np.zeros((2, 0)), "no column"), ([["a"]], "value per")]
)
def test_bad_input_is_said(losses, words):
    with pytest.raises(oochub.OochubError, match=words):
        hardest(losses)


@pytest.fixture
def rows(tmp_path):
    """Three rows, and two models that are told of them in another order; odds of the true class against the other."""
    (tmp_path / "birds.csv").write_text("example_id,label\na,1\nb,0\nc,1\n")
    for name, odds in (("p1", {"c": 9, "a": 9, "b": 1}), ("p2", {"b": 1, "c": 0.1, "a": 9})):
        label = [int(each != "b") for each in odds]
        logits = [[0, math.log(o)] if y else [math.log(o), 0] for y, o in zip(label, odds.values(), strict=True)]
        made = oochub.Predictions.from_arrays(logits=logits, label=label, example_id=[*odds], split="train", model=name)
        made.save(tmp_path / f"{name}.parquet")
    return tmp_path


def _run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["oochub", "challenge", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code or 0, capsys.readouterr()


@pytest.mark.parametrize("form", [("--of", "p1.parquet", "p2.parquet"), ("--of", "p1.parquet", "--of", "p2.parquet")])
def test_of_an_ensemble_by_hand(rows, form, monkeypatch, capsys):
    monkeypatch.chdir(rows)
    code, output = _run(monkeypatch, capsys, "birds.csv", "--criterion", "hardest", *form, "--out", "set", "--json")
    assert code == 0, output.err
    assert json.loads(output.out)["counts"]["train"] == {"easy": 2, "hard_positive": 0, "hard_negative": 0, "hard": 1}
    made = load_dataset(str(rows / "set"))["train"]
    expected = [[-math.log(o / (1 + o)) for o in row] for row in ((9, 9), (1, 1), (9, 0.1))]
    assert np.allclose(made["losses"][:], expected, atol=1e-6)
    assert np.allclose(made["challenge_value"], np.max(expected, axis=1), atol=1e-6)
    assert made.features["challenge"].int2str(made["challenge"][:]) == ["easy", "easy", "hard"]


def test_what_does_not_go_together_is_said(rows, monkeypatch, capsys):
    monkeypatch.chdir(rows)
    (rows / "more.csv").write_text("example_id,label\na,1\nd,0\n")
    for words, said in (
        (("birds.csv", "--criterion", "threshold", "--of", "p1.parquet"), "--of needs --criterion hardest"),
        (("birds.csv", "p1.parquet", "--criterion", "hardest"), "Unexpected argument: p1.parquet"),
        (("birds.csv", "--criterion", "hardest"), "hardest needs the predictions of an ensemble"),
        (("more.csv", "--criterion", "hardest", "--of", "p1.parquet"), "by p1 lack 1 of the 2 rows of train, first d"),
    ):
        code, output = _run(monkeypatch, capsys, *words, "--out", "set")
        assert code == 2 and said in " ".join(output.err.split()), output.err
