"""ODIN: the largest softmax probability at a high temperature, with or without a perturbed input."""

from oochub.detector import Detector
from oochub.eval_modules.detectors._hyperparameters import check_number
from oochub.eval_modules.detectors._softmax import largest_probability
from oochub.stats.array_checks import Array


class Odin(Detector):
    """s(x) = max_c softmax(l(x') / T)_c, x' = x - epsilon sign(grad_x CE(l / T, argmax l)) / std.

    With epsilon 0, x' is x: the score is that of `msp` at T, and needs the logits alone. Above 0 a gradient by the
    image is needed, which is taken where the model is: `predict(..., odin=epsilon)` stores the logits of x', and
    `score(odin_logits=...)` reads them. Nothing is fitted. The score is in [1/c, 1]; at T = 1000 all are near 1/c.

    x is what the model sees: pixels scaled to [0, 1], less a mean, divided by the processor's `std`. There the step is
    epsilon / std of each channel, so epsilon is a step of the scaled pixels, as in the released code of ODIN. The
    predictions say with which epsilon and T their odin_logits were made; `oochub.evaluate` refuses others.

    Args:
        temperature: T, above 0. Default 1000, as in the paper; its scores differ in the ninth digit, so they are
            float64.
        epsilon: Size of the perturbation, 0 or more. Default 0; the paper's 0.0014 is also ImageNet-OOD's ODIN with
            perturbation (its Table 3).

    Raises:
        OochubError: A hyperparameter out of range; logits (epsilon 0) or odin_logits (above) that are missing or not
            finite.

    Source: Liang, Li and Srikant 2018 (arXiv 1706.02690), Section 3; ImageNet-OOD, Table 3.

    >>> Odin().score(logits=[[9.0, 1.0], [1.0, 0.0]]).round(6).tolist()
    [0.502, 0.50025]
    >>> Odin(epsilon=0.0014).score_needs
    ('odin_logits',)
    """

    def __init__(self, *, temperature: float = 1000.0, epsilon: float = 0.0) -> None:
        super().__init__()
        self.temperature = check_number("temperature", temperature, low=0, above=True)
        self.epsilon = check_number("epsilon", epsilon, low=0)
        self.score_needs = ("odin_logits",) if self.epsilon else ("logits",)

    def _score(self, rows: dict[str, Array]) -> Array:
        return largest_probability(rows[self.score_needs[0]] / self.temperature)
