"""What is looked at: the choice of mistakes, masks, shares, the figure; and a planted background that is seen."""

import io
import json
import re

import datasets
import matplotlib as mpl
import numpy as np
import pytest
import torch
from model_folders import resnet
from PIL import Image
from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessorPil

import oochub
from oochub.attention.attention import _choose_mistakes as chosen_mistakes
from oochub.attention.attention import attention
from oochub.attention.attention_map import AttentionMap, measure_object_shares
from oochub.attention.object_masks import ObjectMasks
from oochub.attention.smooth_grad_cam import SmoothGradCam
from oochub.builders.sources.coco_categories import THINGS
from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious
from oochub.errors import OochubError
from oochub.figures.saliency import saliency
from oochub.prediction.predictions import Predictions

_CONFIG = "spawrious/o2o_hard"
_NAMES = ["bulldog", "corgi", "dachshund", "labrador"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A toy Spawrious with masks, its splits, and two untrained models of its classes."""
    folder = tmp_path_factory.mktemp("attention")
    toy_spawrious(folder / "raw", size=10, masks=folder / "masks")
    for seed, name in enumerate(("one", "two")):
        config = ResNetConfig(
            embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", id2label=dict(enumerate(_NAMES))
        )
        torch.manual_seed(seed)
        ResNetForImageClassification(config).save_pretrained(folder / name)
        ViTImageProcessorPil(size={"height": 48, "width": 48}).save_pretrained(folder / name)
    return folder, oochub.load(_CONFIG, data_dir=str(folder / "raw"))


def _rows(label, answer, **columns):
    logits = np.eye(4)[answer] * np.linspace(1, 2, len(answer))[:, None]
    return Predictions.from_arrays(logits=logits.tolist(), label=label, class_names=_NAMES, **columns)


def test_the_most_frequent_pair_is_chosen_and_the_surest_comes_first():
    """Counted by hand. Planted faults, each seen: rows that are right, the least sure first, the pair of the answer."""
    first = _rows([0, 0, 0, 1, 1, 2], [2, 2, 1, 0, 1, 2])
    found = chosen_mistakes([first])
    assert (found.label, found.answer, found.rows.tolist()) == ("bulldog", "dachshund", [1, 0])
    assert chosen_mistakes([first], label="corgi").rows.tolist() == [3]
    assert chosen_mistakes([first], answer="corgi").rows.tolist() == [2]
    label, answers, others = [0, 0, 0, 1, 1, 0, 0], [2, 2, 1, 0, 1, 0, 0], [2, 2, 0, 3, 1, 0, 0]
    found = chosen_mistakes([_rows(label, answers), _rows(label, others)])
    assert (found.label, found.answer, found.rows.tolist()) == ("bulldog", "corgi", [2])


def test_rows_out_of_context_are_looked_at():
    """Own data with challenges: the hard rows. Planted fault: all rows of the split."""
    challenge = ["easy", "hard_positive", "easy", "hard_negative"]
    found = chosen_mistakes([_rows([0, 0, 0, 1], [1, 1, 1, 0], challenge=challenge)])
    assert found.looked_at.tolist() == [False, True, False, True]
    assert (found.label, found.rows.tolist()) == ("bulldog", [1]) and found.words.startswith("hard")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label": "poodle"}, "No class named 'poodle'"),
        ({"label": "corgi", "answer": "corgi"}, "corgi taken for corgi is not a mistake"),
        ({"label": "labrador"}, "makes no mistake of labrador taken for another among all of test. Name other classes"),
    ],
)
def test_what_cannot_be_chosen_is_said(options, words):
    """Before a map is made."""
    with pytest.raises(OochubError, match=words):
        chosen_mistakes([_rows([0, 1], [1, 1])], **options)


def _map(share_on: float, area: float, *, right: bool = False, model: str = "erm") -> AttentionMap:
    """A map of 10 x 10 whose object is its first rows, with this share of the sum on them."""
    mask = np.zeros((10, 10), bool)
    mask[: round(10 * area)] = True
    values = np.zeros((10, 10), np.float32)
    if share_on >= 0:
        values[mask] = share_on / max(mask.sum(), 1)
        values[~mask] = (1 - share_on) / (~mask).sum()
    return AttentionMap(
        example_id="1", label="corgi", context=None, model=model, answer="corgi" if right else "bulldog",
        probability=0.5, shown=True, picture=np.zeros((10, 10, 3), np.uint8), map=values, mask=mask,
    )  # fmt: skip


def test_the_share_on_the_object_is_a_mean_of_pictures():
    """Worked by hand. Planted faults: maps that are all 0 as a share of 0, the ratio of sums, an empty mask as 0."""
    maps = [_map(0.6, 0.2), _map(0.2, 0.4), _map(-1, 0.4), _map(0.0, 0.0), _map(0.9, 0.3, right=True)]
    every, wrong, right = measure_object_shares(maps)
    assert (every.rows, wrong.rows, right.rows) == ("all", "wrong", "right")
    assert wrong.share == pytest.approx(0.4) and wrong.area == pytest.approx(0.3) and wrong.share.n == 2
    assert wrong.over_area == pytest.approx(0.1) and (wrong.n_zero, wrong.n_empty) == (1, 1)
    assert every.share == pytest.approx((0.6 + 0.2 + 0.9) / 3) and right.share == pytest.approx(0.9)
    assert wrong.share.low < 0.4 < wrong.share.high
    assert right.share.n == 1 and np.isnan(right.share.low) and "one image" in right.share.reason
    nothing = measure_object_shares([_map(-1, 0.4)])[0]
    assert np.isnan(nothing.share) and nothing.share.n == 0 and "no such image" in nothing.share.reason


@pytest.mark.slow
def test_the_masks_of_the_toy_are_where_the_dog_is(world):
    """The same world without dogs differs there and nowhere else."""
    folder, _ = world
    empty = toy_spawrious(folder / "empty", size=1, dogs=False)
    for file in sorted(empty.rglob("*.png"))[::5]:
        path = file.relative_to(empty)
        dog = np.asarray(Image.open(folder / "raw" / path))
        different = (dog != np.asarray(Image.open(file))).any(-1)
        repeat, place, breed = path.parts[1:4]
        assert (ObjectMasks(folder / "masks").mask(f"{repeat}/{place}/{breed}/1", (48, 48)) == different).all()
        assert 0.03 < different.mean() < 0.5
    toy_spawrious(folder / "empty", size=1, dogs=False, masks=folder / "nothing")
    assert not ObjectMasks(folder / "nothing").mask("0/snow/corgi/1", (48, 48)).any()


@pytest.mark.slow
def test_two_models_stand_side_by_side(world):
    """Planted faults, each seen: the maps of the first model twice, images and masks of other rows."""
    folder, data = world
    options = {"pictures": 2, "samples": 1, "cache": False, "most": 5}
    found = attention(str(folder / "one"), data, beside=str(folder / "two"), masks=folder / "masks", **options)
    assert found.models == ("one", "two") and found.split == "test" and 1 <= found.n
    table = found.table()
    assert set(table["model"]) == {"one", "two"} and table["shown"].sum() == 2 * min(2, found.n)
    shown = table[table["shown"]]
    assert set(shown["label"]) == {found.label} and set(shown[shown["model"] == "one"]["answer"]) == {found.answer}
    assert (shown[shown["model"] == "two"]["answer"] == shown[shown["model"] == "two"]["label"]).all()
    stored = {row["example_id"]: row for row in data["test"]}
    for each in found.maps:
        row = stored[each.example_id]
        assert np.abs(each.picture.astype(int) - np.asarray(row["image"].convert("RGB")).astype(int)).max() <= 1
        assert (each.mask == ObjectMasks(folder / "masks").mask(each.example_id, (48, 48))).all()
        assert each.label == data["test"].features["label"].int2str(row["label"])
        assert each.context == data["test"].features["background"].int2str(row["background"])
    for name in ("one", "two"):
        network = ResNetForImageClassification.from_pretrained(folder / name)
        own = [each for each in found.maps if each.model == name]
        pixels = torch.tensor(np.array([each.picture for each in own])).movedim(-1, 1) / 127.5 - 1
        answers = torch.tensor([_NAMES.index(each.answer) for each in own])
        maps = SmoothGradCam(network, {"pixel_values": pixels}, samples=1)({"pixel_values": pixels}, answers)
        assert np.abs(maps.numpy() - np.array([each.map for each in own])).max() < 1e-3
    ax = saliency(found)
    labels = [picture.get_label() for picture in ax.child_axes]
    ids = [each.example_id for each in found.maps if each.shown and each.model == "one"]
    assert labels == [f"{row}/{name}" for row in ("picture", "one", "two") for name in ids]
    mpl.pyplot.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
def test_pictures_that_cannot_be_read_are_left_out_and_counted(world, named):
    """Reference: the same rows without them; a row without a name keeps its number. Without the option an error."""
    folder, data = world
    whole = data["test"] if named else data["test"].remove_columns("example_id")
    options = {"beside": str(folder / "two"), "pictures": 3, "samples": 1, "cache": False}
    usual = attention(str(folder / "one"), {"test": whole}, **options)
    names = list(map(str, whole["example_id"][:] if named else range(len(whole))))
    at = names.index(usual.maps[0].example_id)
    stored = whole.cast_column("image", datasets.Image(decode=False))
    images = [dict(image) for image in stored["image"]]
    images[at] = {"bytes": b"no picture", "path": None}
    features = stored.features
    broken = stored.remove_columns("image").add_column("image", images, feature=features["image"]).cast(features)
    broken = broken.cast_column("image", datasets.Image())
    with pytest.raises(OochubError, match=re.escape(names[at])):
        attention(str(folder / "one"), {"test": broken}, **options)
    found = attention(str(folder / "one"), {"test": broken}, skip_broken=True, **options)
    assert f"1 image of test could not be read and is skipped: {names[at]}" in set(found.notes) - set(usual.notes)
    left = whole.select([row for row in range(len(whole)) if row != at])
    alone = attention(str(folder / "one"), {"test": left}, label=found.label, answer=found.answer, **options)
    own = [each.probability for each in found.maps]
    assert own == [each.probability for each in alone.maps] and found.n == alone.n
    for one, other in zip(found.maps, alone.maps, strict=True):
        assert (one.picture == other.picture).all() and np.abs(one.map - other.map).max() < 1e-5


def test_the_figure_draws_on_given_axes():
    """And leaves the style alone."""
    from oochub.attention.attention import Attention

    made = {"samples": 1, "noise": 0.3, "variant": "torchcam", "seed": 0}
    given = {"split": "test", "rows": "all of test", "label": "corgi", "answer": "bulldog", "n": 1, "settings": made}
    before = dict(mpl.rcParams)
    _, (left, right) = mpl.pyplot.subplots(1, 2, figsize=(14, 8))
    found = Attention(models=("erm",), maps=(_map(0.6, 0.2),), **given)
    assert saliency(found, ax=right) is right and right.child_axes and not left.child_axes
    title = right.child_axes[1].get_title(loc="left")
    assert " ".join(title.split()) == "bulldog (wrong) 50% 60% on the object (20%)"
    said = " ".join(" ".join(text.get_text() for text in right.texts).split())
    assert "as torchcam computes it, 1 noisy copy" in said
    assert dict(mpl.rcParams) == before
    mpl.pyplot.close("all")


@pytest.mark.slow
def test_wrong_masks_are_said(world, tmp_path):
    """A folder that is none, a mask that is missing, one of another size, one that is no image."""
    folder, data = world
    options = {"pictures": 1, "samples": 1, "cache": False, "most": 1}
    with pytest.raises(OochubError, match="Mask folder not found"):
        attention(str(folder / "one"), data, masks=tmp_path / "none", **options)
    with pytest.raises(OochubError, match=r"images have no mask in .*, first \S+.png"):
        attention(str(folder / "one"), data, masks=tmp_path, **options)
    file = io.BytesIO()
    Image.new("L", (5, 4)).save(file, "PNG")
    wrong = {
        file.getvalue(): "is 5 x 4 pixels, its image 48 x 48",
        b"text": "no image",
        file.getvalue()[:42]: "Replace the file",
    }
    for content, words in wrong.items():
        for row in data["test"].select_columns(["example_id"]):
            path = tmp_path / f"{row['example_id']}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        with pytest.raises(OochubError, match=words):
            attention(str(folder / "one"), data, masks=tmp_path, **options)
    with pytest.raises(OochubError, match="leads out of"):
        ObjectMasks(tmp_path).mask("../../secret", (48, 48))


def test_masks_of_coco_are_those_of_all_annotations(tmp_path):
    """Two squares by hand, and an image without one."""
    (tmp_path / "annotations").mkdir()
    squares = [[2, 2, 6, 2, 6, 6, 2, 6], [5, 5, 8, 5, 8, 9, 5, 9]]
    cars = [{"image_id": 7, "category_id": 3, "segmentation": [each], "id": k} for k, each in enumerate(squares)]
    cow = {"image_id": 7, "category_id": 21, "segmentation": [[0, 0, 9, 0, 9, 9]], "id": 9}
    images = [{"id": number, "height": 10, "width": 12} for number in (7, 8)]
    content = json.dumps({"images": images, "annotations": [*cars, cow], "categories": THINGS})
    for year in ("train2017", "val2017"):
        (tmp_path / "annotations" / f"instances_{year}.json").write_text(content)
    expected = np.zeros((10, 12), bool)
    expected[2:6, 2:6] = expected[5:9, 5:8] = True
    masks = ObjectMasks(tmp_path, "car")
    masks.check(["7", "8"])
    assert (masks.mask("7", (12, 10)) == expected).all()
    assert masks.mask("8", (12, 10)).shape == (10, 12) and not masks.mask("8", (12, 10)).any()
    with pytest.raises(OochubError, match="are not a task of nooch, so it is not known which object"):
        ObjectMasks(tmp_path).check(["7"])
    with pytest.raises(OochubError, match="ids, which are numbers, but one id is '0/snow/corgi/1'"):
        masks.check(["0/snow/corgi/1"])


def test_what_is_no_classifier_is_refused(tmp_path):
    """Words about images; a split that is not there."""
    model = resnet(tmp_path / "model")
    from model_folders import pictures

    with pytest.raises(OochubError, match="No split named 'tset'"):
        attention(str(model), {"test": pictures()}, split="tset")
    with pytest.raises(OochubError, match="At least one image"):
        attention(str(model), {"test": pictures()}, pictures=0)


@pytest.mark.campaign
def test_the_background_that_was_planted_is_seen_and_none_on_the_control(tmp_path):
    """Two networks of one form: where breed and background go together in training, less attention is on the dog.

    Without that link the same images are looked at where the dog is.
    """
    world = toy_spawrious(tmp_path / "world", size=60, masks=tmp_path / "masks")
    control = toy_spawrious(tmp_path / "control", size=60, correlation=False)
    data = oochub.load(_CONFIG, data_dir=str(world))
    over = {}
    for name, raw in (("linked", world), ("free", control)):
        torch.manual_seed(0)
        config = ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="basic", num_labels=4)
        ResNetForImageClassification(config).save_pretrained(tmp_path / "untrained")
        ViTImageProcessorPil(size={"height": 48, "width": 48}).save_pretrained(tmp_path / "untrained")
        arguments = {"num_train_epochs": 20, "learning_rate": 3e-3, "per_device_train_batch_size": 32}
        start = str(tmp_path / "untrained")
        oochub.train(_CONFIG, tmp_path / name, model=start, data_dir=str(raw), arguments=arguments)
        found = attention(str(tmp_path / name), data, masks=tmp_path / "masks", cache=False)
        over[name] = {each.rows: each.over_area for each in measure_object_shares(found.maps)}
    assert over["linked"]["all"].high < over["free"]["all"].low, over
    assert over["linked"]["wrong"].high < over["free"]["wrong"].low, over
    assert over["free"]["all"].low > 0.05, over
