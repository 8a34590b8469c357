"""The toy ImageNet: the published layouts, same bytes for the same arguments, shifts that are what they are called."""

from collections import Counter

import numpy as np
import pytest
from PIL import Image

from oochub.builders.sources.imagenet_ood_classes import OOD_CLASSES
from oochub.builders.sources.imagenet_sets import CORRUPTIONS
from oochub.builders.toy_worlds._corruptions import corrupt
from oochub.builders.toy_worlds.toy_imagenet import toy_imagenet
from oochub.class_names.imagenet_classes import IMAGENET_1K_WNIDS, IMAGENET_R_WNIDS


def test_layout(imagenet):
    """Counts of every published layout, from the folder itself."""
    classes = sorted(path.name for path in (imagenet / "imagenet/val").iterdir())
    assert len(classes) == 30 and set(classes) < set(IMAGENET_1K_WNIDS)
    stems = sorted(path.stem for path in imagenet.glob("imagenet/val/*/*.JPEG"))
    assert stems == [f"ILSVRC2012_val_{k:08}" for k in range(1, 91)]
    train = Counter(path.parent.name for path in imagenet.glob("imagenet/train/*/*.JPEG"))
    assert train == dict.fromkeys(classes, 30)
    assert all(path.name.startswith(f"{path.parent.name}_") for path in imagenet.glob("imagenet/train/*/*.JPEG"))
    assert {path.name for path in (imagenet / "imagenet-c").iterdir()} == set(CORRUPTIONS)
    corrupted_sets = Counter(path.parts[-4:-2] for path in imagenet.glob("imagenet-c/*/*/*/*.JPEG"))
    assert corrupted_sets == {(name, str(severity)): 30 for name in CORRUPTIONS for severity in range(1, 6)}
    renditions = {path.name for path in (imagenet / "imagenet-r").iterdir()}
    assert renditions == set(classes) & set(IMAGENET_R_WNIDS) and len(renditions) == 20
    assert sorted(path.name for path in (imagenet / "sketch").iterdir()) == classes
    in_21k = {path.stem for path in (imagenet / "imagenet-21k").iterdir()}
    assert len(in_21k & set(OOD_CLASSES)) == 16 and len(in_21k & set(classes)) == 1 and len(in_21k) == 17
    assert Counter(path.suffix for path in (imagenet / "imagenet-21k").iterdir()) == {"": 9, ".tar": 8}
    listed = (imagenet / "imagenetood.txt").read_text().split()
    assert {name[:9] for name in listed} == in_21k & set(OOD_CLASSES) and len(listed) == 48
    for path in imagenet.rglob("*_1*.JPEG"):
        with Image.open(path) as picture:
            assert (picture.format, picture.mode, picture.size) == ("JPEG", "RGB", (48, 48))


@pytest.mark.slow
def test_the_ground_says_nothing_of_the_class(imagenet):
    """The nearest other image by its four corners has the same class hardly more often than by chance, 1/30.

    The planted fault, a ground drawn by the number of parts, gives 0.3.
    """
    files = sorted(imagenet.glob("imagenet/train/*/*.JPEG"))
    pixels = np.stack([np.asarray(Image.open(file), float) for file in files])
    blocks = pixels.reshape(-1, 12, 4, 12, 4, 3).mean((2, 4))
    corners = blocks[:, [0, 0, -1, -1], [0, -1, 0, -1]].reshape(len(files), -1)
    apart = ((corners[:, None] - corners) ** 2).sum(2)
    np.fill_diagonal(apart, np.inf)
    wnid = np.array([file.parent.name for file in files])
    assert (wnid[apart.argmin(1)] == wnid).mean() < 0.1


def test_corruptions_are_what_they_are_called():
    """Known answers on plain images, and more change at each higher severity (planted fault: 5 as 1)."""
    rng = np.random.default_rng
    gray = Image.new("RGB", (48, 48), (128, 128, 128))
    half = Image.fromarray(np.repeat(np.repeat([[[60], [180]]], 48, 0), 24, 1).repeat(3, 2).astype(np.uint8))

    def change(name, picture, severity):
        return np.asarray(corrupt(picture, name, severity, rng(0)), float)

    assert change("gaussian_noise", gray, 2).std() == pytest.approx(0.1 * 255, rel=0.05)
    assert change("shot_noise", gray, 2).std() == pytest.approx(np.sqrt(128 / 255 / 35) * 255, rel=0.05)
    hit = change("impulse_noise", gray, 5)
    assert np.isin(hit, (0, 255)).mean() == pytest.approx(0.27, abs=0.02) and (hit == 128).mean() > 0.7
    assert change("brightness", gray, 2) == pytest.approx(128 + 0.2 * 255, abs=1)
    contrast = change("contrast", half, 3)
    assert contrast.mean() == pytest.approx(120, abs=1) and np.ptp(contrast) == pytest.approx(0.4 * 120, abs=2)
    assert len(np.unique(change("pixelate", Image.effect_noise((48, 48), 90).convert("RGB"), 4))) <= 12 * 12
    for name in ("defocus_blur", "motion_blur", "zoom_blur", "glass_blur", "elastic_transform", "pixelate"):
        assert change(name, gray, 5) == pytest.approx(128, abs=1), name  # they only move light about
    for name in CORRUPTIONS:
        picture = Image.fromarray(rng(1).integers(0, 256, (8, 8, 3), np.uint8)).resize(
            (48, 48), Image.Resampling.BICUBIC
        )
        distance = [np.abs(change(name, picture, severity) - np.asarray(picture)).mean() for severity in range(1, 6)]
        assert sorted(distance) == distance and distance[0] > 0.2, (name, distance)


@pytest.mark.campaign
def test_a_small_network_finds_the_shifts(tmp_path):
    """Accurate on its classes, less where they are corrupted or redrawn; it knows unknown classes by their confidence.

    About a minute: 100 training images a class, 12 epochs.
    """
    from sklearn.metrics import roc_auc_score

    from oochub.data.load import load
    from oochub.predicting import predict
    from oochub.training import train

    raw = str(toy_imagenet(tmp_path / "imagenet_ood", size=10))
    train("imagenet_ood/imagenet_1k", tmp_path / "run", data_dir=raw, options={"held_out": 0.1})
    predictions = {}
    for config in ("imagenet_1k", "imagenet_c", "imagenet_r", "imagenet_sketch", "imagenet_ood"):
        predictions[config] = predict(
            tmp_path / "run", load(f"imagenet_ood/{config}", data_dir=raw)["test"], images=False
        )
    right = {config: each.prediction == each.label for config, each in predictions.items()}
    severity = predictions["imagenet_c"].column("severity")
    by_severity = [right["imagenet_c"][severity == k].mean() for k in range(1, 6)]
    assert right["imagenet_1k"].mean() > 0.85 and sorted(by_severity, reverse=True) == by_severity
    assert by_severity[0] > 0.75 and by_severity[-1] < 0.55
    assert 0.1 < right["imagenet_r"].mean() < 0.7 and right["imagenet_sketch"].mean() < 0.5
    confidence = [predictions[config].probability.max(1) for config in ("imagenet_1k", "imagenet_ood")]
    is_known = np.repeat([1, 0], [len(each) for each in confidence])
    assert 0.7 < roc_auc_score(is_known, np.concatenate(confidence)) < 0.98
