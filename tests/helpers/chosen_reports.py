"""Predictions of a world with one bad place, rows chosen there after looking, and the reports of both readings."""

from pathlib import Path

import numpy as np

import oochub
from oochub.data.declaration import find_declaration
from oochub.evaluation.row_selection import find_half

NAMES = ["cat", "dog", "red fox"]
PLACES = ["grass", "sea ice", "snow & rain"]


def snowy_predictions(rows: int = 900, *, seed: int = 0, bad: float = 0.4, **columns: object) -> oochub.Predictions:
    """Dogs in snow are right in a share `bad` of the rows, everything else in 0.9."""
    rng = np.random.default_rng(seed)
    label, place = rng.integers(0, 3, rows), rng.integers(0, 3, rows)
    right = rng.random(rows) < np.where((label == 1) & (place == 2), bad, 0.9)
    answer = np.where(right, label, (label + 1) % 3)
    given: dict[str, object] = {
        "context": np.array(PLACES)[place],
        "group": [f"{NAMES[k]}/{PLACES[p]}" for k, p in zip(label, place, strict=True)],
        "age": rng.integers(0, 50, rows),
        "example_id": [f"{seed}-{number}" for number in range(rows)],
    }
    return oochub.Predictions.from_arrays(
        logits=np.eye(3)[answer] * rng.uniform(0.5, 4, rows)[:, None],
        label=label,
        class_names=NAMES,
        config="snowy",
        model="tiny",
        **{**given, **columns},
    )


def wrong_dogs(predictions: oochub.Predictions, folder: Path, *, shown: str = "half") -> Path:
    """The file of the wrong dogs in snow, as a page that shows a half (or "all") of the rows exports it."""
    half = find_half(predictions, find_declaration(predictions))
    is_bad = (predictions.label == 1) & (predictions.column("context") == PLACES[2])
    chosen = is_bad & (predictions.prediction != predictions.label) & (half | (shown == "all"))
    lines = ["# label=dog&context=snow%20%26%20rain&outcome=wrong", f"# looked at: {shown}", "# data: custom/snowy"]
    pairs = zip(predictions.split[chosen], predictions.column("example_id")[chosen], strict=True)
    file = folder / "ids.txt"
    file.write_text("\n".join([*lines, *(f"{split}\t{example}" for split, example in pairs)]) + "\n")
    return file


def chosen_report(folder: Path, *, unseen: bool = False) -> oochub.Report:
    """The report on the chosen rows, or on their rule in the half that was kept back."""
    predictions = snowy_predictions()
    file = wrong_dogs(predictions, folder)
    report: oochub.Report = oochub.evaluate(predictions, rows=str(file), unseen=unseen, resamples=100)
    return report
