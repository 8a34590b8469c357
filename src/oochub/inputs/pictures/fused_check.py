"""How far the fused path is from the model's own processor, seen on a few pictures before all are read."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from oochub.errors import OochubError
from oochub.inputs.pictures.preprocessing import Preprocessing, decode, normalize
from oochub.inputs.pictures.stored_pictures import picture_bytes, undecoded
from oochub.stats.logit_difference import logit_difference
from oochub.storage.picture_file import open_picture

if TYPE_CHECKING:
    import torch

_LEVELS, _LOGITS = 1.0, 0.02
_ROUNDING = 0.01  # gray levels that the arithmetic of floats may add
_PICTURES, _LOOKED_AT = 8, 32
_NOISE = ((500, 375), (375, 500))  # wide and tall: the fused path does not treat them alike


@dataclass(frozen=True, kw_only=True)
class FusedCheck:
    """The largest differences on the pictures of a probe.

    Attributes:
        levels: Of a pixel, in gray levels of 255 before normalization; infinite where sizes differ, or names of inputs.
        logits: Of a logit, as a share of the range of all.
        pictures: How many of the data set's there were, beside two of noise.

    >>> str(FusedCheck(levels=0.6, logits=0.004, pictures=8))
    'fused: pixels within 0.60 gray levels, logits within 0.40% of their range on 8 pictures and 2 of noise'
    """

    levels: float
    logits: float
    pictures: int

    @property
    def holds(self) -> bool:
        """Whether pixels are within one gray level and logits within 2% of their range."""
        return self.levels <= _LEVELS + _ROUNDING and self.logits <= _LOGITS

    def __str__(self) -> str:
        on = f"on {self.pictures} picture{'' if self.pictures == 1 else 's'} and {len(_NOISE)} of noise"
        if math.isinf(self.levels):
            return f"fused: inputs of another shape {on}"
        return (
            f"fused: pixels within {self.levels:.2f} gray levels, logits within {self.logits:.2%} of their range {on}"
        )


def fused_check(
    fused: Preprocessing,
    processed: "Callable[[Image.Image], Mapping[str, torch.Tensor]]",
    network: Any,
    part: Any,
    *,
    batch_size: int,
    device: "torch.device",
) -> FusedCheck:
    """Compares both ways on up to 8 of the first pictures, of different shapes where there are some, and on noise.

    Args:
        fused: What is compared.
        processed: The model's own processor: all that the model is called with for one picture.
        network: `network(pixel_values=x).logits` is (n, c).
        part: The split; pictures that cannot be read are passed over, since their own turn comes.
        batch_size: Rows a forward pass.
        device: Of the network.
    """
    import torch

    pictures = list(islice(_pictures(part), _PICTURES))
    noise = np.random.default_rng(0)
    every = pictures + [
        Image.fromarray(noise.integers(0, 256, (height, width, 3), np.uint8)) for width, height in _NOISE
    ]
    own = [processed(picture) for picture in every]
    pixels = torch.from_numpy(np.stack([fused.fitted(picture) for picture in every])).to(device)
    ours = normalize(pixels, fused)
    if any(set(each) != {"pixel_values"} or each["pixel_values"].shape != ours[:1].shape for each in own):
        return FusedCheck(levels=math.inf, logits=math.inf, pictures=len(pictures))
    theirs = torch.cat([each["pixel_values"] for each in own]).to(device)
    gray = torch.tensor(fused.std, device=device).view(1, 3, 1, 1) / fused.scale
    with torch.inference_mode():
        logits = [
            torch.cat([network(pixel_values=batch).logits.float() for batch in x.split(batch_size)])
            for x in (ours, theirs)
        ]
    return FusedCheck(
        levels=((ours - theirs).abs() * gray).max().item(),
        logits=logit_difference(*logits),
        pictures=len(pictures),
    )


def _pictures(part: Any) -> Iterator[Image.Image]:
    """Those of the first rows that can be read; one of each shape comes before a second of the same."""
    shapes: dict[tuple[int, int], int] = {}
    found: list[tuple[int, bytes]] = []
    for row in islice(undecoded(part.select_columns(["image"])), _LOOKED_AT):
        try:
            content = picture_bytes(row["image"], "")
            shape = open_picture(content, name="").size
        except OochubError:
            continue
        shapes[shape] = shapes.get(shape, 0) + 1
        found.append((shapes[shape], content))
    for _, content in sorted(found, key=lambda each: each[0]):
        try:
            yield decode(content, "")
        except OochubError:
            continue
