"""Objectives of heads side by side as one objective, a call of which is the losses of all of them."""

import copy
import json
from collections.abc import Hashable, Sequence

import torch

from oochub.trainers.objective import Objective


def joint_objective(objectives: Sequence[Objective], *, device: torch.device | str = "cpu") -> Objective:
    """One objective that takes heads side by side, as a last dimension; the objective itself of a single head.

    Args:
        objectives: Of the heads, prepared and of one `loss_kind`; they stay as they are.
        device: Where they are.

    >>> from oochub.trainers.objectives.focal import Focal
    >>> joint = joint_objective([Focal(gamma=0.0), Focal(gamma=1.0)])
    >>> joint(torch.zeros(3, 2, 2), torch.tensor([[0, 1], [1, 1], [0, 0]]))  # log 2, and half of it
    tensor([0.6931, 0.3466])
    """
    first = objectives[0]
    if len(objectives) == 1:
        return first
    joint = copy.deepcopy(first)
    for name in first.side_by_side or ():
        values = [getattr(each, name) for each in objectives]
        if len(set(values)) > 1:
            setattr(joint, name, torch.tensor(values, dtype=torch.float32, device=device))
    for name, _ in first.named_buffers():
        joint.register_buffer(name, torch.stack([each.get_buffer(name) for each in objectives], -1))
    return joint


def loss_kind(objective: Objective, head: int) -> Hashable:
    """What objectives have in common that can be joined; one that takes a single head has nothing.

    >>> from oochub.trainers.objectives.irm import Irm
    >>> loss_kind(Irm(penalty_weight=1.0), 0) == loss_kind(Irm(penalty_weight=2.0), 1)
    True
    >>> loss_kind(Irm(form="nooch"), 0) == loss_kind(Irm(), 1)
    False
    """
    if objective.side_by_side is None:
        return head
    common = {name: value for name, value in objective.hyperparameters.items() if name not in objective.side_by_side}
    return type(objective), json.dumps(common, sort_keys=True)
