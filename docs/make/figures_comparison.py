"""Draws the figures of many models in docs/figures: made-up models, which lean on the context more or less."""

from pathlib import Path

import numpy as np
from matplotlib import pyplot

import oochub
from oochub.report.report import Report

SIZES = {"accuracy_on_the_line": (5.4, 5.2), "benchmark_matrix": (6.6, 7.2)}
"""The figures, and inches of each."""
_FIGURES = Path(__file__).parents[1] / "figures"
_ROWS, _MODELS, _ROBUST = 3000, 10, 7


def made_up(number: int, config: str, *, harder: float) -> Report:
    """The report of a model whose skill grows with its number; one of them loses less out of context.

    Args:
        number: Of the model.
        config: What the data are called.
        harder: How much the other context takes from a model's score.
    """
    rng = np.random.default_rng([number, len(config)])
    label, is_hard = rng.integers(2, size=_ROWS), rng.random(_ROWS) < 0.4
    lost = harder * (0.5 if number == _ROBUST else 1.0) + rng.normal(0, 0.08)
    score = (2 * label - 1) * (0.7 + 0.15 * number - lost * is_hard) + rng.normal(size=_ROWS)
    challenge = np.where(is_hard, np.where(label == 1, "hard_positive", "hard_negative"), "easy")
    return oochub.evaluate(
        oochub.Predictions.from_arrays(
            logits=np.stack([0 * score, score], axis=1),
            label=label,
            challenge=challenge,
            config=config,
            model=f"model {number}",
        )
    )


def main() -> None:
    """Writes both."""
    photos = [made_up(number, "photos", harder=0.6) for number in range(_MODELS)]
    sketches = [made_up(number, "sketches", harder=0.25) for number in range(0, _MODELS, 2)]
    for name, reports in (("accuracy_on_the_line", photos), ("benchmark_matrix", [*photos, *sketches])):
        figure, ax = pyplot.subplots(figsize=SIZES[name], layout="constrained")
        figure.suptitle("Made-up models", x=0.01, ha="left", fontsize=9)
        oochub.get("figure", name)(reports, ax=ax)
        figure.savefig(_FIGURES / f"{name}.png", dpi=150, metadata={"Software": None})
        pyplot.close(figure)


if __name__ == "__main__":
    main()
