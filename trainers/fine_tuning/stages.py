"""How long each stage of a run is, when an objective divides the run."""

from collections.abc import Sequence

from oochub.errors import OochubError


def stage_epochs(shares: Sequence[float], epochs: int) -> list[int]:
    """Epochs of each stage; one that has a share has at least one.

    Args:
        shares: Of the stages, they sum to 1.
        epochs: Of the run.

    Raises:
        OochubError: Fewer epochs than stages.

    >>> stage_epochs((0.5, 0.5), 5)
    [2, 3]
    >>> stage_epochs((0.01, 0.99), 3)
    [1, 2]
    """
    needed = [int(share > 0) for share in shares]
    if epochs < sum(needed):
        raise OochubError(
            f"The objective trains in {sum(needed)} stages of an epoch or more, and num_train_epochs is {epochs}. Set "
            f"it to {sum(needed)} or larger; max_steps can shorten each stage."
        )
    lengths: list[int] = []
    for stage, least in enumerate(needed):
        length = round(sum(shares[: stage + 1]) * epochs) - sum(lengths)
        lengths.append(max(least, min(length, epochs - sum(lengths) - sum(needed[stage + 1 :]))))
    return lengths


def stage_steps(
    shares: Sequence[float], stage: int, *, epochs: int, max_steps: int, steps_per_epoch: int, began: int
) -> int:
    """Optimizer steps of a stage.

    Args:
        shares: Of the stages.
        stage: Its number.
        epochs: Of the run.
        max_steps: Of the run; -1 for no limit. It is divided like the epochs.
        steps_per_epoch: Of this stage.
        began: Optimizer steps before it.

    >>> stage_steps((0.5, 0.5), 1, epochs=4, max_steps=-1, steps_per_epoch=30, began=20)
    60
    """
    steps = stage_epochs(shares, epochs)[stage] * steps_per_epoch
    if max_steps > 0 and steps:
        steps = min(steps, max(1, round(sum(shares[: stage + 1]) * max_steps) - began))
    return steps
