"""Images whose background and object are planted, and models that look at one of the two."""

import csv
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel, ViTImageProcessorPil
from transformers.modeling_outputs import ImageClassifierOutput

SIZE = 16
OBJECTS, BACKGROUNDS = {"light": 250, "dark": 5}, {"red": (200, 60, 60), "blue": (60, 60, 200)}
USUAL = {"light": "red", "dark": "blue"}
PROCESSOR = ViTImageProcessorPil(size={"height": SIZE, "width": SIZE}, do_normalize=False)


def planted_folder(folder: Path, *, train: int = 40, test: int = 200, share: float = 0.9) -> Path:
    """Squares, light or dark, on red or blue: `share` of `train` as usual, one half of `test`; rows of each label."""
    for split, rows, usual in (("train", train, share), ("test", test, 0.5))[: 2 if test else 1]:
        (folder / split).mkdir(parents=True)
        with (folder / split / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(["file_name", "tone", "ground"])
            for label, level in OBJECTS.items():
                for number in range(rows):
                    others = [name for name in BACKGROUNDS if name != USUAL[label]]
                    ground = USUAL[label] if number < usual * rows else others[0]
                    pixels = np.full((SIZE, SIZE, 3), BACKGROUNDS[ground], np.uint8)
                    pixels[4:12, 4:12] = level
                    pixels[0, 0] = number % 256, number // 256, 0  # no two files alike
                    Image.fromarray(pixels).save(folder / split / f"{label}{number}.png")
                    table.writerow([f"{label}{number}.png", label, ground])
    return folder


class Onlooker(PreTrainedModel):
    """Tells light from dark by the object in the middle, or by the background at the edge; `doubt` is its noise."""

    config_class = PreTrainedConfig

    def __init__(self, looks_at: str) -> None:
        super().__init__(PreTrainedConfig(id2label={0: "dark", 1: "light"}))
        self.looks_at = looks_at
        self.sharpness = nn.Parameter(torch.tensor(4.0))

    def forward(self, pixel_values: torch.Tensor) -> ImageClassifierOutput:
        if self.looks_at == "object":
            sign = pixel_values[:, :, 6:10, 6:10].mean((1, 2, 3)) - 0.5
        else:
            sign = pixel_values[:, 0, -2:].mean((1, 2)) - pixel_values[:, 2, -2:].mean((1, 2))
        return ImageClassifierOutput(logits=self.sharpness * torch.stack([-sign, sign], dim=1))
