"""Repair of a last layer beside one fit of it by scikit-learn: `python speed/repairing.py`.

4,000 rows of two classes with 512 features. Repair fits, chooses and proves heads on three divisions of the rows; the
floor is one logistic regression of half of the rows. CPU time in one thread, interleaved rounds, medians.

Measured code: repairs, trainers.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import statistics
import sys
from functools import partial
from pathlib import Path

import numpy as np
from heads import seconds
from sklearn.linear_model import LogisticRegression

from oochub.prediction.predictions_file import StoredHead
from oochub.repairing import repair_predictions
from oochub.settings.repair_settings import RepairSettings

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
from repair_rows_by_hand import predictions_by_hand

ROWS, WIDTH, ROUNDS, SECONDS = 4000, 512, 3, 10
_SHARES = {"train": 0.4, "validation": 0.3, "test": 0.3}


def main() -> None:
    """Prints the table."""
    import torch

    torch.set_num_threads(1)
    weight = np.zeros((2, WIDTH), np.float32)
    weight[:, :2] = [[-0.4, -1.0], [0.4, 1.0]]
    head = StoredHead(weight=weight, bias=np.zeros(2, np.float32))
    shares = {split: (round(0.4 * share * ROWS), round(0.1 * share * ROWS)) for split, share in _SHARES.items()}
    rows = predictions_by_hand(shares, head=head, more_features=WIDTH - 2)
    half = slice(None, len(rows) // 2)
    floor = partial(LogisticRegression(max_iter=500).fit, rows.features[half], rows.label[half])
    repair = partial(repair_predictions, rows, RepairSettings())
    rounds = [(seconds(repair), seconds(floor)) for _ in range(1 + ROUNDS)][1:]
    ratios = [own / one for own, one in rounds]
    own = statistics.median(own for own, _ in rounds)
    print("| what | seconds | ratio | rounds | bound | holds |\n|---|---|---|---|---|---|")
    holds = "yes" if own <= SECONDS else "**no**"
    numbers = f"{own:.1f} | {statistics.median(ratios):,.0f} | {min(ratios):,.0f} to {max(ratios):,.0f}"
    what = f"repair of {ROWS:,} x {WIDTH} / one logistic regression of half of the rows"
    print(f"| {what} | {numbers} | {SECONDS} s | {holds} |")


if __name__ == "__main__":
    main()
