"""Shapes on textures whose brightness goes with the class, and models that go by the texture or by the shape.

Nothing here is of the project's toys: images are drawn with numpy alone, models are linear probes of scikit-learn,
and a segmenter and an encoder are networks whose weights nobody trained on these images.
"""

from dataclasses import dataclass
from typing import Any

import datasets
import numpy as np
import torch
import transformers as hf
from PIL import Image
from sklearn.linear_model import LogisticRegression
from transformers.modeling_outputs import SemanticSegmenterOutput

SHAPES = ("disc", "square", "triangle")
TEXTURES = ("stripes", "checks", "grain")
LEVELS = {"stripes": 60, "checks": 128, "grain": 196}
SIZE = 48
_COLOR = np.array([230.0, 40.0, 40.0])


@dataclass(frozen=True)
class ShapeWorld:
    """A data set of images, the texture of each example, and the pixels of all (n, 48, 48, 3) by split."""

    data: datasets.DatasetDict
    textures: dict[str, str]
    pixels: dict[str, np.ndarray]


def shape_world(seed: int, *, correlation: float, train: int = 300, test: int = 300) -> ShapeWorld:
    """Train and test, so many rows: a share `correlation` of a class on the texture of its place, the rest on others.

    One shape in seven is drawn as another one, whatever its texture: no model is right on it that looks at the shape.
    """
    rng = np.random.default_rng(seed)
    parts, textures, pixels = {}, {}, {}
    for split, rows in (("train", train), ("test", test)):
        label = rng.integers(0, 3, rows)
        texture = np.where(rng.random(rows) < correlation, label, (label + rng.integers(1, 3, rows)) % 3)
        drawn = np.where(rng.random(rows) < 1 / 7, (label + rng.integers(1, 3, rows)) % 3, label)
        scenes = np.stack([_scene(rng, *each) for each in zip(texture, drawn, strict=True)])
        ids = [f"{split}{row}" for row in range(rows)]
        textures |= {name: TEXTURES[place] for name, place in zip(ids, texture, strict=True)}
        pixels[split] = scenes
        columns = {"example_id": ids, "image": [Image.fromarray(each) for each in scenes], "label": label.tolist()}
        kinds = {"example_id": datasets.Value("string"), "image": datasets.Image()}
        features = datasets.Features(kinds | {"label": datasets.ClassLabel(names=list(SHAPES))})
        parts[split] = datasets.Dataset.from_dict(columns, features)
    return ShapeWorld(datasets.DatasetDict(parts), textures, pixels)


def _scene(rng: np.random.Generator, texture: int, shape: int) -> np.ndarray:
    down, across = np.mgrid[:SIZE, :SIZE] + rng.integers(0, 8, 2)[:, None, None]
    pattern = [
        (down // 4) % 2 - 0.5,
        (down // 6 + across // 6) % 2 - 0.5,
        np.kron(rng.random((SIZE // 2, SIZE // 2)), np.ones((2, 2))) - 0.5,
    ][texture]
    gray = LEVELS[TEXTURES[texture]] + rng.normal(0, 8) + 50 * pattern + rng.normal(0, 6, (SIZE, SIZE))
    scene = np.repeat(gray[:, :, None], 3, axis=2)
    y, x = np.mgrid[:SIZE, :SIZE] - (SIZE / 2 + rng.uniform(-3, 3, 2))[:, None, None]
    radius = rng.uniform(9, 11)
    inside = [
        y**2 + x**2 < radius**2,
        np.maximum(abs(y), abs(x)) < 0.88 * radius,
        (y < 0.7 * radius) & (y > 2 * abs(x) - 1.2 * radius),
    ][shape]
    scene[inside] = _COLOR + rng.normal(0, 6, (int(inside.sum()), 3))
    return scene.clip(0, 255).astype(np.uint8)


def texture_answers(world: ShapeWorld) -> dict[str, int]:
    """What a linear probe says that sees the rim alone: its brightness, and how it changes down and across."""
    return _probe(world, _rim)


def shape_answers(world: ShapeWorld) -> dict[str, int]:
    """What a linear probe says that sees where the color of the shape is, and nothing of the texture."""
    return _probe(world, _mask)


def answers_that_fail_in_the_dark(world: ShapeWorld, *, seed: int) -> dict[str, int]:
    """Those by the shape, but two of three stripes, the darkest texture, are answered at random, whatever the class."""
    rng = np.random.default_rng(seed)
    fails = {name for name, texture in world.textures.items() if texture == "stripes" and rng.random() < 2 / 3}
    return {name: int(rng.integers(3)) if name in fails else own for name, own in shape_answers(world).items()}


def _probe(world: ShapeWorld, look: Any) -> dict[str, int]:
    probe = LogisticRegression(C=10, max_iter=3000).fit(look(world.pixels["train"]), world.data["train"]["label"])
    answers = probe.predict(look(world.pixels["test"]))
    return dict(zip(world.data["test"]["example_id"], answers.tolist(), strict=True))


def _rim(pixels: np.ndarray) -> np.ndarray:
    gray = pixels[:, :6].mean(3) / 255
    change = [np.abs(np.diff(gray, axis=axis)).mean((1, 2)) for axis in (1, 2)]
    level = gray.mean((1, 2))
    return np.column_stack([10 * level, 40 * level**2, *(20 * each for each in change)])


def _mask(pixels: np.ndarray) -> np.ndarray:
    red = pixels[..., 0].astype(float) - pixels[..., 1] > 90
    return red.reshape(len(red), 24, 2, 24, 2).mean((2, 4)).reshape(len(red), -1)


class Levels(hf.SegformerForSemanticSegmentation):
    """Names each place by its color, or by which texture's level the gray around it is nearest to."""

    def forward(self, pixel_values: torch.Tensor) -> SemanticSegmenterOutput:
        gray = torch.nn.functional.avg_pool2d(pixel_values.mean(1, keepdim=True), 9, 1, 4, count_include_pad=False)
        near = [-((gray - level / 255) ** 2) for level in LEVELS.values()]
        red = (pixel_values[:, :1] - pixel_values[:, 1:2] > 0.3).float() - 0.5
        return SemanticSegmenterOutput(logits=torch.cat([*near, red], dim=1))


def levels_segmenter() -> dict[str, Any]:
    """The settings of `segments` with that segmenter, which calls every shape the thing."""
    config = hf.SegformerConfig(
        **{"hidden_sizes": [8] * 4, "num_attention_heads": [1] * 4, "depths": [1] * 4, "decoder_hidden_size": 8},
        id2label=dict(enumerate((*TEXTURES, "shape"))),
    )
    processor = hf.SegformerImageProcessorPil(size={"height": SIZE, "width": SIZE}, do_normalize=False)
    named = {name: ["shape"] for name in SHAPES}
    return {"model": Levels(config).eval(), "image_processor": processor, "label_map": named}


def untrained_encoder() -> dict[str, Any]:
    """The settings of `clusters` with a small network of random weights, which has seen nothing."""
    torch.manual_seed(0)
    config = hf.ResNetConfig(embedding_size=16, hidden_sizes=[32, 64], depths=[1, 1], layer_type="basic", num_labels=2)
    processor = hf.ConvNextImageProcessorPil(size={"shortest_edge": SIZE}, crop_pct=1.0)
    return {"model": hf.ResNetForImageClassification(config).eval(), "image_processor": processor}
