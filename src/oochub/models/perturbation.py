"""The perturbed input of ODIN: a small step that makes the model surer of what it says, larger for known classes."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from oochub.errors import OochubError, either
from oochub.records.metadata import OdinSettings

TEMPERATURE = 1000.0
"""The temperature of Liang, Li and Srikant 2018, and of ImageNet-OOD's ODIN."""


class Perturbation:
    """x' = x - epsilon sign(grad_x CE(l(x) / T, argmax l(x))) / std.

    x is what the model sees: pixels scaled, usually to [0, 1], less a mean, divided by `std`. The step in that space
    is epsilon / std of each channel, so epsilon itself is a step of the scaled pixels before they are normalized, as
    in the released code of ODIN: 0.0014 is about a third of one of 255 gray levels. The sign of a gradient of 0 is 0
    (the released code takes +1).

    Each picture is perturbed by its own gradient: neither the size of the batch nor its other pictures matter, beyond
    the rounding of the model itself.

    Args:
        epsilon: The step, above 0.
        temperature: T, above 0. The score of `odin` is at the same temperature.
        std: What the model's processor divides each channel by.

    Raises:
        OochubError: An epsilon or temperature that is not a finite number above 0.

    Source: Liang, Li and Srikant 2018 (arXiv 1706.02690), Section 3, Equation 2.
    """

    def __init__(self, epsilon: float, *, temperature: float = TEMPERATURE, std: Sequence[float] = (1.0,) * 3) -> None:
        self.epsilon, self.temperature = check_perturbation(epsilon, temperature)
        self.std = [float(deviation) for deviation in std]

    @property
    def settings(self) -> OdinSettings:
        """What predictions say of their `odin_logits`.

        >>> Perturbation(0.0014).settings
        OdinSettings(epsilon=0.0014, temperature=1000.0, std=(1.0, 1.0, 1.0))
        """
        return OdinSettings(epsilon=self.epsilon, temperature=self.temperature, std=tuple(self.std))

    def __call__(self, model: Any, pixel_values: torch.Tensor | None) -> torch.Tensor:
        """The perturbed x' (b, 3, h, w) of x; the model's parameters get no gradient.

        Args:
            model: In evaluation mode; its output has `logits` (b, c).
            pixel_values: x, on the model's device; None for a model that is called with something else.

        Raises:
            OochubError: The model does not read pixels of such channels, but patches of a picture or color numbers.
        """
        if pixel_values is None or pixel_values.ndim != 4 or pixel_values.shape[1] != len(self.std):
            raise OochubError(
                f"ODIN perturbs the pixels of a picture, and {type(model).__name__} is called with something else. "
                f"Leave out {either('odin=', '--odin')}."
            )
        with torch.enable_grad():
            x = pixel_values.detach().clone().requires_grad_(True)
            logits = model(pixel_values=x).logits
            loss = torch.nn.functional.cross_entropy(
                logits / self.temperature, logits.detach().argmax(1), reduction="sum"
            )
            (gradient,) = torch.autograd.grad(loss, x)
        std = torch.tensor(self.std, dtype=x.dtype, device=x.device).view(1, -1, 1, 1)
        return x.detach() - self.epsilon * gradient.sign() / std


def check_perturbation(epsilon: Any, temperature: Any = TEMPERATURE) -> tuple[float, float]:
    """Both as floats.

    Raises:
        OochubError: One of them is not a finite number above 0.

    >>> check_perturbation(0.0014)
    (0.0014, 1000.0)
    """
    for name, value, usual in (("odin", epsilon, 0.0014), ("odin_temperature", temperature, TEMPERATURE)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise OochubError(f"{name} must be a number above 0, got {value!r}. Usual is {usual:g}.")
    return float(epsilon), float(temperature)
