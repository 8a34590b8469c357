"""Detectors on declared groups of sets: the standard reading and the full spectrum against scikit-learn."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm
from sklearn import metrics as peer
from spectrum_sets import spectrum_report, spectrum_sets

import oochub
from oochub.builders.sources.imagenet_sets import SETS
from oochub.records.schema import from_json, to_json
from oochub.sections.near_and_far import _average_sets, _find_images
from oochub.stats.delong import delong
from oochub.stats.estimate import Estimate

SHIFTED, NEAR, FAR = ("imagenet_c", "imagenet_r"), ("ssb_hard", "ninco"), ("inaturalist", "textures")


@pytest.fixture(scope="module")
def sets():
    return spectrum_sets()


@pytest.fixture(scope="module")
def report():
    return spectrum_report()


def _peer_numbers(inside, outside):
    """The four numbers as OpenOOD's `auc_and_fpr_recall` has them, by the functions of scikit-learn that it calls."""
    score = np.concatenate([inside, outside])
    is_ood = np.repeat([0, 1], [len(inside), len(outside)])
    fpr, tpr, _ = peer.roc_curve(is_ood, -score)
    precision_in, recall_in, _ = peer.precision_recall_curve(1 - is_ood, score)
    precision_out, recall_out, _ = peer.precision_recall_curve(is_ood, -score)
    return {
        "auroc_new_class": peer.roc_auc_score(1 - is_ood, score),
        "fpr_at_tpr_ood": fpr[np.argmax(tpr >= 0.95)],
        "aupr_in": peer.auc(recall_in, precision_in),
        "aupr_out": peer.auc(recall_out, precision_out),
    }


def test_groups_in_both_readings_agree_with_scikit_learn(sets, report):
    """Faults planted and seen: a mean weighted by rows; shifted rows in the standard reading; the area by steps."""
    for name in ("msp", "energy"):
        detector = oochub.get("detector", name)()
        score = {config: detector.score(logits=part.logits) for config, part in sets.items()}
        for reading, known in (("standard", ["imagenet_1k"]), ("full_spectrum", ["imagenet_1k", *SHIFTED])):
            inside = np.concatenate([score[config] for config in known])
            for group, configs in (("near", NEAR), ("far", FAR)):
                wanted = [_peer_numbers(inside, score[config]) for config in configs]
                for metric in wanted[0]:
                    number = report[f"{name}/{reading}/{group}/{metric}"]
                    assert number.value == pytest.approx(np.mean([each[metric] for each in wanted]), abs=1e-12)
                    assert number.low < number.value < number.high
                    assert number.n == len(inside) + sum(len(score[config]) for config in configs)
                for config, each in zip(configs, wanted, strict=True):
                    auroc = report[f"{name}/{reading}/{group}/{config}/auroc_new_class"]
                    assert auroc.value == pytest.approx(each["auroc_new_class"], abs=1e-12)


def test_images_that_are_there_corrupted_too_are_resampled_together(report):
    """120 images, each there twice, 30 corrupted alone and 90 of imagenet_r are 240 in distribution, not 360."""
    standard, full = (
        report[f"msp/{reading}/near/ssb_hard/auroc_new_class"].method for reading in ("standard", "full_spectrum")
    )
    assert standard == "delong, logit"
    assert full == f"obuchowski, logit, {120 + 30 + 90 + 100} clusters"


def test_a_report_says_the_sets_of_each_reading(report):
    assert from_json(oochub.Report, to_json(report), what="the report")["msp/full_spectrum/far/aupr_in"].n == 480
    text = " ".join(report.to_markdown().replace("\\", "").split())
    for said in (
        "Near, full spectrum",
        "360 examples in distribution (imagenet_1k, imagenet_c and imagenet_r); 160 out of distribution (ssb_hard and",
        "120 examples in distribution (imagenet_1k); 120 out of distribution (inaturalist and textures), each set",
        "The full spectrum of OpenOOD v1.5 has imagenet_c, imagenet_r and imagenet_v2; here it is another.",
        "No predictions were given for shifted: imagenet_sketch, ",
        "; far: openimage_o.",
    ):
        assert said in text, said
    assert "Near, full spectrum" in report.to_html()


def test_without_shifted_sets_or_without_known_ones(sets):
    alone = oochub.evaluate([sets["imagenet_1k"], sets["ninco"]], detectors=["msp"], resamples=100)
    rows = alone.findings["near_and_far"].rows
    assert [(row.group, row.reading, row.new) for row in rows] == [("near", "standard", ("ninco",))]
    assert rows[0].metrics["auroc_new_class"] == alone["msp/imagenet_1k/ninco/auroc_new_class"]
    shifted = oochub.evaluate([sets["imagenet_r"], sets["ninco"]], detectors=["msp"], resamples=100)
    assert "near_and_far" not in (shifted.findings or {})


def test_every_shifted_set_of_the_builder_is_declared():
    spectrum = oochub.get("benchmark", "imagenet_ood").spectrum
    by_shift = {shift: {name for name, each in SETS.items() if each.shift == shift} for shift in ("none", "covariate")}
    assert {spectrum.known} == by_shift["none"]
    assert set(spectrum.shifted) == by_shift["covariate"] >= set(spectrum.published)
    for group, configs in spectrum.new.items():
        assert {SETS[config].shift for config in configs} == {"semantic"}
        assert {SETS[config].contexts[0] for config in configs} <= {group, "photo"}


def test_a_mean_over_sets():
    one = Estimate(0.5, low=0.4, high=0.6, n=10, method="m", reason="few")
    assert _average_sets([one], n=10) is one
    none = Estimate(0.7, n=10, method="m", reason="few; no interval")
    both = _average_sets([one, none], n=15)
    assert (both.value, both.n, both.reason) == (0.6, 15, "few; no interval") and np.isnan(both.low)


def test_the_interval_of_a_mean_covers():
    """Normal scores, two sets of 60 and 40 against 80 rows in common: 95% or more of 400 intervals hold the truth."""
    rng = np.random.default_rng(0)
    truth = np.mean([norm.cdf(shift / np.sqrt(2)) for shift in (1.0, 1.5)])
    hits = 0
    for _ in range(400):
        inside = rng.normal(size=80)
        estimates = []
        for shift, n in ((1.0, 60), (1.5, 40)):
            score = np.concatenate([inside, rng.normal(size=n) - shift])
            estimates.append(delong(np.repeat([1, 0], [80, n]), score))
        mean = _average_sets(estimates, n=180)
        hits += mean.low <= truth <= mean.high
    assert hits >= 380


def test_rows_of_one_image_are_told_where_an_image_is_there_twice():
    """Rows out of distribution do not count. Planted fault seen: images that are all there once."""

    def make(*ids, ood=()):
        column = {"example_id": np.array(ids)}
        return SimpleNamespace(predictions=SimpleNamespace(column=column.get), is_ood=np.isin(ids, ood))

    spectrum = SimpleNamespace(image_of=lambda name: name.partition("/")[0])
    plain, blurred = make("a/0", "b/0"), make("a/blur", "c/blur", "c/new", ood=["c/new"])
    assert _find_images([plain], spectrum) is None
    assert _find_images([plain, blurred], spectrum).tolist() == ["a", "b", "a", "c"]
    assert _find_images([plain, make("x", "b/1", ood=["b/1"])], spectrum) is None
    assert _find_images([plain, blurred], SimpleNamespace(image_of=None)) is None
