"""The loss of each picture for a model that draws boxes: that of DETR, which YOLOS has too."""

import math

import torch
from torch import Tensor
from torch.nn import functional

_COSTS = {"class_cost": 1.0, "bbox_cost": 5.0, "giou_cost": 2.0}  # of a match
_BOX_WEIGHT, _GIOU_WEIGHT, _NO_OBJECT = 5.0, 2.0, 0.1


def box_losses(logits: Tensor, label: Tensor) -> Tensor:
    """Each true box is matched with one of the model's; the loss is that of the pairs, and of the others "no object".

    The loss of a picture is the one that transformers gives for it alone: cross entropy over classes and "no object",
    which weighs 0.1, plus, over the number of its true boxes (1 for none), 5 times the distance of the boxes' four
    numbers and 2 times 1 - generalized intersection over union.

    Args:
        logits: Of q boxes float (n, q, c + 5): c classes, "no object", and the box.
        label: Of at most m true boxes float (n, m, 5): the class number and the box; nan for none. A box is x and y of
            its center, width and height, as fractions of the picture.

    Returns:
        float (n,); nan where the model said something that is not finite.

    Source: Carion et al. 2020, End-to-End Object Detection with Transformers, Section 3.1; its costs and weights.

    >>> there, not_there = torch.tensor([9.0, 0, 0.5, 0.5, 1, 1]), torch.tensor([0, 9.0, 0.5, 0.5, 1, 1])
    >>> true = torch.tensor([[0.0, 0.5, 0.5, 1, 1], [torch.nan] * 5])
    >>> box_losses(torch.stack([there, not_there])[None], true[None]).round(decimals=3)
    tensor([0.])
    """
    from transformers.loss.loss_for_object_detection import HungarianMatcher

    if not bool(logits.isfinite().all()):
        return logits.flatten(1).sum(1) * math.nan
    classes, boxes = logits[..., :-4], logits[..., -4:]
    truth = [rows[~rows[:, 0].isnan()] for rows in label.to(logits)]
    targets = [{"class_labels": rows[:, 0].long(), "boxes": rows[:, 1:]} for rows in truth]
    pairs = HungarianMatcher(**_COSTS)({"logits": classes, "pred_boxes": boxes}, targets)
    return torch.stack([_picture(*each) for each in zip(classes, boxes, truth, pairs, strict=True)])


def _picture(classes: Tensor, boxes: Tensor, truth: Tensor, pairs: tuple[Tensor, Tensor]) -> Tensor:
    from transformers.image_transforms import center_to_corners_format
    from transformers.loss.loss_for_object_detection import generalized_box_iou

    own, true = pairs
    wanted = torch.full((len(classes),), classes.shape[1] - 1, device=classes.device)
    wanted[own] = truth[true, 0].long()
    weight = torch.ones(classes.shape[1], dtype=classes.dtype, device=classes.device)
    weight[-1] = _NO_OBJECT
    found, wanted_boxes = boxes[own], truth[true, 1:]
    overlap: Tensor = generalized_box_iou(center_to_corners_format(found), center_to_corners_format(wanted_boxes))
    off = _BOX_WEIGHT * (found - wanted_boxes).abs().sum() + _GIOU_WEIGHT * (1 - overlap.diagonal()).sum()
    return functional.cross_entropy(classes, wanted, weight) + off / max(len(truth), 1)
