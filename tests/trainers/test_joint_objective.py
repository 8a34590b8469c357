"""Heads side by side: one call of the joint objective is what the objectives say of each head alone."""

from typing import Any

import pytest
import torch
from objective_references import TASKS, made, some_batch

import oochub
from oochub.trainers.heads.head_stack import _describe_loss, _join_objectives

FORMS = (None, "nooch", "wilds", "domainbed", "subpopbench")
DIFFERENT: dict[str, tuple[float, ...]] = {
    "alpha": (0.2, 1.0, 1.5),
    "gamma": (0.2, 1.0, 2.0),
    "step_size": (0.5, 0.1, 0.01),
    "adjustment": (0.0, 1.0, 5.0),
    "penalty_weight": (0.5, 3.0, 10.0),
    "anneal_steps": (0, 2, 500),
}
NAMES = [name for name in oochub.names("objective") if oochub.get("objective", name).side_by_side is not None]


def heads(name: str, form: str | None) -> list[Any]:
    """Three objectives that differ in all that the form lets differ; none where there is no such form."""
    found: list[Any] = []
    given: dict[str, Any] = {} if form is None else {"form": form}
    try:
        made(name, **given)
    except (oochub.OochubError, TypeError):
        return []
    for head in range(3):
        own = dict(given)
        for each in sorted(oochub.get("objective", name).side_by_side):
            try:
                made(name, **own, **{each: DIFFERENT[each][head]})
            except oochub.OochubError:
                continue  # as an adjustment in a form that has none
            own[each] = DIFFERENT[each][head]
        found.append(made(name, **own).float())
    return found


def test_which_objectives_take_heads_side_by_side():
    """All that can be stacked on fixed features, so that a grid of them is a few calls."""
    losses = {"erm", "cvar", "focal", "reweight", "reweight_environments", "group_dro", "irm", "vrex"}
    assert losses | {"undersample", "undersample_environments", "subsample_groups"} == set(NAMES)


@pytest.mark.parametrize("task", TASKS[:2])
@pytest.mark.parametrize("name", NAMES)
def test_heads_side_by_side_equal_each_alone(name: str, task: str) -> None:
    """Losses, gradients and what is remembered, over four batches that differ from head to head, in each form."""
    tried = 0
    for form in FORMS:
        alone = heads(name, form)
        if not alone:
            continue
        assert len({_describe_loss(objective, 0) for objective in alone}) == 1
        joint = _join_objectives(alone)
        for number in range(4):
            batches = [some_batch(task, seed=10 * number + head).tensors()[:3] for head in range(3)]
            batches = [[t.float() if t.is_floating_point() else t for t in each] for each in batches]
            try:
                losses = torch.stack([o(x.requires_grad_(), y, e) for o, (x, y, e) in zip(alone, batches, strict=True)])
            except oochub.OochubError:
                assert task != "classes"
                break
            gradients = torch.autograd.grad(losses.sum(), [each[0] for each in batches])
            logits, label, environment = (torch.stack(each, -1).detach() for each in zip(*batches, strict=True))
            together = joint(logits.requires_grad_(), label, environment)
            torch.testing.assert_close(together, losses)
            (gradient,) = torch.autograd.grad(together.sum(), logits)
            torch.testing.assert_close(gradient, torch.stack(gradients, -1))
            for key, values in joint.state_dict().items():
                torch.testing.assert_close(values, torch.stack([each.state_dict()[key] for each in alone], -1))
            tried += 1
    assert tried or task != "classes"


def test_objectives_of_another_kind_are_not_joined():
    """Another form, another p of cvar, whose number of rows is one for all heads, and what takes a single head."""
    kinds = [_describe_loss(made(*each), 0) for each in (("irm",), ("erm",), ("coral",))]
    kinds += [_describe_loss(made("irm", form="nooch"), 0), _describe_loss(made("cvar", p=0.1), 0)]
    kinds += [_describe_loss(made("cvar", p=0.2), 0), _describe_loss(made("coral"), 1)]
    assert len(set(kinds)) == len(kinds)
    one = made("group_dro")
    assert _join_objectives([one]) is one
