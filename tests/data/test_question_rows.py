"""Rows that ask a question of their own: loaded, answered by another program, evaluated; against plain loops."""

import json

import datasets
import numpy as np
import pandas as pd
import pytest

import oochub
from oochub.errors import OochubError
from oochub.output import find_output_of_features, get_output
from oochub.prediction.predictions import Predictions
from oochub.records.question_options import number_options

ASKED = [
    ("What is it?", ["a cat", "a dog"]),
    ("Which color?", ["red", "green", "blue"]),
    ("Is it <b>?", ["no", "yes"]),
    ("What is it?", ["a dog", "a cow", "a cat", "a fox"]),
]
N = 60


def rows(seed=0):
    """Label, answer and columns of 60 rows, some answers none of the options."""
    rng = np.random.default_rng(seed)
    asked = [ASKED[k] for k in rng.integers(0, 4, N)]
    label = [int(rng.integers(0, len(options))) for _, options in asked]
    answer = [
        -1 if rng.random() < 0.1 else y if rng.random() < 0.6 else int(rng.integers(0, len(options)))
        for y, (_, options) in zip(label, asked, strict=True)
    ]
    columns = {"question": [each for each, _ in asked], "options": [each for _, each in asked]}
    return label, answer, columns | {"place": rng.choice(["sea", "land"], N).tolist()}


def written(tmp_path, how):
    """A table of such rows, the truth as letters, texts or numbers."""
    label, _, columns = rows()
    truth = {
        "letters": [f"({'ABCD'[y]})" for y in label],
        "texts": [options[y] for y, options in zip(label, columns["options"], strict=True)],
        "numbers": label,
    }[how]
    if how == "letters":
        listed = {**columns, "options": [json.dumps(each) for each in columns["options"]]}
        pd.DataFrame({**listed, "answer": truth}).to_csv(tmp_path / "q.csv", index=False)
        return tmp_path / "q.csv"
    datasets.Dataset.from_dict({**columns, "answer": truth}).to_parquet(tmp_path / "q.parquet")
    return tmp_path / "q.parquet"


@pytest.mark.parametrize("how", ["letters", "texts", "numbers"])
def test_own_tables_give_the_number_of_the_right_option(tmp_path, how):
    """Fault planted: letters that are classes, sorted by name."""
    label, _, columns = rows()
    part = oochub.load(str(written(tmp_path, how)), context="place")["train"]
    assert part["label"][:] == label and not hasattr(part.features["label"], "names")
    assert part["options"][:] == columns["options"] and part["question"][:] == columns["question"]
    assert "answer" not in part.column_names and "challenge" not in part.column_names
    assert part.features["group"].int2str(part["group"][:]) == columns["place"]
    assert find_output_of_features(part.features) == "choices"
    assert get_output("choices").class_names(part) == ["A", "B", "C", "D"]
    with pytest.raises(OochubError, match="needs classes, but each row has options"):
        oochub.load(str(written(tmp_path, how)), context="place", usual={"a": ["b"]})


def test_an_answer_beside_a_label_is_another_column(tmp_path):
    label, _, columns = rows()
    datasets.Dataset.from_dict({**columns, "label": label, "answer": ["text"] * N}).to_parquet(tmp_path / "q.parquet")
    part = oochub.load(str(tmp_path / "q.parquet"))["train"]
    assert part["label"][:] == label and part["own_answer"][:] == ["text"] * N and "answer" not in part.column_names


@pytest.mark.parametrize("answer", ["E", "horse", 3, -2, 0.5, True, "12"])
def test_an_answer_that_is_no_option_is_named_by_its_row(answer):
    with pytest.raises(OochubError, match=r"in row 1 of split test is none of its options \(A: yes, B: no\)"):
        number_options(["yes", answer], [["yes", "no"]] * 2, "split test")


def test_an_answer_that_may_mean_two_options_is_an_error():
    with pytest.raises(OochubError, match="could be several of"):
        number_options(["A"], [["B", "A"]], "split test")
    assert number_options(["A", "1"], [["A", "B"], ["2", "1"]], "split test") == [0, 1]


def test_rows_are_evaluated_by_their_own_options(tmp_path):
    """By loops. Planted faults seen: chance of the longest list; answers called by the letters of a class."""
    label, answer, columns = rows()
    predictions = Predictions.from_arrays(prediction=answer, label=label, group=columns.pop("place"), **columns)
    assert predictions.class_names == ["A", "B", "C", "D"] and predictions.metadata.kind == "choices"
    again = Predictions.load(predictions.save(tmp_path / "p.parquet"))
    assert again.digest == predictions.digest and again.column("question").tolist() == columns["question"]
    report = oochub.evaluate(again)
    right = [y == a for y, a in zip(label, answer, strict=True)]
    assert report["accuracy"] == pytest.approx(np.mean(right)) and report.slice("all").n == N
    assert report.benchmark.chance == pytest.approx(np.mean([1 / len(each) for each in columns["options"]]))
    assert report.slice("all").n_positive is None and report.slice("all").none_of_them == answer.count(-1) > 0
    group = predictions.column("group")
    worst = min(np.mean(np.array(right)[group == name]) for name in ("sea", "land"))
    assert (
        report["out_of_context/accuracy"].n
        == (group == min(("sea", "land"), key=lambda g: np.mean(np.array(right)[group == g]))).sum()
    )
    assert report.worst_group["accuracy"].estimate == pytest.approx(worst)
    assert report.errors is None
    for mistake in report.mistakes:
        row = int(mistake.example_id)
        options = columns["options"][row]
        assert mistake.label == options[label[row]] and mistake.text.startswith(columns["question"][row])
        assert mistake.predicted == ("none of them" if answer[row] < 0 else options[answer[row]])
    page = report.to_html()
    assert "Is it &lt;b&gt;?" in page and "<b>?" not in page
    two = Predictions.from_arrays(prediction=[0, 1], label=[1, 1], question=["a", "b"], options=[["x", "y"]] * 2)
    assert oochub.evaluate(two).slice("all").n_positive is None and two.class_names == ["A", "B"]


def test_answers_of_another_program_are_letters_or_numbers(tmp_path):
    label, answer, _ = rows()
    data = oochub.load(str(written(tmp_path, "texts")), context="place")
    letters = ["" if a < 0 else "ABCD"[a] for a in answer]
    accuracies = set()
    for column in (letters, answer):
        pd.DataFrame({"example_id": range(N), "prediction": column}).to_csv(tmp_path / "mine.csv", index=False)
        accuracies.add(float(oochub.evaluate(str(tmp_path / "mine.csv"), benchmark=data, resamples=100)["accuracy"]))
    assert accuracies == {float(np.mean([y == a for y, a in zip(label, answer, strict=True)]))}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"prediction": [2, 0]}, r"1 predictions are not the number of an option, nor -1, first 0: 2 of 2 options"),
        ({"label": [2, 0]}, r"1 labels are not the number of an option"),
        ({"options": [["x"], ["x", "y", "z"]]}, r"1 rows have fewer than two options, first 0: \['x'\]"),
        ({"options": [None, ["x", "y", "z"]]}, "fewer than two options"),
        ({"options": [["x", None], ["x", "y", "z"]]}, "option in the column options is missing"),
    ],
)
def test_numbers_beyond_the_options_of_a_row_are_refused(changed, words):
    asked = {"question": ["a", "b"], "options": [["x", "y"], ["x", "y", "z"]], "label": [0, 1], "prediction": [0, 0]}
    with pytest.raises(OochubError, match=words):
        Predictions.from_arrays(**asked | changed)


def test_a_classifier_cannot_answer_such_rows(tmp_path):
    from PIL import Image
    from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessorPil

    label, _, columns = rows()
    pictures = [Image.new("RGB", (8, 8))] * N
    data = datasets.Dataset.from_dict({**columns, "image": pictures, "label": label}).cast_column(
        "image", datasets.Image()
    )
    config = ResNetConfig(embedding_size=4, hidden_sizes=[4], depths=[1], layer_type="basic", num_labels=4)
    processor = ViTImageProcessorPil(size={"height": 8, "width": 8})
    with pytest.raises(OochubError, match="a classifier cannot answer them"):
        oochub.predict(ResNetForImageClassification(config), data, image_processor=processor)


def test_classes_that_are_named_are_no_options():
    """A ClassLabel beside such columns, or a text alone, is what it was before."""
    text = datasets.Value("string")
    asked = {"question": text, "options": datasets.List(text)}
    assert find_output_of_features({**asked, "label": datasets.ClassLabel(names=["a", "b"])}) == "classes"
    assert find_output_of_features({**asked, "label": datasets.Value("int64")}) == "choices"
    assert find_output_of_features({"question": text, "label": datasets.Value("int64")}) == "classes"
    assert find_output_of_features(asked) is None
    named = Predictions.from_arrays(
        prediction=[0, 1], label=[1, 1], class_names=["cat", "dog"], question=["a", "b"], options=[["x"], ["y"]]
    )
    assert [each.label for each in oochub.evaluate(named).mistakes] == ["dog"]


def test_choices_among_named_classes_keep_the_names_of_the_data():
    """A file of choices on a board: its kind is asked for the classes of rows that have a ClassLabel."""
    features = datasets.Features({"label": datasets.ClassLabel(names=["cat", "dog"])})
    data = datasets.Dataset.from_dict({"label": [0, 1]}, features)
    assert get_output("choices").class_names(data) == ["cat", "dog"]
    asked = datasets.Dataset.from_dict({"label": [0], "question": ["?"], "options": [["x", "y", "z"]]})
    assert get_output("choices").class_names(asked) == ["A", "B", "C"]
    assert len(get_output("choices").class_names(asked.to_iterable_dataset())) == 26
