"""Making a report's page beside evaluating its predictions: `python speed/page.py`.

4,000 rows of two classes with a challenge column; the page has all but images. Interleaved rounds, CPU time.

Measured code: report, sections.
"""

import statistics
import time

import numpy as np
import pyarrow as pa

import oochub
from oochub.prediction.predictions import Predictions
from oochub.report.page import render_page

ROUNDS, ROWS, SECONDS = 5, 4000, 0.5


def predictions() -> Predictions:
    """Random logits that go with the label, a third of the rows out of context."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, ROWS)
    hard = np.where(label == 1, "hard_positive", "hard_negative")
    columns = {
        "example_id": [str(row) for row in range(ROWS)],
        "split": ["test"] * ROWS,
        "label": label,
        "logits": list(rng.normal(size=(ROWS, 2)).astype(np.float32) + np.eye(2, dtype=np.float32)[label]),
        "challenge": np.where(rng.random(ROWS) < 1 / 3, hard, "easy"),
        "group": rng.choice(["sea", "land"], ROWS),
    }
    metadata = {
        "benchmark": "nooch",
        "config": "ce_car",
        "version": "1.0.0",
        "model": {"id": "made", "revision": None, "mode": "head"},
    }
    return Predictions(pa.table(columns), metadata | {"class_names": ["no car", "car"], "rows": {"test": ROWS}})


def main() -> None:
    """Prints the table."""
    rows = predictions()
    report = oochub.evaluate(rows)
    render_page(report)  # warm
    ratios, pages = [], []
    for _ in range(ROUNDS):
        times = [time.process_time()]
        for run in (lambda: oochub.evaluate(rows), lambda: render_page(report)):
            run()
            times.append(time.process_time())
        pages.append(times[2] - times[1])
        ratios.append(pages[-1] / (times[1] - times[0]))
    seconds = statistics.median(pages)
    print("| what | ratio | page, s | bound, s | holds |\n|---|---|---|---|---|")
    holds = "yes" if seconds < SECONDS else "**no**"
    print(f"| page / evaluation | {statistics.median(ratios):.2f} | {seconds:.3f} | {SECONDS} | {holds} |")


if __name__ == "__main__":
    main()
