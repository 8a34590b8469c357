"""Findings about contexts, against plain loops over rows."""

from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from found_rows import CLASSES, COUNTS, NAMES, SIGNS, predictions_of, rows

import oochub
from oochub.evaluation.context_findings import _explain_untold
from oochub.records.build_record import ContextCheck
from oochub.report.verdict import verdict

evaluation = import_module("oochub.evaluation.evaluate")


def looped(made, context):
    """The gap, and how many rows are as usual and against, by a loop over classes and rows."""
    place, parts, n_usual, n_against = NAMES.index(context), [], 0, 0
    for number, name in enumerate(CLASSES):
        sign, usual, against = SIGNS[context][name], [], []
        for row in range(len(made["label"])):
            if made["label"][row] != number or made["chosen_on"][row] or made["contexts"][row] is None or sign == 0:
                continue
            has = place in made["contexts"][row]
            (usual if has == (sign == 1) else against).append(made["answer"][row] == number)
        if usual and against:
            weight = len(usual) * len(against) / (len(usual) + len(against))
            parts.append((weight, np.mean(against) - np.mean(usual)))
            n_usual, n_against = n_usual + len(usual), n_against + len(against)
    return sum(w * gap for w, gap in parts) / sum(w for w, _ in parts), n_usual, n_against


@pytest.mark.parametrize("seed", range(3))
def test_gaps_are_those_of_a_loop(seed):
    made = rows(seed=seed)
    found = oochub.evaluate(predictions_of(made), resamples=100).contexts
    assert {each.name for each in found.contexts} == set(NAMES)
    assert found.n_tested == sum(
        not chosen and contexts is not None
        for chosen, contexts in zip(made["chosen_on"], made["contexts"], strict=True)
    )
    for each in found.contexts:
        gap, n_usual, n_against = looped(made, each.name)
        assert (each.gap, each.n_usual, each.n_against) == (pytest.approx(gap, abs=1e-12), n_usual, n_against)
        assert {part.label: part.role for part in each.classes} == {
            name: {1: "usual", -1: "unusual", 0: "neither"}[sign] for name, sign in SIGNS[each.name].items()
        }
        cow = each.classes[0]
        has = [not c and x is not None and NAMES.index(each.name) in x for c, x in _rows(made)]
        of_cows = [label == 0 for label in made["label"]]
        right = [a == label for a, label in zip(made["answer"], made["label"], strict=True)]
        with_it = [r for r, h, cow_ in zip(right, has, of_cows, strict=True) if h and cow_]
        assert (cow.accuracy_with, cow.accuracy_with.n) == (pytest.approx(np.mean(with_it)), len(with_it))
        assert each.n == sum(has)


def _rows(made):
    return zip(made["chosen_on"], made["contexts"], strict=True)


def test_what_matters_is_shown_and_nothing_else():
    found = {each.name: each for each in oochub.evaluate(predictions_of(rows(3000)), resamples=100).contexts.contexts}
    assert found["grass"].status == "shown" and found["grass"].gap.high < 0
    assert found["grass"].adjusted_p_value == pytest.approx(2 * found["grass"].p_value)
    assert found["sand"].status == "not shown"
    few = oochub.evaluate(predictions_of(rows(14)), resamples=100).contexts
    assert [each.status for each in few.contexts] == ["too few", "too few"] and few.n_tests == 0


def test_one_of_many_is_shown_only_where_it_is_corrected():
    """Ten copies of a context whose p-value alone lies below 0.05: by Holm each is ten times that, and not shown."""
    copies = tuple(f"copy {k}" for k in range(10))
    facts = {"names": copies, "words": copies, "class_counts": dict.fromkeys(copies, COUNTS["grass"])}
    seen = set()
    for seed in (2, 0, 6):  # neither, the p-value alone, both
        made = rows(400, seed, effect=0.25)
        every = [None if of is None else list(copies) * (0 in of) for of in made["contexts"]]
        found = oochub.evaluate(predictions_of(made, named=every, **facts), resamples=100).contexts
        p_value = found.contexts[0].p_value
        assert found.n_tests == 10 and {each.p_value for each in found.contexts} == {p_value}
        assert found.contexts[0].adjusted_p_value == pytest.approx(min(1, 10 * p_value))
        assert {each.status for each in found.contexts} == {"shown" if 10 * p_value <= 0.05 else "not shown"}
        seen.add((p_value <= 0.05, 10 * p_value <= 0.05))
    assert seen == {(False, False), (True, False), (True, True)}


def test_rows_of_a_cluster_are_not_counted_as_independent(monkeypatch):
    """Each row five times, as one cluster: p-values are near those of the rows once, intervals as wide."""
    made = rows(400, effect=0.2)
    copies = np.repeat(np.arange(400), 5)
    once, alone, found = _once_and_copied(made, copies, monkeypatch)
    for name in NAMES:
        first, copied, clustered = (
            next(each for each in of.contexts if each.name == name) for of in (once, alone, found)
        )
        assert clustered.gap == pytest.approx(first.gap, abs=1e-9) and "clusters" in clustered.gap.method
        assert "clusters" in clustered.having.method
        assert clustered.p_value == pytest.approx(first.p_value, abs=0.05) and copied.p_value < clustered.p_value
        widths = [each.gap.high - each.gap.low for each in (first, copied, clustered)]
        assert widths[2] == pytest.approx(widths[0], rel=0.15) and widths[1] < 0.6 * widths[2]
        for of_class, of_copies in zip(first.classes, clustered.classes, strict=True):
            for side in ("accuracy_with", "accuracy_without"):
                wide, own = getattr(of_class, side), getattr(of_copies, side)
                assert own.high - own.low == pytest.approx(wide.high - wide.low, rel=0.4)


def _once_and_copied(made, copies, monkeypatch):
    """The findings of the rows, of their copies as independent rows, and of copies as clusters."""
    many = {name: [values[row] for row in copies] for name, values in made.items()}
    many |= {"label": made["label"][copies], "answer": made["answer"][copies]}
    five = predictions_of(many, columns={"user": copies})
    once, alone = (oochub.evaluate(each, resamples=200).contexts for each in (predictions_of(made), five))
    declared = evaluation.find_declaration
    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "find_declaration", lambda part: replace(declared(part), cluster="user"))
        return once, alone, oochub.evaluate(five, resamples=200).contexts


def test_effects_by_role_are_of_clusters(monkeypatch):
    """Grass is harder for all, which copies as rows make surer, and as clusters do not."""
    made, number = rows(400, effect=0.0), np.arange(400)
    grass = np.array([0 in (own or []) for own in made["contexts"]])
    errs = np.where(grass, number % 2 == 0, number % 6 == 0)
    made["answer"] = np.where(errs, (made["label"] + 1) % 3, made["label"])
    several = _once_and_copied(made, np.repeat(number, 5), monkeypatch)
    once, copied, clustered = ({each.name: each for each in of.contexts}["grass"].alike_p_value for of in several)
    assert copied < once / 1000 and clustered == pytest.approx(once, rel=0.3)


def test_pictures_that_are_harder_for_every_class_are_no_reliance():
    """Grass makes cows, for whom it is usual, and camels, for whom it is unusual, harder alike: it is named so."""
    rng = np.random.default_rng(0)
    made = rows(3000, effect=0.0)
    grass = np.array([0 in (own or []) for own in made["contexts"]])
    wrong = grass & (rng.random(3000) < 0.3)
    made["answer"] = np.where(wrong, (made["label"] + 1) % 3, made["answer"])
    found = {each.name: each for each in oochub.evaluate(predictions_of(made), resamples=100).contexts.contexts}
    assert found["grass"].status == "harder for all" and found["grass"].alike_p_value < 0.001
    assert found["grass"].having.high < -0.15 and found["grass"].p_value > 0.05
    assert found["sand"].status == "not shown"
    lighter = made | {"answer": np.where(~grass & (rng.random(3000) < 0.5), (made["label"] + 1) % 3, made["label"])}
    easier = {each.name: each for each in oochub.evaluate(predictions_of(lighter), resamples=100).contexts.contexts}
    assert easier["grass"].status == "easier for all"
    uneven = made | {"answer": np.where(grass & (made["label"] == 1), (made["label"] + 1) % 3, made["answer"])}
    shown = {each.name: each for each in oochub.evaluate(predictions_of(uneven), resamples=100).contexts.contexts}
    assert shown["grass"].status == "harder for all"  # camels more than cows, and both for certain


def test_one_class_that_errs_cannot_be_told_from_harder_pictures():
    """Cows err off grass; camels and birds never err at all, so that nothing says whether grass is easier for all."""
    made = rows(3000)
    sure = made | {"answer": np.where(made["label"] == 0, made["answer"], made["label"])}
    report = oochub.evaluate(predictions_of(sure), resamples=100)
    grass = next(each for each in report.contexts.contexts if each.name == "grass")
    assert grass.gap.high < 0 and grass.p_value > 0.05 and grass.status == "not shown"
    assert (
        grass.reason
        == "the errors of other classes do not separate the gap from that of images that are harder for all"
    )
    assert verdict(report).lead.endswith(f", but {grass.reason}.") and grass.reason in report.to_html()


def test_wrong_labels_give_the_gap_bounds():
    """With one label in ten wrong of either kind the gap is 0.8 of the true one."""
    many = 10**7
    both = ContextCheck(wrong_with=many // 10, checked_with=many, wrong_without=many // 10, checked_without=many)
    one = ContextCheck(wrong_with=many // 5, checked_with=many, wrong_without=0, checked_without=many)
    made = rows()
    found = oochub.evaluate(predictions_of(made, checks={"grass": both, "sand": one}), resamples=100).contexts
    by_name = {each.name: each for each in found.contexts}
    grass, sand = by_name["grass"], by_name["sand"]
    assert grass.bounds == pytest.approx(grass.gap / 0.8) and grass.bounds.low < grass.gap.low / 0.8
    assert grass.shrinkage == pytest.approx(0.8) and grass.worst_case == grass.gap
    assert grass.worst_case.low < grass.bounds.low and grass.worst_case.high > grass.bounds.high
    # sand is usual for camels: cows with sand and camels without are against
    rate = {True: 0.2, False: 0.0}  # of rows with sand, and without
    shares = []
    for is_against in (True, False):
        rates = [
            rate[NAMES.index("sand") in places]
            for label, places, chosen in zip(made["label"], made["contexts"], made["chosen_on"], strict=True)
            if places is not None and not chosen and label < 2
            and ((1 in places) != (label == 1)) == is_against
        ]  # fmt: skip
        shares.append(np.mean(rates))
    assert sand.bounds == pytest.approx(sand.gap / (1 - sum(shares)), rel=1e-3)
    assert oochub.evaluate(predictions_of(made), resamples=100).contexts.contexts[0].bounds is None


@pytest.mark.parametrize(
    ("way", "settings", "said"),
    [
        ("clusters", {"region": "picture", "model": "abc"}, "come from the model under audit"),
        ("clusters", {"region": "picture", "model": "other", "knows_classes": 1.0}, "itself separates these classes"),
        ("clusters", {"region": "picture", "model": "other"}, "nearly match the answers of the model"),
        ("clusters", {"region": "rim", "model": "abc"}, None),
        ("captions", {"region": "picture", "model": "abc"}, None),
    ],
)
def test_clusters_of_whole_images_by_the_model_itself_tell_nothing(way, settings, said):
    """Planted fault seen: other ways in place of clusters."""
    answered = np.repeat([0, 1], 10)
    tested = SimpleNamespace(
        facts=SimpleNamespace(way=way, settings=settings, model="an encoder"),
        predictions=SimpleNamespace(metadata=SimpleNamespace(model=SimpleNamespace(revision="abc"))),
        rows=np.arange(20),
        has=np.eye(2, dtype=bool)[answered],
    )
    found = _explain_untold(tested, answered)
    assert found is None if said is None else said in found
