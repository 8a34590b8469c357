"""Losses by task against loops, and the selection of a suite against a ranking worked by hand."""

import numpy as np
import pandas as pd
import pytest

import oochub
from oochub.builders.criteria.co_occurrence import co_occurrence
from oochub.evaluation.scenes import Scenes, measure_task_losses
from oochub.studies.nooch.suite_selection import suite_selection


def _scenes(similarity=True, n=80, c=6):
    rng = np.random.default_rng(5)
    present = rng.random((n, c)) < 0.4
    area = np.where(present, rng.random((n, c)) * 0.4, 0)
    surplus = np.where(rng.random((c, c)) < 0.3, rng.random((c, c)), np.nan)
    np.fill_diagonal(surplus, np.nan)
    surplus[2] = np.nan  # a class without context
    logit = rng.normal(size=(n, c)).astype(np.float32)
    alike = rng.random((n, c)) if similarity else None
    names = list("abcdef")
    return Scenes(names=names, present=present, area=area, similarity=alike, logit=logit, surplus=surplus)


def test_losses_against_loops():
    scenes = _scenes()
    result = measure_task_losses(scenes).set_index(["task", "criterion", "side"])
    assert "c" not in result.index.get_level_values(0)
    for name in set(result.index.get_level_values(0)):
        k = scenes.names.index(name)
        contexts = [j for j in range(6) if scenes.surplus[k, j] > 0.05]
        challenge = co_occurrence(scenes.present[:, k], scenes.area[:, contexts])
        p = 1 / (1 + np.exp(-scenes.logit[:, k].astype(float)))
        nll = [-np.log(p[i] if scenes.present[i, k] else 1 - p[i]) for i in range(80)]
        for side, truth in (("positive", True), ("negative", False)):
            hard = [i for i in range(80) if challenge[i] == f"hard_{side}"]
            every = [i for i in range(80) if scenes.present[i, k] == truth]
            order = sorted(every, key=lambda i: scenes.similarity[i, k] * (1 if truth else -1))
            for criterion, rows in (("ce", hard), ("gist", order[: len(hard)])):
                row = result.loc[name, criterion, side]
                assert (row["n_all"], row["n_hard"]) == (len(every), len(rows))
                assert row["loss_all"] == pytest.approx(np.mean([nll[i] for i in every]))
                if rows:
                    assert row["loss_hard"] == pytest.approx(np.mean([nll[i] for i in rows]))
        both = [i for i in range(80) if challenge[i] != "easy"]
        assert result.loc[name, "ce", "all"]["n_all"] == 80
        assert result.loc[name, "ce", "all"]["loss_hard"] == pytest.approx(np.mean([nll[i] for i in both]))
    assert set(measure_task_losses(_scenes(similarity=False))["criterion"]) == {"ce"}


def _losses(rows):
    """Losses of tasks given as (task, gap, hard positives, hard negatives)."""
    return pd.DataFrame(
        [
            {
                "task": task,
                "criterion": "ce",
                "side": side,
                "n_all": 999,
                "n_hard": n,
                "loss_all": 0.2,
                "loss_hard": 0.2 + g,
            }
            for task, g, p, m in rows
            for side, n in (("positive", p), ("negative", m), ("all", p + m))
        ]
    )


def test_ranking_worked_by_hand():
    losses = _losses(
        [
            ("car", 0.5, 60, 60),
            ("sheep", 0.7, 60, 60),
            ("cow", 0.9, 60, 60),
            ("wine_glass", 0.8, 60, 60),
            ("cup", 0.6, 60, 60),
            ("bottle", 0.4, 60, 60),
            ("tie", 1.5, 49, 90),
            ("kite", 1.4, 90, 49),
            ("boat", 0.1, 50, 50),
        ]
    )
    result = suite_selection(losses, size=4).set_index("task")
    assert list(result.index[:3]) == ["tie", "kite", "cow"]
    assert result["removed_by"].to_dict() == {
        "tie": "fewer than 50 hard positives",
        "kite": "fewer than 50 hard negatives",
        "cow": "",
        "wine_glass": "",  # its gap is larger than cup's here, so cup goes
        "sheep": "similar to cow",
        "cup": "similar to wine_glass",
        "car": "",
        "bottle": "",  # similar to cup alone, and cup was not taken
        "boat": "beyond the first 4",
    }
    assert result["rank"].tolist() == list(range(1, 10))
    assert result.loc["boat", "gap"] == pytest.approx(0.1)
    assert suite_selection(losses, size=9, similar=[], minimum=0)["selected"].all()


def test_too_few_examples_are_the_first_reason():
    """Planted fault seen: similarity said of a task that has too few hard examples anyway."""
    result = suite_selection(_losses([("cow", 0.9, 60, 60), ("sheep", 0.7, 10, 60)])).set_index("task")
    assert result.loc["sheep", "removed_by"] == "fewer than 50 hard positives"


def test_seeds_are_averaged_and_must_agree():
    item = _losses([("car", 0.5, 60, 60), ("cow", 0.3, 60, 60)])
    other = _losses([("car", 0.1, 60, 60), ("cow", 0.9, 60, 60)])
    result = suite_selection([item, other])
    assert result["task"].tolist() == ["cow", "car"]
    assert result["gap"].tolist() == pytest.approx([0.6, 0.3])
    with pytest.raises(oochub.OochubError, match="different examples"):
        suite_selection([item, _losses([("car", 0.5, 61, 60), ("cow", 0.3, 60, 60)])])
    with pytest.raises(oochub.OochubError, match="size must be at least 1"):
        suite_selection(item, size=0)
    with pytest.raises(oochub.OochubError, match="'sheeep'"):
        suite_selection(item, similar=[("sheeep", "cow")])
