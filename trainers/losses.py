"""The loss of each row: cross entropy for classes and tokens, binary for several labels, squares for numbers.

For a model that draws boxes it is that of DETR, which YOLOS has too.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

from oochub.errors import OochubError


def example_losses(logits: Tensor, label: Tensor) -> Tensor:
    """The loss of each row, which every objective weighs in its own way.

    Args:
        logits: float (n, k), what the model says.
        label: int64 (n,), class numbers: cross entropy over k classes, in nats. float (n, k), 1 where a label holds
            and 0 where not: the mean binary cross entropy of the k labels, in nats; nan is a label that nobody knows
            and is left out. float (n,) with k = 1: the squared error. int32 (n, t), numbers of tokens, of logits
            (n, t, k): the mean cross entropy of the row's tokens, those below 0 left out. float (n, m, 5) of logits
            (n, q, c + 5): boxes, see `oochub.trainers.losses`.

    Returns:
        float (n,), at least 0.

    Raises:
        OochubError: Shapes and types that fit none of these.

    Heads side by side are a last dimension of all three: logits (n, k, heads), labels and losses (n, heads).

    >>> example_losses(torch.zeros(2, 4), torch.tensor([0, 3]))  # log 4
    tensor([1.3863, 1.3863])
    >>> example_losses(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))  # log 2
    tensor([0.6931])
    >>> example_losses(torch.tensor([[3.0]]), torch.tensor([1.0])).tolist()
    [4.0]
    """
    if label.dtype == torch.int32 and label.shape == logits.shape[:-1]:
        return token_losses(logits, label).sum(1) / (label >= 0).sum(1).clamp(min=1)
    if label.ndim == logits.ndim - 1 and not label.is_floating_point():
        return functional.cross_entropy(logits, label, reduction="none")
    if label.shape == logits.shape:
        is_labeled = ~label.isnan()
        losses = functional.binary_cross_entropy_with_logits(logits, label.nan_to_num(), reduction="none")
        return (losses * is_labeled).sum(1) / is_labeled.sum(1).clamp(min=1)
    if label.ndim == logits.ndim == 3:
        return _compute_box_losses(logits, label)
    if logits.shape == (len(label), 1, *label.shape[1:]):
        return (logits[:, 0] - label).square()
    raise OochubError(
        "Labels are class numbers int64 (n,), several labels float (n, k) as wide as the logits, or numbers float (n,) "
        f"with one logit per row; got logits {tuple(logits.shape)} and labels {label.dtype} {tuple(label.shape)}."
    )


def token_losses(logits: Tensor, label: Tensor) -> Tensor:
    """The cross entropy of each token, float (n, t), in nats; 0 where nobody asks.

    Args:
        logits: float (n, t, k).
        label: int32 (n, t), numbers of tokens, below 0 where nobody asks.

    >>> token_losses(torch.zeros(1, 2, 4), torch.tensor([[3, -100]], dtype=torch.int32))  # log 4
    tensor([[1.3863, 0.0000]])
    """
    answers = label.long().clamp(min=-1).flatten()
    losses = functional.cross_entropy(logits.flatten(0, 1), answers, ignore_index=-1, reduction="none")
    return losses.view(label.shape)


_COSTS = {"class_cost": 1.0, "bbox_cost": 5.0, "giou_cost": 2.0}  # of a match
_BOX_WEIGHT, _GIOU_WEIGHT, _NO_OBJECT = 5.0, 2.0, 0.1


def _compute_box_losses(logits: Tensor, label: Tensor) -> Tensor:
    """Each true box is matched with one of the model's; the loss is that of the pairs, and of the others "no object".

    The loss of an image is the one that transformers gives for it alone: cross entropy over classes and "no object",
    which weighs 0.1, plus, over the number of its true boxes (1 for none), 5 times the distance of the boxes' four
    numbers and 2 times 1 - generalized intersection over union.

    Args:
        logits: Logits of q boxes, float (n, q, c + 5): c classes, "no object", and the box.
        label: At most m true boxes, float (n, m, 5): the class number and the box; nan for none. A box is x and y of
            its center, width and height, as fractions of the image.

    Returns:
        float (n,); nan where the model said something that is not finite.

    Source: Carion et al. 2020, End-to-End Object Detection with Transformers, Section 3.1; its costs and weights.

    >>> there, not_there = torch.tensor([9.0, 0, 0.5, 0.5, 1, 1]), torch.tensor([0, 9.0, 0.5, 0.5, 1, 1])
    >>> true = torch.tensor([[0.0, 0.5, 0.5, 1, 1], [torch.nan] * 5])
    >>> _compute_box_losses(torch.stack([there, not_there])[None], true[None]).round(decimals=3)
    tensor([0.])
    """
    from transformers.loss.loss_for_object_detection import HungarianMatcher

    if not bool(logits.isfinite().all()):
        return logits.flatten(1).sum(1) * math.nan
    classes, boxes = logits[..., :-4], logits[..., -4:]
    truth = [rows[~rows[:, 0].isnan()] for rows in label.to(logits)]
    targets = [{"class_labels": rows[:, 0].long(), "boxes": rows[:, 1:]} for rows in truth]
    pairs = HungarianMatcher(**_COSTS)({"logits": classes, "pred_boxes": boxes}, targets)
    return torch.stack([_compute_picture_loss(*picture) for picture in zip(classes, boxes, truth, pairs, strict=True)])


def _compute_picture_loss(classes: Tensor, boxes: Tensor, truth: Tensor, pairs: tuple[Tensor, Tensor]) -> Tensor:
    from transformers.image_transforms import center_to_corners_format
    from transformers.loss.loss_for_object_detection import generalized_box_iou

    own, true = pairs
    wanted = torch.full((len(classes),), classes.shape[1] - 1, device=classes.device)
    wanted[own] = truth[true, 0].long()
    weight = torch.ones(classes.shape[1], dtype=classes.dtype, device=classes.device)
    weight[-1] = _NO_OBJECT
    predicted, wanted_boxes = boxes[own], truth[true, 1:]
    overlap: Tensor = generalized_box_iou(center_to_corners_format(predicted), center_to_corners_format(wanted_boxes))
    off = _BOX_WEIGHT * (predicted - wanted_boxes).abs().sum() + _GIOU_WEIGHT * (1 - overlap.diagonal()).sum()
    return functional.cross_entropy(classes, wanted, weight) + off / max(len(truth), 1)
