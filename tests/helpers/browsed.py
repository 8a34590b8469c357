"""Predictions with what a page of all rows filters, their folder, and the page in a browser at a link."""

import time
from dataclasses import replace

import every_page
import numpy as np

import oochub
from oochub.browsing.browse import browse
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildFacts

CLASSES = ("cat", "dog", "polar bear")
PLACES = ("sofa", "grass", "snow")


def browsed_predictions(n=240, *, seed=0, cluster=None, images=True, skill=1.2, **more):
    """Three classes, each with a usual context, in two splits; wrong more often out of context."""
    rng = np.random.default_rng(seed)
    label, hard = rng.integers(0, 3, n), rng.random(n) < 0.4
    place = np.where(hard, (label + rng.integers(1, 3, n)) % 3, label)
    logits = rng.normal(size=(n, 3))
    logits[np.arange(n), label] += skill
    logits[np.arange(n), place] += 0.8
    columns = {
        "challenge": np.where(hard, "hard", "easy"),
        "context": np.array(PLACES)[place],
        "group": [f"{CLASSES[a]}/{PLACES[b]}" for a, b in zip(label, place, strict=True)],
        "example_id": [f"img_{row:05}" for row in range(n)],
        "split": np.where(rng.random(n) < 0.3, "validation", "test").tolist(),
    }
    if images:
        columns["thumbnail"] = [every_page._picture(row % 40) for row in range(n)]
    if cluster is not None:
        columns["hospital"] = [f"hospital {row % cluster}" for row in range(n)]
    made = Predictions.from_arrays(
        logits=logits.astype(np.float32), label=label, class_names=CLASSES, model="my-model", **columns | more
    )
    usual = {name: (place,) for name, place in zip(CLASSES, PLACES, strict=True)}
    facts = BuildFacts(usual_contexts=usual, cluster="hospital" if cluster is not None else None)
    return Predictions(made.table, replace(made.metadata, facts=facts))


def write_browsed(folder, predictions, **options):
    """Saves predictions and their report in a folder, and writes their page of all rows below it."""
    folder.mkdir(parents=True, exist_ok=True)
    predictions.save(folder / "predictions.parquet")
    report = oochub.evaluate(folder / "predictions.parquet", resamples=100)
    report.save(folder / "report.json")
    return browse(folder / "report.json", folder / "rows", **options)


class At:
    """The page of a folder at a link, as the browser of the tests takes a path."""

    def __init__(self, folder, fragment=""):
        self._address = (folder / "index.html").as_uri() + fragment

    def as_uri(self):
        """The address."""
        return self._address


def open_rows(browser, folder, fragment="", **view):
    """Shows the page of a folder at a link, and waits until it has counted its rows."""
    browser.call("Page.navigate", url="about:blank")  # else another fragment is no new page
    wait_for(browser, "location.href === 'about:blank'")
    browser.events.clear()
    browser.show(At(folder, fragment), **{"width": 1280} | view)
    wait_for(browser, "document.getElementById('count').textContent !== ''")


def wait_for(browser, condition):
    """Waits until an expression is true in the page."""
    deadline = time.monotonic() + 60
    while not browser.evaluate(condition):
        assert time.monotonic() < deadline, condition
        time.sleep(0.02)
