"""A model that answers in words, trained on dogs whose background gives the breed away: the audit finds it.

A twin that was trained where the background says nothing shows none of it. What else works on classifiers works on it.
"""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from PIL import Image, ImageDraw
from trained_chat_model import trained

import oochub
from oochub.builders.toy_worlds.toy_pictures import toy_pictures

PROMPT = "What breed is this dog?"
COLUMNS = {"label": "breed", "context": "background"}
USUAL = {"bulldog": ["beach", "desert"], "dachshund": ["jungle", "snow"]}
pytestmark = pytest.mark.slow


class World(NamedTuple):
    pictures: str
    model: str


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, shared_cache: Path) -> None:
    """The tests of this file ask two models about the same rows: each is answered once."""
    monkeypatch.setenv("OOCHUB_CACHE", str(shared_cache))


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """The planted world and its control, each with the model that was trained in it."""
    made = {}
    for name, correlation in (("planted", 0.95), ("control", None)):
        folder = tmp_path_factory.mktemp(name)
        pictures = str(toy_pictures(folder / "pictures", correlation=correlation))
        rows = oochub.load(pictures, **COLUMNS)["train"]
        made[name] = World(pictures, str(trained(folder / "model", rows, PROMPT, epochs=15)))
    return made


def audit(world: World, **options: Any) -> oochub.Report:
    return oochub.audit(world.model, world.pictures, splits=["test"], prompt=PROMPT, **COLUMNS, **options)


def test_the_planted_reliance_is_found_and_none_in_the_control(worlds: Any) -> None:
    """Seen: -0.53 [-0.60, -0.46] against 0.02 [-0.03, 0.08], 400 rows each.

    The control's backgrounds are usual for no breed: its sides are those of the planted world, as given.
    """
    planted, control = audit(worlds["planted"]), audit(worlds["control"], usual=USUAL)
    assert planted["in_context/accuracy"].value > 0.85
    assert planted["gap"].high < -0.2
    assert control["in_context/accuracy"].value > 0.75 and control["out_of_context/accuracy"].value > 0.75
    assert control["gap"].low > -0.2 and control["gap"].high > -0.05
    assert planted["gap"].n == control["gap"].n == 400
    assert "this model relies on context" in planted.to_markdown().splitlines()[0]


def test_what_it_writes_is_the_likeliest_class(worlds: Any) -> None:
    """A trained model writes a class and an end; then both modes answer alike, but where two classes are close."""
    world = worlds["planted"]
    rows = oochub.load(world.pictures, **COLUMNS)["test"]
    scored = oochub.predict(world.model, rows, prompt=PROMPT)
    wrote = oochub.predict(world.model, rows, mode="generate", prompt=PROMPT)
    assert (wrote.prediction >= 0).mean() > 0.97
    assert (wrote.prediction == scored.prediction).mean() > 0.97
    assert set(wrote.rows.column("answer").to_pylist()) >= {"bulldog", "dachshund"}
    report = oochub.evaluate(wrote, match="label", resamples=200)
    assert report["gap"].high < -0.2 and report["gap"].n == 400


def test_probe_contexts_and_comparison(worlds: Any, tmp_path: Path) -> None:
    world = worlds["planted"]
    found = audit(world, contexts="properties", limit=100)
    assert found.contexts is not None
    masks = tmp_path / "masks"
    for example in oochub.load(world.pictures, **COLUMNS)["test"]["example_id"]:
        mask = Image.new("L", (48, 48))
        ImageDraw.Draw(mask).ellipse((8, 8, 40, 40), fill=255)
        file = masks / f"{example}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        mask.save(file)
    probed = audit(world, probe="background", probe_settings={"masks": str(masks), "rows": 40, "backgrounds": 2})
    assert probed.background is not None
    rows = oochub.load(world.pictures, **COLUMNS)["test"].select(range(100))
    both = [oochub.predict(worlds[name].model, rows, prompt=PROMPT) for name in ("planted", "control")]
    compared = oochub.compare(*both, resamples=200)
    assert "accuracy" in str(compared.to_markdown())
