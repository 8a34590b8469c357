"""The 15 corruptions of ImageNet-C at 5 severities, for images of 48 pixels.

Source: Hendrycks and Dietterich 2019, Benchmarking Neural Network Robustness to Common Corruptions and Perturbations,
Section 3 and Appendix A; the ways are theirs, the strengths are set for small images.
"""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from oochub.storage.picture_file import open_picture

Pixels = NDArray[np.float64]
"""(height, width, 3), 0 to 1."""


def corrupt(picture: Image.Image, corruption: str, severity: int, rng: np.random.Generator) -> Image.Image:
    """The image with a corruption at severity 1 to 5."""
    change, strengths = _CORRUPTIONS[corruption]
    return _make_picture(change(np.asarray(picture, np.float64) / 255, rng, strengths[severity - 1]).clip(0, 1))


def _make_picture(pixels: Pixels) -> Image.Image:
    return Image.fromarray((pixels * 255).round().astype(np.uint8))


def _impulse_noise(pixels: Pixels, rng: np.random.Generator, strength: float) -> Pixels:
    hit = rng.random(pixels.shape) < strength
    return np.where(hit, rng.integers(0, 2, pixels.shape), pixels)


def _filter_pixels(pixels: Pixels, kernel: Pixels) -> Any:
    return ndimage.convolve(pixels, kernel[..., None] / kernel.sum(), mode="nearest")


def _defocus_blur(pixels: Pixels, rng: np.random.Generator, strength: float) -> Any:
    reach = np.arange(-4, 5)
    return _filter_pixels(pixels, np.clip(strength + 0.5 - np.hypot(reach[:, None], reach), 0, 1))


def _motion_blur(pixels: Pixels, rng: np.random.Generator, strength: float) -> Any:
    kernel, angle = np.zeros((13, 13)), rng.uniform(0, np.pi)
    for step in np.linspace(-strength / 2, strength / 2, 25):
        kernel[round(6 + step * np.sin(angle)), round(6 + step * np.cos(angle))] += 1
    return _filter_pixels(pixels, kernel)


def _move_pixels(pixels: Pixels, rows: Pixels, columns: Pixels, order: int) -> Pixels:
    """Takes each pixel from `rows` and `columns` away."""
    y, x = np.mgrid[: pixels.shape[0], : pixels.shape[1]]
    at = [y + rows, x + columns]
    return np.stack([ndimage.map_coordinates(pixels[..., k], at, order=order, mode="reflect") for k in range(3)], 2)


def _glass_blur(pixels: Pixels, rng: np.random.Generator, strength: float) -> Any:
    rows, columns = rng.uniform(-strength, strength, (2, *pixels.shape[:2]))
    return ndimage.uniform_filter(_move_pixels(pixels, rows, columns, order=0), (2, 2, 1), mode="nearest")


def _zoom_blur(pixels: Pixels, rng: np.random.Generator, strength: float) -> Any:
    y, x = np.mgrid[: pixels.shape[0], : pixels.shape[1]]
    y, x = y - (pixels.shape[0] - 1) / 2, x - (pixels.shape[1] - 1) / 2
    factors = 1 / np.linspace(1, strength, 6) - 1
    return np.mean([_move_pixels(pixels, y * factor, x * factor, order=1) for factor in factors], 0)


def _snow(pixels: Pixels, rng: np.random.Generator, strength: float) -> Any:
    flakes = (rng.random(pixels.shape[:2]) < strength / 8).astype(float)
    fallen = ndimage.convolve(flakes, np.eye(4), mode="wrap").clip(0, 1)[..., None]
    gray = pixels.mean(2, keepdims=True) * 0.5 + 0.5
    return (1 - strength / 2) * pixels + strength / 2 * np.maximum(pixels, gray) + fallen * 0.9


def _make_cloud(pixels: Pixels, rng: np.random.Generator, grain: float) -> Any:
    """Smooth noise between 0 and 1, (height, width, 1); a smaller grain is finer."""
    smooth = ndimage.gaussian_filter(rng.standard_normal(pixels.shape[:2]), grain, mode="wrap")
    return ((smooth - smooth.min()) / (smooth.max() - smooth.min()))[..., None]


def _frost(pixels: Pixels, rng: np.random.Generator, strength: float) -> Any:
    ice = (_make_cloud(pixels, rng, 1.0) + _make_cloud(pixels, rng, 5.0)) / 2
    return (1 - strength / 2) * pixels + strength * ice**1.5 * np.array([1.3, 1.4, 1.5])


def _fog(pixels: Pixels, rng: np.random.Generator, strength: float) -> Any:
    return (pixels + strength * _make_cloud(pixels, rng, 7.0)) * pixels.max() / (pixels.max() + strength)


def _brightness(pixels: Pixels, rng: np.random.Generator, strength: float) -> Any:
    value = pixels.max(2, keepdims=True)
    return pixels * ((value + strength).clip(0, 1) / np.maximum(value, 1e-6))


def _elastic_transform(pixels: Pixels, rng: np.random.Generator, strength: float) -> Pixels:
    rows, columns = (strength * (_make_cloud(pixels, rng, 2.5)[..., 0] - 0.5) for _ in range(2))
    return _move_pixels(pixels, rows, columns, order=1)


def _pixelate(pixels: Pixels, rng: np.random.Generator, strength: float) -> Any:
    picture = _make_picture(pixels)
    small = picture.resize((round(picture.width * strength), round(picture.height * strength)), Image.Resampling.BOX)
    return np.asarray(small.resize(picture.size, Image.Resampling.NEAREST), np.float64) / 255


def _jpeg_compression(pixels: Pixels, rng: np.random.Generator, strength: float) -> Any:
    file = io.BytesIO()
    _make_picture(pixels).save(file, "JPEG", quality=round(strength))
    return np.asarray(open_picture(file.getvalue(), name="a drawn image"), np.float64) / 255


_CORRUPTIONS: dict[str, tuple[Callable[[Pixels, np.random.Generator, float], Any], tuple[float, ...]]] = {
    "gaussian_noise": (lambda pixels, rng, s: pixels + rng.normal(0, s, pixels.shape), (0.06, 0.1, 0.15, 0.22, 0.32)),
    "shot_noise": (lambda pixels, rng, s: rng.poisson(pixels * s) / s, (80, 35, 15, 7, 4)),
    "impulse_noise": (_impulse_noise, (0.03, 0.06, 0.1, 0.17, 0.27)),
    "defocus_blur": (_defocus_blur, (0.8, 1.2, 1.7, 2.3, 3.0)),
    "glass_blur": (_glass_blur, (1.0, 1.6, 2.3, 3.0, 4.0)),
    "motion_blur": (_motion_blur, (3, 5, 7, 9, 11)),
    "zoom_blur": (_zoom_blur, (1.1, 1.2, 1.3, 1.45, 1.6)),
    "snow": (_snow, (0.1, 0.2, 0.3, 0.45, 0.6)),
    "frost": (_frost, (0.3, 0.45, 0.6, 0.75, 0.9)),
    "fog": (_fog, (0.3, 0.6, 1.0, 1.5, 2.1)),
    "brightness": (_brightness, (0.1, 0.2, 0.3, 0.4, 0.5)),
    "contrast": (
        lambda pixels, rng, s: (pixels - pixels.mean((0, 1))) * s + pixels.mean((0, 1)),
        (0.7, 0.55, 0.4, 0.28, 0.18),
    ),
    "elastic_transform": (_elastic_transform, (3, 5, 8, 11, 15)),
    "pixelate": (_pixelate, (0.6, 0.45, 0.33, 0.25, 0.2)),
    "jpeg_compression": (_jpeg_compression, (30, 20, 12, 8, 4)),
}
