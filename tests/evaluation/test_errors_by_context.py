"""Where the errors go: the share and the matrices against loops over the rows, on made-up answers and on toy worlds."""

import math
from collections import Counter
from importlib import import_module

import numpy as np
import pyarrow as pa
import pytest
from datasets import load_dataset
from sklearn.linear_model import LogisticRegression

import oochub
from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious
from oochub.records.build_record import BuildRecord
from oochub.records.schema import to_json
from oochub.report.report import Report
from oochub.stats.proportion import wilson

CLASSES = ["bulldog", "corgi", "dachshund", "labrador"]
PLACES = ["beach", "desert", "jungle", "snow"]
# two classes share a most frequent context, one has two equal ones, one context is nobody's
COUNTS = {"bulldog/snow": 9, "corgi/snow": 7, "corgi/beach": 2, "dachshund/jungle": 5, "dachshund/beach": 5}
COUNTS |= {"labrador/jungle": 8, "labrador/desert": 1, "bulldog/beach": 0}
OWN = {"bulldog": {"snow"}, "corgi": {"snow"}, "dachshund": {"jungle", "beach"}, "labrador": {"jungle"}}
evaluation = import_module("oochub.evaluation.evaluate")


def predicted(label, context, answer, *, facts, names=CLASSES, benchmark="spawrious", column="background", **more):
    """Predictions that name these answers."""
    logits = np.eye(len(names), dtype=np.float32)[answer] * 3
    rows = {"example_id": [str(k) for k in range(len(label))], "split": ["test"] * len(label), "label": label}
    rows |= {"logits": logits.tolist(), column: context, **more}
    rows["group"] = [f"{names[y]}/{where}" for y, where in zip(label, context, strict=True)]
    told = {"model": {"id": "m"}, "class_names": names, "rows": {"test": len(label)}, "facts": facts}
    config = {"spawrious": "o2o_hard"}.get(benchmark, "own")
    return oochub.Predictions(pa.table(rows), told | {"benchmark": benchmark, "config": config, "version": "1.0.0"})


def by_loop(label, context, answer, own, names):
    """For every context and for all: (n, errors, can tell, hits, chance), chance also by how often each is answered."""
    given = Counter(answer)
    found = {}
    for place in [*sorted(set(context)), None]:
        n = wrong = hits = 0
        even, of_answers = [], []
        for y, where, a in zip(label, context, answer, strict=True):
            if place not in (None, where):
                continue
            n, wrong = n + 1, wrong + (y != a)
            there = [k for k, name in enumerate(names) if where in own[name] and k != y]
            if y == a or not there or len(there) == len(names) - 1:
                continue
            hits += a in there
            even.append(len(there) / (len(names) - 1))
            others = sum(given[k] for k in range(len(names)) if k != y)
            of_answers.append(sum(given[k] for k in there) / others)
        mean = [sum(each) / len(each) if each else math.nan for each in (even, of_answers)]
        found[place] = (n, wrong, len(even), hits, *mean)
    return found


def made_up(rows=600, classes=CLASSES):
    rng = np.random.default_rng(4)
    label, context = rng.integers(0, len(classes), rows), rng.choice(PLACES, rows)
    answer = np.where(rng.random(rows) < 0.5, label, rng.choice(len(classes), rows, p=[0.1, 0.2, 0.3, 0.4]))
    return label.tolist(), context.tolist(), answer.tolist()


def test_share_and_matrices_are_those_of_a_loop():
    """reference: loops over the rows, Wilson's interval of their count."""
    label, context, answer = made_up()
    report = oochub.evaluate(predicted(label, context, answer, facts={"group_counts": COUNTS}), resamples=100)
    errors, loop = report.errors, by_loop(label, context, answer, OWN, CLASSES)
    assert errors.source == "counts" and errors.split == "test"
    assert {name: set(of) for name, of in errors.trained.items()} == OWN
    n, wrong, tells, hits, even, of_answers = loop[None]
    assert (errors.n_errors, errors.share.n) == (wrong, tells) and 0 < hits < tells < wrong
    assert errors.share.to_dict() == wilson(hits, tells).to_dict()
    assert (errors.chance, errors.chance_of_answers) == (pytest.approx(even), pytest.approx(of_answers))
    assert report["error_share"].value == errors.share.value
    by_name = {each.context: each for each in errors.contexts}
    assert list(by_name) == sorted(set(context), key=lambda place: (-loop[place][1], place))
    for place, here in by_name.items():
        n, wrong, tells, hits, even, _ = loop[place]
        assert (here.n, here.n_errors, here.share.n) == (n, wrong, tells)
        assert set(here.classes) == {name for name in CLASSES if place in OWN[name]}
        if tells:
            assert here.share.to_dict() == wilson(hits, tells).to_dict() and here.chance == pytest.approx(even)
        else:
            assert math.isnan(here.share) and math.isnan(here.chance) and place == "desert"
            assert here.share.reason == "no error in a context of some of the other classes"
        cells = {(cell.label, cell.predicted): cell.n for cell in here.confusion}
        pairs = zip(label, context, answer, strict=True)
        assert cells == Counter((CLASSES[y], CLASSES[a]) for y, where, a in pairs if where == place)


def test_one_answer_alone_is_what_the_answers_explain():
    """A model that mostly says one class: that share is no sign of the context. Planted fault: only the even chance."""
    label, context = [1, 2, 3] * 40, ["snow"] * 120  # a context of bulldog and corgi
    answer = [0] * 114 + [2, 3, 1] * 2
    errors = oochub.evaluate(predicted(label, context, answer, facts={"group_counts": COUNTS}), resamples=100).errors
    assert errors.share > 0.95 and errors.chance < 0.6 and abs(errors.share - errors.chance_of_answers) < 0.03


@pytest.mark.parametrize(
    ("names", "answer", "reason"),
    [(CLASSES[:2], [1, 0, 1, 0], "of two classes an error has one place to go"), (CLASSES, [0, 1, 0, 1], "no errors")],
)
def test_what_no_error_can_tell_is_undefined(names, answer, reason):
    """Planted fault seen: a share of 0 where there is no error."""
    counts = {"bulldog/snow": 3, "corgi/beach": 3}
    made = predicted(
        [0, 1, 0, 1], ["snow", "beach", "beach", "snow"], answer, facts={"group_counts": counts}, names=names
    )
    errors = oochub.evaluate(made, resamples=100).errors
    assert math.isnan(errors.share) and math.isnan(errors.chance) and errors.share.reason == reason
    assert sum(cell.n for here in errors.contexts for cell in here.confusion) == 4


def test_own_data_go_by_their_usual_contexts():
    label, context, answer = made_up()
    usual = {name: sorted(places) for name, places in OWN.items()}
    made = predicted(
        label, context, answer, facts={"usual_contexts": usual}, benchmark="custom", column="context",
        challenge=["easy", "hard"] * 300,
    )  # fmt: skip
    errors, loop = oochub.evaluate(made, resamples=100).errors, by_loop(label, context, answer, OWN, CLASSES)[None]
    assert errors.source == "usual" and errors.share.to_dict() == wilson(loop[3], loop[2]).to_dict()


def test_without_contexts_or_what_training_showed_there_is_nothing():
    label, context, answer = made_up()
    for made in (
        predicted(label, context, answer, facts={}),
        predicted(label, context, answer, facts={"group_counts": COUNTS}, column="elsewhere"),
    ):
        report = oochub.evaluate(made, resamples=100)
        assert report.errors is None and "errors" not in to_json(report) and "error_share" not in report


def test_matrices_beyond_the_limit_are_left_out_and_the_share_stays(tmp_path):
    """80 classes that are all confused, in two contexts: the second matrix would pass the 5,000 cells of a report."""
    names = [f"class {k}" for k in range(80)]
    label, answer = (each.ravel().tolist() for each in np.indices((80, 80)))
    counts = {f"{name}/{'sea' if k < 40 else 'land'}": 1 for k, name in enumerate(names)}
    rows = [label[:4800] + label, answer[:4800] + answer]
    context = ["sea"] * 4800 + ["land"] * 6400
    made = predicted(rows[0], context, rows[1], facts={"group_counts": counts}, names=names)
    place = made.table.column_names.index("group")
    table = made.table.set_column(place, "group", pa.array(["bulldog/beach"] * len(made)))  # a group that there is
    report = oochub.evaluate(made.with_table(table), resamples=100)
    sizes = {here.context: len(here.confusion) for here in report.errors.contexts}
    assert sizes == {"sea": 4800, "land": 0} and report.errors.share.n > 10_000
    assert Report.load(report.save(tmp_path / "r.json")).errors == report.errors


def probed(world, folder):
    """A linear probe on the mean color of nine parts of an image, trained and tested on o2o_hard of a toy world."""
    data = load_dataset("spawrious", "o2o_hard", data_dir=str(world), cache_dir=str(folder))
    pixels = {
        split: [np.asarray(image.convert("RGB").resize((3, 3)), float).ravel() / 255 for image in data[split]["image"]]
        for split in ("train", "test")
    }
    probe = LogisticRegression(C=100, max_iter=2000).fit(pixels["train"], data["train"]["label"])
    test = data["test"]
    facts = to_json(BuildRecord.of(test.info).facts)
    context = test.features["background"].int2str(test["background"])
    return predicted(list(test["label"]), context, probe.predict(pixels["test"]), facts=facts)


def test_a_probe_errs_toward_the_planted_background(spawrious, tmp_path):
    """The share is far above chance. Planted fault: the test backgrounds of each class for those of training."""
    errors = oochub.evaluate(probed(spawrious, tmp_path), resamples=100).errors
    assert errors.share.n > 50 and errors.share.low > 0.6 and errors.chance == pytest.approx(1 / 3)
    assert abs(errors.chance_of_answers - 1 / 3) < 0.05


@pytest.mark.slow
def test_where_the_background_says_nothing_the_interval_covers_chance(tmp_path):
    """The same names in the paths and the record, images on any background."""
    world = toy_spawrious(tmp_path / "world", correlation=False)
    errors = oochub.evaluate(probed(world, tmp_path), resamples=100).errors
    assert errors.share.n > 30 and errors.share.low < errors.chance < errors.share.high
    assert errors.share.low < errors.chance_of_answers < errors.share.high
