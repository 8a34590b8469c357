"""The figures of where errors go: each cell against the counts, each pair worked by hand."""

import re

import datasets
import matplotlib as mpl
import numpy as np
import pytest
import reports
from matplotlib import pyplot
from PIL import Image
from test_plots import texts
from typer.testing import CliRunner

import oochub
from oochub import OochubError
from oochub.app import app
from oochub.report import theme

mpl.use("Agg")
BREEDS, PLACES = ["bulldog", "corgi", "labrador"], ["snow", "sand"]
TRAIN = [("corgi", "snow"), ("corgi", "sand"), ("labrador", "sand"), ("corgi", "sand"), ("bulldog", "snow")]
TEST = [("bulldog", "sand"), ("bulldog", "sand"), ("corgi", "snow"), ("labrador", "snow"), ("bulldog", "sand")]
ANSWERS, SIZES = ["corgi", "corgi", "bulldog", "labrador", "labrador"], [2.0, 4.0, 3.0, 5.0, 3.0]  # of the logit


def color_of(split, row):
    return (40 + 30 * row, 200 if split == "train" else 20, 90)


def data():
    names = datasets.Features(
        {
            "example_id": datasets.Value("string"),
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=BREEDS),
            "background": datasets.ClassLabel(names=PLACES),
        }
    )
    parts = {}
    for split, rows in (("train", TRAIN), ("test", TEST)):
        pictures = [Image.new("RGB", (8, 6), color_of(split, row)) for row in range(len(rows))]
        columns = {"example_id": [f"{split}{row}" for row in range(len(rows))], "image": pictures}
        columns |= {"label": [breed for breed, _ in rows], "background": [place for _, place in rows]}
        parts[split] = datasets.Dataset.from_dict(columns, features=names)
    return datasets.DatasetDict(parts)


def predictions(*, features=None, **changes):
    logits = [[size * (name == answer) for name in BREEDS] for answer, size in zip(ANSWERS, SIZES, strict=True)]
    rows, split, answers = TEST, ["test"] * len(TEST), logits
    if features is not None:
        rows, split = [*TRAIN, *TEST], ["train"] * len(TRAIN) + split
        answers = [[float(name == breed) for name in BREEDS] for breed, _ in TRAIN] + logits
        changes["features"] = features
    count = {"train": 0, "test": 0}
    ids = []
    for name in split:
        ids.append(f"{name}{count[name]}")
        count[name] += 1
    given = {"logits": answers, "label": [BREEDS.index(breed) for breed, _ in rows], "class_names": BREEDS}
    given |= {"example_id": ids, "split": split, "background": [place for _, place in rows]}
    return oochub.Predictions.from_arrays(**given | {"benchmark": "spawrious", "config": "o2o_hard"} | changes)


def drawn(made=None, **options):
    return oochub.get("figure", "misclassified_pictures")(
        made or predictions(), **{"datasets": {"o2o_hard": data()}} | options
    )


def said(ax):
    return " ".join(texts(ax).split())


def colors(inset):
    """The colors in the middle of the left and right half of a pair."""
    pixels = np.asarray(inset.images[0].get_array())
    row, width = pixels.shape[0] // 2, pixels.shape[1]
    return [tuple(pixels[row, column].tolist()) for column in (width // 4, 3 * width // 4)]


def test_mistakes_stand_beside_training_pictures_of_the_answer_in_the_same_context():
    """Worked by hand."""
    ax = drawn()
    # by loss: test1 (corgi, 4), test4 (labrador, 3), test0 (corgi, 2); then the corgi. The corgis of sand take turns.
    pairs = [("test1", "train1"), ("test4", "train2"), ("test0", "train3"), ("test2", "train4")]
    assert [inset.get_label() for inset in ax.child_axes] == [f"{left}/{right}" for left, right in pairs]
    for inset, (left, right) in zip(ax.child_axes, pairs, strict=True):
        assert colors(inset) == [color_of("test", int(left[4:])), color_of("train", int(right[5:]))]
    assert ax.child_axes[0].get_title(loc="left") == "sand: said corgi, 96%\nbeside corgi on sand"
    words = said(ax)
    assert "bulldog: 3 of 3 wrong" in words and "corgi: 1 of 1 wrong" in words and "labrador:" not in words
    assert "with the same background." in words


def test_with_features_of_the_training_split_the_nearest_is_shown():
    """Planted fault seen: the nearest of all training images, of whatever class and context."""
    features = np.eye(10, dtype=np.float32)  # train 0 to 4, test 5 to 9
    features[5:] = features[[3, 1, 4, 0, 2]] + 0.1  # test0 is near train3, test1 near train1, test2 near train4
    ax = drawn(predictions(features=features), split="test")
    shown = [inset.get_label() for inset in ax.child_axes]
    assert shown == ["test1/train1", "test4/train2", "test0/train3", "test2/train4"]
    assert "nearest by the cosine" in said(ax)


def test_a_context_that_training_lacks_is_said():
    made = predictions(background=["moor"] * len(TEST))
    ax = drawn(made, label="corgi", columns=1)
    assert [inset.get_title(loc="left") for inset in ax.child_axes] == [
        "moor: said bulldog, 91%\nbeside bulldog on snow"
    ]
    assert "where training has one." in said(ax)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"label": "corgy"}, "Did you mean 'corgi'"),
        ({}, {"label": "labrador"}, "no wrong prediction of class labrador"),
        ({}, {"split": "tset"}, "Did you mean 'test'"),
        ({}, {"columns": 0}, "columns must be at least 1, got 0"),
        ({}, {"datasets": {}}, "no dataset for o2o_hard"),
        ({}, {"datasets": {"o2o_hard": {"test": data()["test"]}}}, "has no split train"),
        ({"benchmark": None}, {}, "lack a column 'context'"),
    ],
)
def test_what_cannot_be_shown_is_said(change, options, message):
    with pytest.raises(OochubError, match=message):
        drawn(predictions(**change), **options)
    assert pyplot.get_fignums() == []


def test_it_fills_given_axes():
    figure, (left, right) = pyplot.subplots(1, 2)
    assert drawn(ax=right) is right and not left.child_axes and pyplot.get_fignums() == [figure.number]


def test_the_command_draws_the_mistakes_of_a_file(spawrious, tmp_path):
    """Every test image taken for a corgi; the data set is built from the raw folder."""
    data = oochub.load("spawrious/o2o_hard", data_dir=str(spawrious))["test"]
    columns = {name: data.features[name].int2str(data[name]) for name in ("group", "background")}
    columns |= {"example_id": data["example_id"][:], "label": data["label"][:]}
    made = oochub.Predictions.from_arrays(
        logits=[[0.0, 1.0, 0.0, 0.0]] * len(data), class_names=data.features["label"].names, benchmark="spawrious",
        config="o2o_hard", **columns,
    )  # fmt: skip
    words = ["report", str(made.save(tmp_path / "p.parquet")), "--data-dir", str(spawrious), "--plot"]
    result = CliRunner().invoke(app, [*words, f"misclassified_pictures:label=bulldog:columns=2={tmp_path / 'm.png'}"])
    assert result.exit_code == 0, result.output
    with Image.open(tmp_path / "m.png") as picture:
        assert picture.width > 2 * picture.height / 2


@pytest.mark.slow
def test_the_matrix_shows_each_count_and_outlines_the_class_of_the_context():
    """Planted fault seen: the outline around the true class."""
    report = reports.read(reports.spawrious_report())
    ax = report.plot("confusion_by_context")
    shown = {
        (int(text.get_position()[0]), int(text.get_position()[1])): text
        for text in ax.texts
        if re.match(r"\d", text.get_text())
    }
    outlined = {
        tuple(np.round(np.array(patch.get_xy()) + 0.46).astype(int))
        for patch in ax.patches
        if patch.get_linewidth() > 1.5
    }
    places = sorted(report.errors.contexts, key=lambda part: part.context)
    for y, part in enumerate(places):
        breed = part.confusion[0].label
        assert ax.get_yticklabels()[y].get_text() == f"{breed} on {part.context} (n = 200)"
        counts = {cell.predicted: cell.n for cell in part.confusion}
        for x, answer in enumerate(reports.BREEDS):
            assert shown[x, y].get_text() == f"{counts.get(answer, 0) / 2:.1f}"
            assert ((x, y) in outlined) == (reports.SEEN[answer] == part.context)
    heat = {patch.get_facecolor() for patch in ax.patches}
    assert mpl.colors.to_rgba(theme.LIGHT["surface"]) in heat and len(heat) > 3
    by_class = oochub.get("figure", "confusion_by_context")(report, by="class")
    assert [label.get_text() for label in by_class.get_yticklabels()] == [
        f"{breed} (n = 200)" for breed in reports.BREEDS
    ]
    with pytest.raises(OochubError, match="no confusion by context"):
        reports.read(reports.nooch_report()).plot("confusion_by_context")
