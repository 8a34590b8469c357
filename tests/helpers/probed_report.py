"""A report with the probe of backgrounds: made-up answers, all numbers computed from them."""

import numpy as np
from found_rows import found_report

from oochub.probing.altered_answers import ON_LENT, VARIANTS
from oochub.probing.background_numbers import compare_answers
from oochub.records.finding_records import BackgroundProbe
from oochub.records.schema import to_json


def probe(n=60, seed=0, **more):
    """Sixty rows of three classes; on another class's background and without the object it is more often wrong."""
    generator = np.random.default_rng(seed)
    label = generator.integers(0, 3, n)
    sure = {"original": 2.0, "object_alone": 1.5, "background_alone": 0.3, "mixed_same": 1.7, "mixed_rand": 0.2}
    sure["pasted_back"] = 1.9
    logits = {name: generator.normal(size=(n, 3)) + by * np.eye(3)[label] for name, by in sure.items()}
    for name in ON_LENT:  # two backgrounds of each kind
        logits[name] = np.stack([logits[name], generator.normal(size=(n, 3)) + sure[name] * np.eye(3)[label]], axis=1)
    made = compare_answers(label, logits["original"], {name: logits[name] for name in VARIANTS})
    told = {
        "area": "the masks in masks",
        "split": "test",
        "lenders": "all",
        "n_lenders": 40,
        "n": n,
        "seed": 0,
        "most": 1000,
    }
    told |= {"left_out": {"the area of the object is empty": 3}, "variants": made.variants}
    told |= {"backgrounds": 2, "draw_deviation": made.draw_deviation, "is_whole": False}
    return BackgroundProbe(**{**told, "gap": made.gap, "gap_log_odds": made.gap_log_odds, **more})


def probed_report(**more):
    """The content of such a report."""
    return {**found_report(), "background": to_json(probe(**more))}
