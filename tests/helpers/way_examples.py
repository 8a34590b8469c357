"""A tiny example of each way to find contexts; a new way adds its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tiny_captioners
import tiny_detectors
import tiny_zero_shot
import torch
import transformers as hf
from declared_in_tests import declared_in_tests
from tiny_encoder import tiny_encoder


def _properties(folder: Path) -> dict[str, Any]:
    return {}


def _clusters(folder: Path) -> dict[str, Any]:
    torch.manual_seed(0)
    config = hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=2)
    hf.ResNetForImageClassification(config).eval().save_pretrained(folder)
    hf.ConvNextImageProcessor(size={"shortest_edge": 32}, crop_pct=1.0).save_pretrained(folder)
    return {"model": folder}


def _segments(folder: Path) -> dict[str, Any]:
    return {"model": tiny_detectors.folder(folder, "segformer"), "label_map": {"a": ["car"]}}


def _zero_shot(folder: Path) -> dict[str, Any]:
    return {"model": tiny_zero_shot.folder(folder, "clip"), "names": ["mountain", "snow", "beach"]}


def _captions(folder: Path) -> dict[str, Any]:
    encoder = tiny_encoder(folder.parent / "encoder")
    return {"model": tiny_captioners.folder(folder, "vision-encoder-decoder"), "encoder": encoder, "fewest": 3}


WAY_EXAMPLES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "properties": _properties,
    "clusters": _clusters,
    "segments": _segments,
    "zero_shot": _zero_shot,
    "captions": _captions,
}
"""The settings of a way, by its name; models are written to the folder. The test of a new way has its own."""
WAY_EXAMPLES |= declared_in_tests("WAY_EXAMPLES", "context_finding")
