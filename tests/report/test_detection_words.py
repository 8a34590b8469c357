"""What is said of detectors: each sentence planted once, claims only where the paired tests carry them, tables."""

from dataclasses import replace

import numpy as np
import pytest
import reports
from detection_reports import detection_report
from parsed_page import ParsedPage
from sklearn.metrics import roc_auc_score

from oochub.detection.detection_numbers import compare_detectors
from oochub.records.finding_records import DetectionRow, ProbeRow
from oochub.records.schema import from_json, to_json
from oochub.report import page as pages
from oochub.report.report import Report
from oochub.sections import new_classes as words
from oochub.stats.delong import paired_delong

render_page, to_frame = reports.reading(pages.render_page), reports.reading(Report.to_pandas)
to_markdown = reports.reading(Report.to_markdown)
_N = 400
_NUMBER = {"low": None, "high": None, "n": 800, "method": "delong", "reason": None}


def detection_row(detector, metrics, **against):
    """A row of one pair, of which only what is given matters."""
    metrics = {key: _NUMBER | number for key, number in metrics.items()}
    tests = {field: {goal: _NUMBER | test for goal, test in goals.items()} for field, goals in against.items()}
    content = {"detector": detector, "id_set": "in", "ood_set": "out", "n_id": 9, "n_ood": 9, "n_incorrect": 3}
    return from_json(DetectionRow, content | {"metrics": metrics} | tests, what="a row")


def probe_row(detector, beyond, **fields):
    """A row of a probe, of which only what is given matters."""
    content = {"probe": "zoom", "factor": 1.2, "detector": detector, "id_set": "in", "ood_set": "ood", "n_ood": 9}
    content |= {"n_correct": 1200, "n_kept": 1100} | dict.fromkeys(
        ("before", "after", "change"), _NUMBER | {"value": 0}
    )
    content |= {"beyond_msp": None if beyond is None else _NUMBER | beyond}
    return from_json(ProbeRow, content | fields, what="a row")


def _rows(strengths, *, n=_N, seed=0):
    """Rows of one pair: each detector's scores are the truth times its strength for each goal, plus shared noise."""
    rng = np.random.default_rng(seed)
    is_ood, correct = np.repeat([False, True], n), np.tile([True, True, True, False], n // 2)
    correct &= ~is_ood
    noise, own = rng.normal(size=2 * n), rng.normal(size=(len(strengths), 2 * n))
    scores = {
        key: new * ~is_ood + failure * correct + noise + 0.3 * mine
        for (key, (new, failure)), mine in zip(strengths.items(), own, strict=True)
    }
    against = compare_detectors(scores, is_ood, correct)
    return [
        detection_row(
            key,
            {
                "auroc_new_class": {"value": roc_auc_score(~is_ood, score)},
                "auroc_failure": {"value": roc_auc_score(correct, score)},
            },
            **to_json(against[key]._asdict()),
        )
        for key, score in scores.items()
    ]


def test_differences_are_delongs_against_the_best_and_msp():
    rng = np.random.default_rng(3)
    is_ood = rng.random(120) < 0.4
    correct = rng.random(120) < 0.7
    scores = {key: rng.normal(size=120) - by * is_ood for key, by in (("msp", 0.5), ("vim", 1.0), ("knn", 0.2))}
    differences = compare_detectors(scores, is_ood, correct)
    for goal, ahead in (("auroc_new_class", ~is_ood), ("auroc_failure", correct & ~is_ood)):
        best = max(scores, key=lambda key: roc_auc_score(ahead, scores[key]))
        assert goal not in differences[best].against_best and goal not in differences["msp"].against_msp
        for key in scores:
            for field, other in (("against_best", best), ("against_msp", "msp")):
                if key != other:
                    test = getattr(differences[key], field)[goal]
                    change, p_value = paired_delong(ahead, scores[key], scores[other])
                    assert test.other == other and test.estimate == pytest.approx(float(change), abs=1e-12)
                    assert test.p_value == pytest.approx(p_value, rel=1e-9)
    assert compare_detectors({"vim": scores["vim"]}, is_ood, correct) == {"vim": ({}, {})}
    alike = compare_detectors({"msp": scores["msp"], "twice": 2 * scores["msp"]}, is_ood, correct)
    assert alike["twice"].against_msp["auroc_failure"].p_value == 1.0
    nothing = compare_detectors(scores, np.zeros(120, bool), np.ones(120, bool))
    assert all(differences == ({}, {}) for differences in nothing.values())


@pytest.mark.parametrize(
    ("strengths", "new", "failure"),
    [
        ({"msp": (1, 1), "vim": (2, 2)}, "vim leads with AUROC", "vim beats msp."),
        ({"msp": (1, 1), "vim": (1, 1)}, "but no difference from", "no difference from msp is shown."),
        ({"msp": (2, 1), "vim": (1, 1)}, "msp leads with AUROC", "msp is shown to be better than vim."),
        ({"msp": (1, 2), "vim": (1, 0), "knn": (1, 0)}, "msp leads", "better than every other detector."),
        (
            {"msp": (1, 1), "vim": (1, 1), "knn": (0, 0)},
            "but no difference",
            "no detector is shown to beat msp; knn is",
        ),
        ({"msp": (1, 1), "vim": (2, 2), "knn": (0, 0)}, "vim leads", "vim beats msp; knn is worse."),
    ],
    ids=["better", "not-decided", "worse", "all-worse", "some-worse", "both"],
)
def test_each_case_is_planted(strengths, new, failure):
    rows = _rows(strengths)
    assert new in words._describe_new_classes(rows)
    assert failure in words._describe_failures(rows)


def test_a_lead_is_held_against_all_comparisons_at_once():
    """Of three detectors each test counts at 0.05 / 2. Planted fault seen: each held against 0.05."""

    def leads(p_value):
        test = {"auroc_new_class": {"value": -0.1, "p_value": p_value, "other": "a"}}
        rows = [
            detection_row(name, {"auroc_new_class": {"value": value}}, against_best=against)
            for name, value, against in (("a", 0.9, {}), ("b", 0.8, test), ("c", 0.7, test))
        ]
        assert words._find_among_best(rows, "auroc_new_class") == ({"a"} if p_value < 0.025 else {"a", "b", "c"})
        return " leads " in words._describe_new_classes(rows)

    assert leads(0.02) and not leads(0.03)


def test_without_tests_nothing_is_claimed():
    """A report of before has values only; a lone detector and a missing MSP have no comparison."""
    rows = [replace(row, against_best={}, against_msp={}) for row in _rows({"msp": (1, 1), "vim": (3, 3)})]
    assert words._describe_new_classes(rows).endswith("the differences were not tested.")
    assert words._describe_failures(rows) == ""
    assert words._describe_failures(_rows({"energy": (1, 1), "vim": (3, 3)})) == ""
    undefined = {"auroc_new_class": {"value": None, "reason": "no such row"}}
    assert words._describe_new_classes([detection_row("msp", undefined)]).endswith(": n/a, no such row.")


def test_probe_words():
    falls = probe_row("vim", {"value": -0.2, "low": -0.3, "high": -0.1})
    rises = probe_row("knn", {"value": -0.2, "low": -0.3, "high": 0.1})
    msp = probe_row("msp", None)
    assert words._describe_probe([msp, falls, rises]).endswith("among the scores of ood, vim falls further than msp.")
    assert words._describe_probe([msp, rises]).endswith("no detector is shown to fall further than msp.")
    assert words._describe_probe([msp]).endswith("1\u202f100 of 1\u202f200 correct predictions are unchanged.")
    unknown = probe_row("knn", {"value": None}, factor=None)
    assert (
        words._describe_probe([unknown]) == "After a zoom, 1\u202f100 of 1\u202f200 correct predictions are unchanged."
    )


def _shown(estimate, key, *, signed=False):
    text = f"{100 * estimate[key]:{'+' if signed else ''}.1f}".replace("-", "−")
    return "0.0" if text in ("+0.0", "−0.0") and estimate[key] == 0 else text


def test_every_number_is_on_the_page_and_in_markdown():
    """Both goals, FPR@95 and what is discarded, each with its interval; the ranks of the probe; the sentences."""
    report = detection_report()
    page, text = ParsedPage(render_page(report)).words, to_markdown(report)
    for row in report["detection"]:
        for metric in ("auroc_new_class", "auroc_failure", "fpr_at_tpr_id", "correct_discarded"):
            estimate = row["metrics"][metric]
            interval = f"{_shown(estimate, 'low')} to {_shown(estimate, 'high')}"
            assert f"{_shown(estimate, 'value')}{interval}" in page
            assert f"{_shown(estimate, 'value')}<br>{interval}" in text
    for row in report["probes"]:
        for key in ("before", "after", "change", "beyond_msp"):
            if row[key] is not None:
                signed = key in ("change", "beyond_msp")
                ends = " to ".join(_shown(row[key], end, signed=signed) for end in ("low", "high"))
                assert f"{_shown(row[key], 'value', signed=signed)}{ends}" in page
                assert ends in text
    for pair in words._group_detection(reports.read(report)):
        for sentence in words._write_findings(pair.rows):
            assert sentence.replace("_", "\u202f") in page and sentence.replace("_", r"\_") in text
    assert "300 examples in distribution, 74 of them answered wrong; 200 out of distribution." in page


def test_the_section_is_left_out_without_detectors_and_the_probe_without_probes():
    report = detection_report()
    html = render_page(report)
    assert html.count('id="detection"') == html.count('href="#detection"') == 1 and "Zoom: " in html
    del report["probes"]
    assert "Zoom" not in render_page(report)
    del report["detection"]
    assert "detection" not in render_page(report) and "AUROC" not in to_markdown(report)


def test_bold_is_the_best_and_what_its_test_does_not_tell_from_it():
    rows = _rows({"msp": (1, 1), "vim": (1, 1), "knn": (0, 0)})
    assert words._find_among_best(rows, "auroc_new_class") == {"msp", "vim"}
    page = render_page(detection_report()).partition('id="detection"')[2]
    bold = {name: page.count(f'<th scope="row">{name}</th>') for name in ("max_cosine", "ash_b")}
    assert bold == {"max_cosine": 4, "ash_b": 4}
    first = page.partition("max_cosine</th>")[2].partition("</tr>")[0]
    assert first.count("<b>") == 2


def test_marks_stand_where_the_numbers_say():
    """The chart of the first row of the second pair: positions on the axis from 0 to 80, worked from the report."""
    report = detection_report()
    pair = words._group_detection(reports.read(report))[1]
    page = render_page(report).partition("imagenet_1k against far_ood</h3>")[2]
    chart = page.partition("</thead>")[2].partition("</svg></svg></td>")[0]
    for goal, color in (("auroc_new_class", "ood"), ("auroc_failure", "wrong")):
        value = pair.rows[0].metrics[goal]
        at = float(chart.partition(f'class="{color}">')[0].rpartition('<svg x="')[2].partition("%")[0])
        assert at == pytest.approx(100 * value / 0.8, abs=0.006)


def test_many_pairs_stay_within_the_limit_of_a_page():
    """80 rows of detectors and 40 of the probe: 13 and 6 pairs of six detectors; the others are left out."""
    report = detection_report()
    for field in ("detection", "probes"):
        first = [row for row in report[field] if row["ood_set"] == "near_ood"]
        report[field] = [row | {"ood_set": f"ood_{k}"} for k in range(15) for row in first]
    page = render_page(report, images=False)
    assert page.count("against ood_") == 2 * (13 + 6)  # a heading and a caption each
    assert "2 more pairs of sets are in report.json" in page
    assert "The zoom on 9 more pairs of sets is in report.json." in page
    assert len(page.encode()) < 250_000
