"""The boxes that a detector draws, each with the score of its class."""

from collections.abc import Sequence

import torch
from torch import Tensor


def drawn_boxes(logits: Tensor, boxes: Tensor, asked: Sequence[int], *, classes: int) -> Tensor:
    """The boxes of a detector with the scores that transformers' post-processing gives them.

    A score is the largest of a box over the classes: of a softmax without its last class, "no object", where the model
    has one for it, else of a sigmoid.

    Args:
        logits: float (n, q, c + 1), the last "no object"; or (n, q, c).
        boxes: float (n, q, 4), x and y of the center, width and height, as fractions of the picture.
        asked: Numbers of the classes whose boxes count.
        classes: c.

    Returns:
        float (n, q, 5): x1, y1, x2, y2 as fractions of the picture, and the score; -1 for a box of another class.

    >>> logits = torch.tensor([[[0.0, 0.0], [9.0, 0.0]]])
    >>> boxes = torch.tensor([[[0.5, 0.5, 1, 1], [0.25, 0.5, 0.5, 1]]])
    >>> drawn_boxes(logits, boxes, [0], classes=1)[0].round(decimals=2)
    tensor([[0.0000, 0.0000, 1.0000, 1.0000, 0.5000],
            [0.0000, 0.0000, 0.5000, 1.0000, 1.0000]])
    """
    has_none = logits.shape[-1] == classes + 1
    scores, label = (logits.softmax(-1)[..., :-1] if has_none else logits.sigmoid()).max(-1)
    center, half = boxes[..., :2], boxes[..., 2:] / 2
    is_asked = torch.isin(label, torch.tensor(list(asked), device=label.device))
    return torch.cat([center - half, center + half, scores.where(is_asked, -1)[..., None]], -1)
