"""A report of detectors alone: its headline is about detection, and none of its mistakes is called out of context."""

import copy
import re

import detection_reports
import numpy as np
import pyarrow as pa
import pytest
import reports
from sklearn.metrics import roc_auc_score

import oochub
from oochub.report.verdict import verdict


@pytest.fixture(scope="module")
def sets():
    return [detection_reports.made("known", 300), _new("near", 0.7, seed=2), _new("far", 0.3, seed=3)]


def _new(config, scale, *, seed):
    """New classes whose logits are smaller by a factor."""
    made = detection_reports.made(config, 200, seed=seed, ood=True)
    table = made.table
    logits = pa.array(list(made.logits * np.float32(scale)))
    return made.with_table(table.set_column(table.column_names.index("logits"), "logits", logits))


@pytest.fixture(scope="module")
def report(sets):
    return oochub.evaluate(sets, detectors=["msp", "max_logit"], resamples=100)


def _best(known, new):
    """The larger AUROC of the two detectors, with scikit-learn."""
    logits = np.concatenate([known.logits, new.logits]).astype(np.float64)
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    scores = (exponentials.max(axis=1) / exponentials.sum(axis=1), logits.max(axis=1))
    is_known = np.repeat([1, 0], [len(known.logits), len(new.logits)])
    return max(roc_auc_score(is_known, score) for score in scores)


def test_the_headline_is_about_detection(sets, report):
    """Planted faults seen: the verdict on context, as it was; the first detector for the best."""
    near, far = sorted(100 * _best(sets[0], new) for new in sets[1:])
    answer = verdict(report)
    assert answer.case == "detection" and not answer.is_shown
    expected = f"The best detector for each of 2 pairs of sets finds new classes with AUROC {near:.1f} to {far:.1f}."
    assert answer.headline == expected
    one = oochub.evaluate([sets[0], sets[2]], detectors=["msp", "max_logit"], resamples=100)
    assert verdict(one).headline.startswith("New classes: ") and f"{far:.1f}" in verdict(one).headline
    for form, text in reports.rendered(report).items():
        assert not re.search("out.of.context|relies on|too few", text.split("slice,metric")[0], re.I), form


def test_the_page_says_nothing_of_a_side_that_is_not_there(report):
    """Planted faults seen: the rows of side and gap at the head; the caption of mistakes."""
    page = report.to_html()
    head, mistakes = page[page.index("<h1>") : page.index('id="slices"')], page[page.index('id="mistakes"') :]
    assert "gap" not in head and "n/a" not in head
    assert "Wrong answers with the highest loss, worst first." in mistakes
    assert report.mistakes and {mistake.role for mistake in report.mistakes} == {None}
    assert [mistake.loss for mistake in report.mistakes] == sorted((m.loss for m in report.mistakes), reverse=True)


def test_guessing_is_said():
    """The same rows as new classes: AUROC 50. Planted fault seen: the point for the lower end of the interval."""
    known = detection_reports.made("known", 400)
    again = detection_reports.made("again", 400, seed=9, ood=True)
    answer = verdict(oochub.evaluate([known, again], detectors=["msp"], resamples=100))
    assert answer.headline == "No detector is shown to find new classes better than guessing."


def test_beside_a_gap_the_verdict_is_on_context():
    """Planted fault seen: any report with detectors was judged by them."""
    content = copy.deepcopy(detection_reports.detection_report())
    assert verdict(reports.read(content)).case == "relies"
