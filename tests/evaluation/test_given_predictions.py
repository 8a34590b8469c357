"""Answers of other programs: the report of our own predictions, the numbers of scikit-learn, and what is refused."""

import json
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value
from PIL import Image
from sklearn.metrics import accuracy_score, average_precision_score, log_loss, mean_squared_error, roc_auc_score
from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessorPil

import oochub
from oochub.errors import OochubError
from oochub.evaluation.evaluation_inputs import open_parts
from oochub.prediction.predictions import Predictions
from oochub.records.schema import to_json
from oochub.report.report import Report

RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def data(spawrious):
    return oochub.load("spawrious/o2o_hard", data_dir=str(spawrious))


@pytest.fixture(scope="module")
def predicted(data):
    """What `oochub.predict` makes of a small network."""
    torch.manual_seed(0)
    names = data["test"].features["label"].names
    config = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", id2label=dict(enumerate(names))
    )
    processor = ViTImageProcessorPil(size={"height": 32, "width": 32})
    return oochub.predict(ResNetForImageClassification(config), data, image_processor=processor, images=False)


def frame_of(predictions, *, seed=1):
    """Ids and a column of logits a class, in another order."""
    logits = {f"logit_{name}": predictions.logits[:, k] for k, name in enumerate(predictions.class_names)}
    return pd.DataFrame({"example_id": predictions.column("example_id"), **logits}).sample(frac=1, random_state=seed)


def write_npz(frame, path, *, dtype="<f8"):
    logits = frame[[name for name in frame if name.startswith("logit_")]].to_numpy().astype(dtype)
    np.savez(path, example_id=frame["example_id"].to_numpy().astype(str), logits=logits)


def write_lists(frame, path):
    lists = frame[[name for name in frame if name.startswith("logit_")]].to_numpy().tolist()
    pd.DataFrame({"example_id": frame["example_id"], "logits": lists}).to_csv(path, index=False)


def write_lines(frame, path):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in frame.to_dict("records")))


WRITERS = {
    "columns.csv": lambda frame, path: frame.to_csv(path, index=False),
    "semicolons.csv": lambda frame, path: frame.to_csv(path, index=False, sep=";"),
    "tabs.csv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "lines.jsonl": write_lines,
    "lists.csv": write_lists,
    "columns.parquet": lambda frame, path: frame.to_parquet(path),
    "arrays.npz": write_npz,
    "swapped.npz": partial(write_npz, dtype=">f8"),  # of a machine with another order of bytes
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_same_logits_give_the_same_report(name, data, predicted, tmp_path):
    """reference: our own predictions of the same logits."""
    WRITERS[name](frame_of(predicted), tmp_path / name)
    (given,) = open_parts([tmp_path / name], benchmark=data)
    assert given.digest == predicted.digest and given.metadata.fingerprint == predicted.metadata.fingerprint
    rows = predicted.table.drop_columns("image_digest")  # nobody's answers hold it
    assert given.table.select(rows.column_names).equals(rows)
    assert (given.metadata.model.id, given.metadata.model.mode) == (name.partition(".")[0], "given")
    ours, theirs = (to_json(oochub.evaluate(each, resamples=100)) for each in (predicted, given))
    for report in (ours, theirs):
        del report["provenance"], report["model"]
    assert ours == theirs


def test_ids_that_look_like_dates_are_text(tmp_path):
    """Arrow reads such texts of JSON as times. Planted fault seen: its own types."""
    days = [f"2026-11-{day:02d}" for day in range(10, 30)]
    features = Features({"example_id": Value("string"), "label": ClassLabel(names=["cat", "dog"])})
    data = DatasetDict(test=Dataset.from_dict({"example_id": days, "label": [0, 1] * 10}, features))
    write_lines(pd.DataFrame({"example_id": days, "prediction": ["cat"] * 20}), tmp_path / "days.jsonl")
    (read,) = open_parts([tmp_path / "days.jsonl"], benchmark=data)
    assert read.column("example_id").tolist() == days


@pytest.mark.parametrize("form", ["logit_{}", "{}", "probability_{}", "logits"])
def test_probabilities_under_any_name(form, data, predicted, tmp_path):
    """`probabilities=True` gives the numbers of the logits; without it there is a note or an error."""
    softmax = np.exp(predicted.logits.astype(np.float64))
    softmax /= softmax.sum(axis=1, keepdims=True)
    columns = {form.format(name): softmax[:, k] for k, name in enumerate(predicted.class_names)}
    columns = {"logits": softmax.tolist()} if form == "logits" else columns
    file = tmp_path / "answers.parquet"
    pd.DataFrame({"example_id": predicted.column("example_id"), **columns}).to_parquet(file)
    (read,) = open_parts([file], benchmark=data, probabilities=True)
    assert not any("probabilities" in note for note in read.metadata.notes)
    np.testing.assert_allclose(read.probability, softmax, atol=1e-6)
    report, own = oochub.evaluate(read, resamples=100), oochub.evaluate(predicted, resamples=100)
    assert report["nll"].value == pytest.approx(own["nll"].value, abs=1e-6)
    assert report["ece"].value == pytest.approx(own["ece"].value, abs=1e-6)
    if form == "{}":
        with pytest.raises(OochubError, match=r"look like probabilities.*--probabilities reads them"):
            open_parts([file], benchmark=data)
        return
    (plain,) = open_parts([file], benchmark=data)
    is_said = any(
        "as probabilities do, and were read as logits; --probabilities" in note for note in plain.metadata.notes
    )
    assert is_said == (form != "probability_{}")


@pytest.mark.slow
def test_by_command(spawrious, predicted, tmp_path, run):
    """The report says the model, the file and how to make it again, and no folder of this machine."""
    frame_of(predicted).to_csv(tmp_path / "mine.csv", index=False)
    options = ["--benchmark", "spawrious/o2o_hard", "--data-dir", str(spawrious), "--model-name", "theirs/net"]
    kept = ["--keep", tmp_path / "kept.parquet", "--out", tmp_path / "kept.json"]
    assert run("evaluate", tmp_path / "mine.csv", *options, *kept).code == 0
    assert Predictions.load(tmp_path / "kept.parquet").digest == predicted.digest
    assert run("evaluate", tmp_path / "mine.csv", *options, "--out", tmp_path / "r.json").code == 0
    assert Report.load(tmp_path / "kept.json").slices == Report.load(tmp_path / "r.json").slices
    report, ours = Report.load(tmp_path / "r.json"), oochub.evaluate(predicted)
    assert report.model.id == "theirs/net" and report["gap"] == ours["gap"] and report.group_rows == ours.group_rows
    assert "evaluate mine.csv --out report.json --benchmark spawrious/o2o_hard" in report.provenance.command
    assert report.provenance.prediction["given"]["file"] == "mine.csv"
    assert str(tmp_path) not in (tmp_path / "r.json").read_text()
    code, _, err = run("evaluate", tmp_path / "mine.csv", "--out", tmp_path / "r.json")
    assert code == 2 and "Pass the dataset with --benchmark" in err


def test_answers_to_data_of_ones_own(tmp_path, run):
    """By hand: gulls are right at sea alone. Fault planted: the columns that were named not handed on."""
    birds = [("gull", "sea")] * 60 + [("gull", "land")] * 30 + [("wren", "land")] * 60 + [("wren", "sea")] * 30
    frame = pd.DataFrame(birds, columns=["bird", "place"])
    frame.to_csv(tmp_path / "birds.csv", index=False)
    data = oochub.load(tmp_path / "birds.csv", label="bird", context="place")
    (split,) = data
    pd.DataFrame(
        {"example_id": data[split]["example_id"], "score": np.where(frame["place"] == "sea", 0.1, 0.9)}
    ).to_csv(tmp_path / "mine.csv", index=False)
    options = ["--benchmark", tmp_path / "birds.csv", "--label-column", "bird", "--context-column", "place"]
    code, _, err = run("evaluate", tmp_path / "mine.csv", *options, "--out", tmp_path / "r.json")
    assert code == 0, err
    report = Report.load(tmp_path / "r.json")
    assert (report["in_context/accuracy"], report["out_of_context/accuracy"]) == (1.0, 0.0)
    for flag in ("--label-column", "--cluster-column", "--pair-column"):
        code, _, err = run("evaluate", tmp_path / "mine.csv", flag, "bird", "--out", tmp_path / "r.json")
        assert code == 2 and f"{flag} requires --benchmark" in err


def test_a_probability_of_the_second_class_gives_the_numbers_of_scikit_learn(coco, tmp_path):
    """reference: roc_auc_score and log_loss. Planted fault: the logit of the first class."""
    data = oochub.load("nooch/ce_car", data_dir=str(coco))
    test = data["test"].select_columns(["example_id", "label"])[:]
    label = np.array(test["label"])
    p = np.clip(RNG.random(len(label)) * 0.8 + 0.2 * label, 0.001, 0.999)
    for column in ("probability", "score"):
        frame = pd.DataFrame({"example_id": test["example_id"], column: p, "label": label})
        frame.to_csv(tmp_path / "p.csv", index=False)
        report = oochub.evaluate(tmp_path / "p.csv", benchmark=data, resamples=100)
        assert report["auc"] == pytest.approx(roc_auc_score(label, p), abs=1e-12)
        assert report["nll"] == pytest.approx(log_loss(label, p), abs=1e-6)
        assert report["accuracy"] == accuracy_score(label, p > 0.5)


def test_probabilities_of_several_classes(data, tmp_path):
    """reference: scikit-learn's accuracy and log loss, zeros clipped as it does, and said."""
    test = data["test"].select_columns(["example_id", "label"])[:]
    label = np.array(test["label"])
    p = RNG.dirichlet(np.ones(4), len(label))
    p[0] = np.eye(4)[(label[0] + 1) % 4]
    names = data["test"].features["label"].names
    pd.DataFrame(p, columns=[f"probability_{name}" for name in names]).assign(
        example_id=test["example_id"], label=[names[k] for k in label]
    ).to_csv(tmp_path / "p.csv", index=False)
    report = oochub.evaluate(tmp_path / "p.csv", benchmark=data, resamples=100, metrics=["accuracy", "nll"])
    assert report["out_of_context/accuracy"] == accuracy_score(label, p.argmax(1))
    assert report["out_of_context/nll"] == pytest.approx(log_loss(label, p), abs=1e-5)
    assert "4 probabilities of 0 or 1 were taken as 2.2e-16 or 1 minus that" in report.notes


@pytest.mark.slow
@pytest.mark.parametrize("as_name", [True, False])
def test_choices_alone_are_scored_without_scores(as_name, coco, data, tmp_path):
    """reference: scikit-learn, and the same rows with logits. No AUC, NLL or ECE is made up."""
    for source, primary in ((data, "accuracy"), (oochub.load("nooch/ce_car", data_dir=str(coco)), "auc")):
        test = source["test"].select_columns(["example_id", "label"])[:]
        names, label = source["test"].features["label"].names, np.array(test["label"])
        chosen = np.where(RNG.random(len(label)) < 0.7, label, (label + 1) % len(names))
        answers = [names[k] for k in chosen] if as_name else chosen
        report = oochub.evaluate(
            table(tmp_path, example_id=test["example_id"], prediction=answers), benchmark=source, resamples=100
        )
        sure = np.eye(len(names))[chosen] * 5
        logits = {f"logit_{name}": sure[:, k] for k, name in enumerate(names)}
        ours = oochub.evaluate(
            table(tmp_path, example_id=test["example_id"], **logits), benchmark=source, resamples=100
        )
        worst = {"worst_group.accuracy", "worst_group.error_rate"}  # without the NLL
        assert {"accuracy", "error_rate"} <= set(report.metrics) <= {"accuracy", "error_rate", *worst}
        assert report.calibration is None
        assert report["accuracy"] == accuracy_score(label, chosen) == ours["accuracy"]
        assert report.benchmark.primary_metric == "accuracy" and ours.benchmark.primary_metric == primary
        errors = [{(row.group, row.role): row.error_rate for row in each.group_rows} for each in (report, ours)]
        assert errors[0] == errors[1] and errors[0]
        assert all(row.nll is None for row in report.group_rows) and report.benchmark.chance == 1 / len(names)
        for text in (report.to_markdown(), report.to_html(), repr(report), report._repr_html_()):
            assert "NLL" not in text and "AUC" not in text.replace("AUC of", "")


def table(tmp_path, name="mine.csv", **columns):
    pd.DataFrame(columns).to_csv(tmp_path / name, index=False)
    return tmp_path / name


def test_other_kinds_of_output(tmp_path):
    """reference: scikit-learn. Planted fault: probabilities of labels taken for logits."""
    ids, truth = [f"e{k}" for k in range(40)], RNG.normal(size=40)
    numbers = {
        "test": Dataset.from_dict(
            {"example_id": ids, "label": truth}, Features({"example_id": Value("string"), "label": Value("float64")})
        )
    }
    value = truth + RNG.normal(size=40)
    report = oochub.evaluate(table(tmp_path, example_id=ids, value=value, label=truth), benchmark=numbers)
    assert report["mean_squared_error"] == pytest.approx(mean_squared_error(truth, value), rel=1e-5)

    hot, p = RNG.integers(0, 2, (40, 2)), RNG.random((40, 2))
    features = Features({"example_id": Value("string"), "labels": List(ClassLabel(names=["cat", "dog"]))})
    held = [np.flatnonzero(row).tolist() for row in hot]
    labels = {"test": Dataset.from_dict({"example_id": ids, "labels": held}, features)}
    columns = {"probability_cat": p[:, 0], "probability_dog": p[:, 1], "labels": [json.dumps(row) for row in held]}
    (given,) = open_parts([table(tmp_path, example_id=ids, **columns)], benchmark=labels)
    np.testing.assert_allclose(given.probability, p, atol=1e-6)
    report = oochub.evaluate(given)
    assert report["mean_average_precision"] == pytest.approx(average_precision_score(hot, p))


@pytest.fixture
def own():
    """Two splits of three and six rows of two classes; ids are texts."""
    features = Features(
        {"example_id": Value("string"), "label": ClassLabel(names=["cat", "dog"]), "place": Value("string")}
    )
    parts = {}
    for split, n in (("validation", 3), ("test", 6)):
        rows = {"example_id": [f"{split}{k}" for k in range(n)], "label": [k % 2 for k in range(n)], "place": ["a"] * n}
        parts[split] = Dataset.from_dict(rows, features)
    return DatasetDict(parts)


def test_all_that_is_wrong_is_said_at_once(own, tmp_path):
    """By hand: every problem of one file in one message. Planted fault: the first problem raised."""
    path = table(
        tmp_path,
        example_id=["test0", "test1", "test1", "test2", "other", "test4"],
        probability_cat=[0.5, 0.5, 1.5, 0.1, 0.5, 0.5],
        probability_dog=[0.5, 0.6, 0.5, 0.1, 0.5, 0.5],
        label=["cat", "cat", "dog", "cat", "cat", "cat"],
    )
    with pytest.raises(OochubError) as refused:
        open_parts([path], benchmark=own)
    assert str(refused.value).splitlines()[:6] == [
        "mine.csv does not fit the data, these 5 things are wrong:",
        "- 1 row has probability not in [0, 1], first test1",
        "- 3 rows have probability that does not sum to 1, first test1",
        "- 1 id occurs twice, first test1",
        "- 1 id is not of test, first other",
        "- of the 6 ids of test, 2 are missing, first test3, test5",
    ]


IDS = [f"test{k}" for k in range(6)]
HALVES = {"logit_cat": [0.5] * 6, "logit_dog": [0.25] * 6}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"score": [0.5] * 6}, "no columns that can be probabilities: logits, logit_cat, ... or cat, ..., only"),
        ({"cat": [0.5] * 6, "dog": [0.6] * 6}, "6 rows have .*does not sum to 1"),
        ({"logits": [[2.0, -1.0]] * 6}, r"6 rows have .* not in \[0, 1\]"),
        ({"logit_cat": [0.5] * 6, "probability_cat": [0.5] * 6}, "columns of logits and of probabilities"),
    ],
)
def test_what_is_no_probability_is_refused(columns, words, own, tmp_path):
    with pytest.raises(OochubError, match=words):
        open_parts([table(tmp_path, example_id=IDS, **columns)], benchmark=own, probabilities=True)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": IDS, **HALVES}, "no column example_id, only id"),
        ({"example_id": IDS}, "it holds no answers: it needs logits or probability"),
        ({"example_id": IDS, "prediction": ["cat"] * 5 + ["gull"]}, "its prediction cannot be read: .*gull"),
        ({"example_id": IDS, "prediction": [0] * 5 + [2]}, "1 row has a prediction that is not a class, first test5"),
        ({"example_id": [None, *IDS[1:]], **HALVES}, "row 0 has none"),
        ({"example_id": [f"x{k}" for k in range(6)], **HALVES}, "none of its ids are in these data: it has x0, x1, x2"),
        ({"example_id": IDS, "split": ["tset"] * 6, **HALVES}, "there is no split tset, only validation, test"),
        (
            {"example_id": IDS, "label": [1, 1, 0, 1, 0, 1], **HALVES},
            "1 label is not .*first test0: dog, but it is cat",
        ),
        ({"example_id": IDS, "label": ["cat", "gull"] * 3, **HALVES}, "its label cannot be compared: .*gull"),
        (
            {"example_id": IDS, "logit_cat": [0.5] * 6, "logit_dgo": [0.5] * 6},
            r"logit_dgo \(did you mean logit_dog\?\)",
        ),
        ({"example_id": IDS, "cat": [3.0] * 6}, "of which these have no column: dog"),
        ({"example_id": IDS, "cat": [0.5] * 6, "dog": [0.5] * 6}, "look like probabilities"),
        (
            {"example_id": IDS, **HALVES, "logit_cat": [1.0, None, *[1.0] * 4]},
            "1 row has logit_cat that is not .*test1",
        ),
        (
            {"example_id": IDS, **HALVES, "logit_cat": [1.0, "inf", *[1.0] * 4]},
            "1 row has logit_cat that is not .*test1",
        ),
        (
            {"example_id": IDS, **HALVES, "logit_cat": [1.0, "high", *[1.0] * 4]},
            "logit_cat must hold numbers, .*'high'",
        ),
        ({"example_id": IDS, "score": [2.0, *[0.5] * 5]}, r"1 row has score not in \[0, 1\], first test0"),
        ({"example_id": IDS, "logits": ["[1, 2]"] * 5 + ["[1]"]}, "logits of another length than 2.*test5"),
        ({"example_id": IDS, "logits": ["[1 2]"] * 6}, r"in a CSV a list is \[0.1, 0.2\]"),
        ({"example_id": IDS, "probability": ["[0.5, 0.6]"] * 6}, "6 rows have probability that does not sum to 1"),
    ],
)
def test_what_does_not_fit_is_said(columns, words, own, tmp_path):
    with pytest.raises(OochubError, match=words):
        open_parts([table(tmp_path, **columns)], benchmark=own)


def test_splits_are_found_by_the_ids_or_named(own, tmp_path):
    """Fault planted: ids that several splits have go to the first of them."""
    (found,) = open_parts([table(tmp_path, example_id=IDS, **HALVES)], benchmark=own)
    assert found.metadata.rows == {"test": 6}
    several = own.map(lambda row, k: {"example_id": str(k)}, with_indices=True)
    numbers = [str(k) for k in range(6)]
    with pytest.raises(OochubError, match="in several of the splits validation, test: add a column split"):
        open_parts([table(tmp_path, example_id=numbers, **HALVES)], benchmark=several)
    named = table(tmp_path, example_id=numbers, split=["test"] * 6, **HALVES)
    assert open_parts([named], benchmark=several)[0].metadata.rows == {"test": 6}


def test_what_is_no_file_of_answers(own, tmp_path):
    """Nothing is unpickled. Planted fault: allow_pickle=True."""
    np.savez(tmp_path / "objects.npz", example_id=np.array(IDS, dtype=object), logits=np.zeros((6, 2)))
    np.savez(tmp_path / "lengths.npz", example_id=np.array(IDS), logits=np.zeros((5, 2)))
    np.savez(tmp_path / "deep.npz", example_id=np.array(IDS), logits=np.zeros((6, 2, 1)))
    (tmp_path / "text.npz").write_text("no zip")
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (6,"  # its brackets never close
    with zipfile.ZipFile(tmp_path / "header.npz", "w") as archive:
        archive.writestr("logits.npy", b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "head.csv").write_text("example_id,score\n")
    (tmp_path / "ragged.csv").write_text("example_id,score\na,1,2\n")
    (tmp_path / "twice.csv").write_text("example_id,score,score\na,1,2\n")
    (tmp_path / "latin.csv").write_bytes(b"example_id,score\n\xe9,1\n")
    (tmp_path / "list.jsonl").write_text('[{"example_id": "a", "score": 1}]')
    (tmp_path / "answers.txt").write_text("a")
    Predictions.from_arrays(logits=[[0.0, 1.0]], label=[1]).save(tmp_path / "ours.parquet")
    for name, words in {
        "header.npz": "not a complete NPZ file of plain arrays",
        "objects.npz": "not a complete NPZ file of plain arrays",
        "lengths.npz": "example_id: 6, logits: 5",
        "deep.npz": r"must be an array \(n,\) or \(n, c\)",
        "text.npz": "not a complete NPZ file",
        "empty.csv": "not a CSV file with one table",
        "head.csv": "contains no row",
        "ragged.csv": "Expected 2 columns, got 3",
        "twice.csv": "'score' twice",
        "latin.csv": "not UTF-8 text",
        "list.jsonl": "not JSON with one object a line: JSON parse error",
        "answers.txt": "Answers can be read from .csv, .jsonl, .parquet, .npz",
        "ours.parquet": "was written by oochub",
        "none.csv": "there is no such file",
    }.items():
        with pytest.raises(OochubError, match=words):
            oochub.evaluate(tmp_path / name, benchmark=own)
    with pytest.raises(OochubError, match="Remove benchmark="):
        oochub.evaluate(Predictions.load(tmp_path / "ours.parquet"), benchmark=own)
    with pytest.raises(OochubError, match="model_name= requires benchmark="):
        oochub.evaluate(tmp_path / "ours.parquet", model_name="mine")


def test_what_was_read_and_what_not_is_in_the_provenance(own, tmp_path):
    """A prediction that is not the largest logit's tells of classes in another order. Fault planted: no comparison."""
    path = tmp_path / "mine.parquet"
    pq.write_table(pa.table({"example_id": IDS, **HALVES, "path": IDS, "prediction": ["cat"] * 5 + ["dog"]}), path)
    (given,) = open_parts([path], benchmark=own)
    assert given.metadata.provenance["given"]["not_read"] == ["path"]
    assert given.metadata.provenance["given"]["columns"] == ["logit_cat", "logit_dog", "prediction"]
    assert "not the class with the largest logit in 1 rows, first test5" in given.metadata.notes[-1]


def test_the_command_names_a_folder_without_its_parents(tmp_path):
    """Planted faults: the whole path; a folder taken for the name of a benchmark on the Hub."""
    folder = tmp_path / "private" / "dogs"
    for place in ("cat/0", "cat/1", "dog/2", "dog/3"):
        (folder / "test" / place).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(folder / "test" / f"{place}.png")
    ids = oochub.load(str(folder))["test"]["example_id"]
    file = table(tmp_path, example_id=list(ids), logit_cat=[1.0, 2, 0, 0], logit_dog=[0.0, 0, 1, 2])
    for given in (folder, str(folder)):
        command = oochub.evaluate(file, benchmark=given).provenance.command
        assert command.endswith("--benchmark dogs")
        assert str(tmp_path) not in command
