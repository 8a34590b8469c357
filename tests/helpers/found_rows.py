"""Rows of three classes with two found contexts, grass and sand, and answers that need the first."""

import io
from dataclasses import replace

import numpy as np
from PIL import Image

import oochub
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildFacts, FoundContexts
from oochub.records.schema import to_json

NAMES = ("grass", "sand")
CLASSES = ["cow", "camel", "bird"]
COUNTS = {"grass": {"cow": 90, "camel": 10, "bird": 50}, "sand": {"cow": 12, "camel": 80, "bird": 47}}
SIGNS = {"grass": {"cow": 1, "camel": -1, "bird": 0}, "sand": {"cow": -1, "camel": 1, "bird": 0}}


def rows(n=600, seed=0, effect=0.4):
    """Rows of three classes; a cow off grass is more often wrong by `effect`."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, n)
    grass = rng.random(n) < np.array([0.8, 0.15, 0.5])[label]
    sand = rng.random(n) < 0.4
    contexts = [[place for place, has in enumerate(pair) if has] for pair in zip(grass, sand, strict=True)]
    contexts[5] = None
    right = rng.random(n) < 0.85 - effect * ((label == 0) & ~grass)
    return {
        "label": label,
        "contexts": contexts,
        "chosen_on": rng.random(n) < 0.3,
        "answer": np.where(right, label, (label + 1) % 3),
    }


def predictions_of(made, *, columns=None, classes=CLASSES, named=None, **facts):
    """Predictions of the rows, with more columns, contexts by name, and what else is said of them."""
    known = {
        "way": "hand",
        "names": NAMES,
        "words": ("much green", "much yellow"),
        "chosen_rows": 300,
        "class_rows": dict.fromkeys(CLASSES, 100),
        "class_counts": COUNTS,
        "settings": {},
    } | facts
    predictions = Predictions.from_arrays(
        logits=np.eye(len(classes))[made["answer"]],
        label=made["label"],
        class_names=classes,
        contexts=named or [None if row is None else [NAMES[place] for place in row] for row in made["contexts"]],
        chosen_on=made["chosen_on"],
        **(columns or {}),
    )
    return with_facts(predictions, known)


def with_facts(predictions, known):
    """Predictions whose data are said to have found contexts."""
    found = BuildFacts(found_contexts=FoundContexts(**known))
    return Predictions(predictions.table, replace(predictions.metadata, facts=found))


def found_report(**facts):
    """A report with found contexts and images, and what else is said of them, as JSON."""
    made = rows(1200)
    columns = {"thumbnail": [jpeg(row % 256) for row in range(1200)]}
    return to_json(oochub.evaluate(predictions_of(made, columns=columns, **facts), resamples=100))


def jpeg(shade, size=(160, 120)):
    """The bytes of an image of one gray."""
    file = io.BytesIO()
    Image.new("RGB", size, (shade,) * 3).save(file, "JPEG")
    return file.getvalue()


def seven_contexts(**facts):
    """The same with seven contexts, images of five, as many as a report has, as JSON."""
    report = found_report(**facts)
    first, second = report["contexts"]["contexts"]
    names = ("grass", "sand", "tree trunk", "sky", "road", "snow", "water")
    findings = [dict(first if place % 2 == 0 else second, name=name) for place, name in enumerate(names)]
    bare = {"rows_usual": [], "rows_against": []}
    report["contexts"] |= {"contexts": findings[:5] + [each | bare for each in findings[5:]], "n_tests": 7}
    return report
