"""The boxes that a detector draws, each with the score of its class, as fractions of images that it sees whole.

Whole means squeezed to one size: a crop, or padding, would lose where a box lies in the image.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from oochub.errors import OochubError


def check_whole_images(processor: Any) -> None:
    """Checks that an image processor squeezes whole images to one height and width.

    Raises:
        OochubError: The processor crops, pads or keeps the shape: where a box lies in the image would be lost.

    >>> from transformers import YolosImageProcessorPil
    >>> check_whole_images(YolosImageProcessorPil(size={"height": 512, "width": 512}))
    """
    names = {name for name, pixels in dict(getattr(processor, "size", None) or {}).items() if pixels}
    crops = getattr(processor, "do_center_crop", False)
    if crops or not {"height", "width"} <= names:
        does = "crops them" if crops else f"resizes them by {', '.join(sorted(names)) or 'no size'}"
        raise OochubError(
            f"For boxes a model must see whole images resized to one size, but its processor {does}. Save it with "
            "size={'height': 512, 'width': 512} and do_center_crop=False, or train with an image_size."
        )


def draw_boxes(logits: Tensor, boxes: Tensor, asked: Sequence[int], *, classes: int) -> Tensor:
    """The boxes of a detector with the scores that transformers' post-processing gives them.

    A score is the largest of a box over the classes: from a softmax without its last class, "no object", where the
    model has one for it, else from a sigmoid.

    Args:
        logits: float (n, q, c + 1), the last "no object"; or (n, q, c).
        boxes: float (n, q, 4), x and y of the center, width and height, as fractions of the image.
        asked: Numbers of the classes whose boxes count.
        classes: Number of classes, c.

    Returns:
        float (n, q, 5): x1, y1, x2, y2 as fractions of the image, and the score; -1 for a box of another class.

    >>> logits = torch.tensor([[[0.0, 0.0], [9.0, 0.0]]])
    >>> boxes = torch.tensor([[[0.5, 0.5, 1, 1], [0.25, 0.5, 0.5, 1]]])
    >>> draw_boxes(logits, boxes, [0], classes=1)[0].round(decimals=2)
    tensor([[0.0000, 0.0000, 1.0000, 1.0000, 0.5000],
            [0.0000, 0.0000, 0.5000, 1.0000, 1.0000]])
    """
    has_none = logits.shape[-1] == classes + 1
    scores, label = (logits.softmax(-1)[..., :-1] if has_none else logits.sigmoid()).max(-1)
    center, half = boxes[..., :2], boxes[..., 2:] / 2
    is_asked = torch.isin(label, torch.tensor(list(asked), device=label.device))
    return torch.cat([center - half, center + half, scores.where(is_asked, -1)[..., None]], -1)
