"""A tiny segmenter trained on the toy COCO's own annotations, for as long as a test may take."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from PIL import Image
from pycocotools import mask as coco_mask

from oochub.builders.toy_worlds._painter import LOCATIONS, PIXELS

NAMES = ("other", "road", "dining table", "sea", "pavement", "sky-other", "grass", "person", "playingfield", "car")


def annotated(coco: Path) -> dict[str, np.ndarray]:
    """Image file to the class of each pixel (48, 48), a number of `NAMES`."""
    maps: dict[str, np.ndarray] = {}
    for year in ("train2017", "val2017"):
        for kind in ("stuff", "instances"):  # things lie before stuff
            content = json.loads((coco / "annotations" / f"{kind}_{year}.json").read_text())
            named = {each["id"]: each["name"] for each in content["categories"]}
            files = {each["id"]: f"{year}/{each['file_name']}" for each in content["images"]}
            for file in files.values():
                maps.setdefault(file, np.zeros((PIXELS, PIXELS), np.int64))
            for each in content["annotations"]:
                name = named[each["category_id"]]
                maps[files[each["image_id"]]][_mask(each["segmentation"])] = NAMES.index(name) if name in NAMES else 0
    return maps


def _mask(segmentation: Any) -> np.ndarray:
    if isinstance(segmentation, list):
        segmentation = coco_mask.merge(coco_mask.frPyObjects(segmentation, PIXELS, PIXELS))
    return coco_mask.decode(segmentation).astype(bool)


def toy_segmenter(coco: Path, folder: Path, *, steps: int = 250) -> Path:
    """SegFormer of 48 x 48 pixels, trained on train2017; the same weights each time."""
    maps = {file: own for file, own in annotated(coco).items() if file.startswith("train2017")}
    pictures = [Image.open(coco / "images" / file).convert("RGB") for file in maps]
    return _trained(pictures, np.stack(list(maps.values())), NAMES, folder, steps)


def spawrious_segmenter(world: Path, masks: Path, folder: Path, *, steps: int = 250) -> Path:
    """The same for a toy Spawrious of correlation: a class for each background, and the dog of its masks."""
    names = ("dog", *LOCATIONS)
    files = sorted((world / "spawrious224").glob("*/*/*/*.png"))
    maps = []
    for file in files:
        place, number = file.parent.relative_to(world / "spawrious224"), file.stem.rpartition("_")[2]
        is_dog = np.asarray(Image.open(masks / place / f"{number}.png").convert("L")) > 0
        maps.append(np.where(is_dog, 0, names.index(file.parts[-3])))
    return _trained([Image.open(file).convert("RGB") for file in files], np.stack(maps), names, folder, steps)


def _trained(pictures: list[Image.Image], maps: np.ndarray, names: tuple[str, ...], folder: Path, steps: int) -> Path:
    torch.manual_seed(0)
    config = hf.SegformerConfig(
        hidden_sizes=[16, 32, 32, 64],
        num_attention_heads=[1, 2, 2, 4],
        depths=[1, 1, 1, 1],
        decoder_hidden_size=32,
        classifier_dropout_prob=0.0,
        id2label=dict(enumerate(names)),
    )
    model = hf.SegformerForSemanticSegmentation(config).train()
    processor = hf.SegformerImageProcessorPil(size={"height": PIXELS, "width": PIXELS})
    pixels = processor(pictures, return_tensors="pt")["pixel_values"]
    label = torch.from_numpy(maps)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for _ in range(steps):
        rows = torch.randint(len(label), (16,))
        model(pixel_values=pixels[rows], labels=label[rows]).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        rates.step()
    model.eval().save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
