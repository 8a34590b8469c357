"""Augmentation without torchvision: crops and colors against Pillow, parts in any combination."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance

from oochub.errors import OochubError
from oochub.inputs.pictures.augmentation import augment_images, split_augmentation
from oochub.trainers.arguments import RobustTrainingArguments

PICTURES = np.random.default_rng(0).integers(0, 256, (60, 14, 18, 3), np.uint8)


def changed(kind: str, seed: int = 1, pictures: np.ndarray = PICTURES) -> np.ndarray:
    return augment_images(torch.tensor(pictures), kind, generator=torch.Generator().manual_seed(seed)).numpy()


def test_a_crop_is_a_resized_rectangle() -> None:
    """Pillow's bilinear resize of the same box, within a level; the boxes' areas and aspects are in the ranges."""
    found, draws = changed("crop"), torch.Generator().manual_seed(1)
    area = 0.7 + 0.3 * torch.rand(60, generator=draws).double()
    ratio = torch.exp(math.log(0.75) + (math.log(4 / 3) - math.log(0.75)) * torch.rand(60, generator=draws).double())
    width, height = (area * ratio).sqrt().clamp(max=1), (area / ratio).sqrt().clamp(max=1)
    place = torch.rand(2, 60, generator=draws).double()
    assert 0.66 < (width * height).min() and (width * height).max() <= 1
    for i, picture in enumerate(PICTURES):
        left, top = (place[0, i] * (1 - width[i]) * 18).item(), (place[1, i] * (1 - height[i]) * 14).item()
        box = (left, top, left + width[i].item() * 18, top + height[i].item() * 14)
        expected = Image.fromarray(picture).resize((18, 14), Image.Resampling.BILINEAR, box=box)
        assert np.abs(np.asarray(expected).astype(int) - found[i]).max() <= 1


def test_colors_are_those_of_pillow() -> None:
    """Brightness, then contrast, then saturation by ImageEnhance, which rounds down in between: within four levels."""
    found, draws = changed("color"), torch.Generator().manual_seed(1)
    factors = (0.7 + 0.6 * torch.rand(3, 60, 1, 1, 1, generator=draws)).view(3, 60).tolist()
    for i, picture in enumerate(PICTURES):
        image = Image.fromarray(picture)
        for kind, factor in zip(
            (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color), factors, strict=True
        ):
            image = kind(image).enhance(factor[i])
        assert np.abs(np.asarray(image).astype(int) - found[i]).max() <= 4


def test_parts_combine_in_any_way() -> None:
    parts, seen = ("flip", "shift", "crop", "color"), set()
    for count in range(1, 5):
        for chosen in combinations(parts, count):
            result = changed("_".join(chosen))
            assert result.shape == PICTURES.shape and result.dtype == np.uint8
            assert np.array_equal(result, changed("_".join(chosen)))  # a function of the generator
            seen.add(result.tobytes())
    assert len(seen) == 15
    assert np.array_equal(changed("none"), PICTURES)


def test_each_picture_is_drawn_for_itself() -> None:
    same = np.repeat(PICTURES[:1], 30, axis=0)
    for kind in ("flip", "shift", "crop", "color"):
        drawn = {picture.tobytes() for picture in changed(kind, pictures=same)}
        assert len(drawn) == 2 if kind == "flip" else len(drawn) > 20


def test_unknown_parts_are_named() -> None:
    assert split_augmentation("none") == [] and split_augmentation("crop_flip") == ["crop", "flip"]
    with pytest.raises(OochubError, match=r"No augment named 'crops'\. Did you mean 'crop'"):
        RobustTrainingArguments(output_dir="x", augment="flip_crops")
