"""`oochub imagenet_ood detect` on a toy ImageNet: tables by scikit-learn over stored predictions; nothing twice."""

import csv
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

import oochub
from oochub.cli import main
from oochub.prediction.predictions import Predictions
from oochub.storage.files import lock_target
from oochub.studies.imagenet_ood.measures import SetScores, random_measures
from oochub.studies.imagenet_ood.plan import TABLES, make_plan
from oochub.studies.imagenet_ood.study import study

SETS = ("imagenet_r", "openimage_o", "imagenet_ood")
_SETS_OF_THE_PAPER = {
    "IN-C": "imagenet_c", "IN-R": "imagenet_r", "IN-Sketch": "imagenet_sketch", "IN-1K": "imagenet_1k",
    "IN-OOD": "imagenet_ood", "OpenImage-O": "openimage_o",
}  # fmt: skip
_DETECTORS_OF_THE_PAPER = {
    "MSP": "msp", "Max-Logit": "max_logit", "Energy": "energy", "Mahalanobis": "mahalanobis", "ViM": "vim",
    "KNN": "knn", "Max-Cosine": "max_cosine", "ASH-B": "ash_b", "ReAct": "react", "ODIN_eps": "odin:epsilon=0.0014",
    "ODIN": "odin", "GradNorm": "grad_norm", "OpenMax": "open_max",
}  # fmt: skip
DETECTORS = ("msp", "energy", "max_cosine", "knn:k=20")


def _near_mean_model(folder: Path, data, seed: int) -> Path:
    """A random network whose head is the nearest class mean of the training images: no training, some are right."""
    import torch

    from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
    from oochub.trainers.backbone import open_backbone

    model, processor = open_backbone("resnet-tiny", class_names=IMAGENET_1K_NAMES, seed=seed)
    draft = folder.with_name(f"{folder.name}-draft.parquet")
    model.eval()
    result = oochub.predict(
        model, data, image_processor=processor, splits=["train"], features=True, images=False, out=draft
    )
    mean = {k: result.features[result.label == k].mean(axis=0) for k in np.unique(result.label)}
    with torch.no_grad():
        head = model.classifier[-1]
        head.weight.zero_()
        head.bias.fill_(-50.0)
        for k, center in mean.items():
            head.weight[k] = 4 * torch.from_numpy(center - np.mean(list(mean.values()), axis=0))
            head.bias[k] = -2 * float((center**2).sum() - (np.mean(list(mean.values()), axis=0) ** 2).sum())
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def imagenet(tmp_path_factory):
    """A third of the toy world that other tests share: 300 training images, 30 validation images."""
    from oochub.builders.toy_worlds.toy_imagenet import toy_imagenet

    return toy_imagenet(tmp_path_factory.mktemp("raw") / "imagenet_ood", size=1)


@pytest.fixture(scope="module")
def models(imagenet, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    data = oochub.data.load.load("imagenet_ood/imagenet_1k", data_dir=str(imagenet))
    result = [_near_mean_model(folder / name, data, seed) for name, seed in (("first", 1), ("second", 2))]
    file = folder / "models.txt"
    file.write_text(f"# two\n{result[0]}\n\n  {result[1]}  # the other\n")
    return file


@pytest.fixture(scope="module")
def options(imagenet):
    return {"data_dir": str(imagenet), "sets": SETS, "detectors": DETECTORS}


@pytest.fixture(scope="module")
def toy_study(models, options, tmp_path_factory):
    return study(models, tmp_path_factory.mktemp("study") / "s", random=1, reported=True, **options)


def _scores(folder: Path, model: str, detector: str, names=("imagenet_1k", *SETS)):
    """Scores of each set by plain numpy; higher is more in-distribution."""
    from safetensors.numpy import load_file

    parts = {name: Predictions.load(folder / "predictions" / model / f"{name}.parquet") for name in names}
    if detector == "msp":
        return parts, {
            name: np.array([(np.exp(r - r.max()) / np.exp(r - r.max()).sum()).max() for r in item.logits.astype(float)])
            for name, item in parts.items()
        }
    if detector == "energy":
        return parts, {
            name: np.array([r.max() + np.log(np.exp(r - r.max()).sum()) for r in item.logits.astype(float)])
            for name, item in parts.items()
        }
    if detector == "max_cosine":
        weight = load_file(folder / "predictions" / model / "imagenet_1k.head.safetensors")["weight"].astype(float)
        weight = weight[np.linalg.norm(weight, axis=1) > 0]
        unit = weight / np.linalg.norm(weight, axis=1, keepdims=True)
        return parts, {
            name: (item.features.astype(float) @ unit.T).max(axis=1)
            / np.linalg.norm(item.features.astype(float), axis=1)
            for name, item in parts.items()
        }
    bank = Predictions.load(folder / "predictions" / model / "train.parquet").features.astype(float)
    bank /= np.linalg.norm(bank, axis=1, keepdims=True)
    result = {}
    for name, item in parts.items():
        unit = item.features.astype(float) / np.linalg.norm(item.features.astype(float), axis=1, keepdims=True)
        result[name] = -np.array([np.sort(np.linalg.norm(bank - row, axis=1))[19] for row in unit])
    return parts, result


def _at_1000(logits):
    """The largest softmax probability at temperature 1000."""
    exponents = np.exp((logits - logits.max(axis=1, keepdims=True)) / 1000)
    return (exponents / exponents.sum(axis=1, keepdims=True)).max(axis=1)


def _cells(result, table: str, block: str):
    frame = next(item.frame for item in result.tables if item.name == table)
    frame = frame[frame["block"].str.startswith(block) & ~frame["reported"]]
    return {(row["row"], row["column"]): row for row in frame.to_dict("records")}


@pytest.mark.slow
@pytest.mark.parametrize("detector", DETECTORS)
def test_tables_are_means_over_models_of_what_scikit_learn_gives(toy_study, detector):
    names = ("first", "second")
    for inside, outside in (
        ("imagenet_r", "imagenet_ood"),
        ("imagenet_1k", "openimage_o"),
        ("imagenet_1k", "imagenet_ood"),
    ):
        new, failure, parts_of, discarded, gains = [], [], [], [], []
        for name in names:
            parts, scores = _scores(toy_study.folder, name, detector)
            correct = parts[inside].prediction == parts[inside].label
            assert 0 < correct.sum() < len(correct)
            a, b = scores[inside], scores[outside]
            both = np.concatenate([a, b])
            new.append(roc_auc_score(np.repeat([1, 0], [len(a), len(b)]), both))
            failure.append(roc_auc_score(np.concatenate([correct, np.zeros(len(b))]), both))
            triple = [(a[correct], b), (a[~correct], b), (a[correct], a[~correct])]
            parts_of.append(
                [roc_auc_score(np.repeat([1, 0], [len(x), len(y)]), np.concatenate([x, y])) for x, y in triple]
            )
            tau = sorted(b)[-(-3 * len(b) // 4) - 1]
            discarded.append(np.mean(a[correct] <= tau))
            base = _scores(toy_study.folder, name, "msp")[1]
            pair = np.concatenate([base[inside], base[outside]])
            gains.append(new[-1] - roc_auc_score(np.repeat([1, 0], [len(a), len(b)]), pair))
        column = f"{inside} / {outside}"
        expected = {("1", "new-class", column): new, ("1", "failure", column): failure}
        expected[("differences", "new-class", column)] = gains
        if outside == "imagenet_ood":
            expected[("2", "share", column)] = discarded
        if inside == "imagenet_1k":
            for k, title in enumerate(TABLES["4"].metrics.values()):
                expected[("4", column, title)] = [item[k] for item in parts_of]
            expected[("gain", column, "gain, points")] = gains
        for (table, block, head), values in expected.items():
            if detector == "msp" and table in ("differences", "gain"):
                continue
            cell = _cells(toy_study, table, block)[detector, head]
            assert cell["mean"] == pytest.approx(np.mean(values), abs=1e-7), (table, head)
            assert cell["sd"] == pytest.approx(np.std(values, ddof=1), abs=1e-7), (table, head)
            assert cell["models"] == 2


@pytest.mark.slow
def test_verdicts_and_bold_follow_the_numbers(toy_study):
    rows = toy_study.frame[toy_study.frame["metric"] == "auroc_new_class.minus_msp"]
    cells = _cells(toy_study, "differences", "new-class")
    for (detector, column), cell in cells.items():
        inside, outside = column.split(" / ")
        of = rows[(rows["detector"] == detector) & (rows["in"] == inside) & (rows["out"] == outside)]
        assert (cell["better"], cell["worse"]) == ((of["low"] > 0).sum(), (of["high"] < 0).sum())
        assert cell["better"] + cell["undecided"] + cell["worse"] == 2
        assert ((of["p_value"] < 0.05) == ((of["low"] > 0) | (of["high"] < 0))).all()
    for table, block, sign in (("1", "new-class", 1), ("1", "failure", 1), ("2", "share", -1)):
        cells = _cells(toy_study, table, block)
        for column in {column for _, column in cells}:
            of = [cell for (_, head), cell in cells.items() if head == column]
            best = sorted(of, key=lambda cell: cell["mean"])[-1 if sign > 0 else 0]
            for cell in of:
                overlaps = sign * cell["mean"] + cell["sd"] >= sign * best["mean"] - best["sd"]
                assert cell["bold"] == overlaps, (table, column)


@pytest.mark.slow
def test_random_copies_have_their_distribution_and_both_goals(toy_study, models, tmp_path):
    import torch
    from transformers import AutoModelForImageClassification

    from oochub.studies.imagenet_ood.model_list import read_models
    from oochub.studies.imagenet_ood.random_copy import random_copy

    listed = read_models(models)
    twice = [random_copy(listed[0].copies(1)[0], tmp_path / place) for place in ("a", "b")]
    states = [AutoModelForImageClassification.from_pretrained(item).state_dict() for item in twice]
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])
    weight = states[0]["resnet.encoder.stages.2.layers.0.layer.0.convolution.weight"]
    assert weight.shape == (128, 64, 3, 3)
    assert weight.std().item() == pytest.approx((2 / (128 * 9)) ** 0.5, rel=0.02)  # He: 2 / fan out
    other = random_copy(listed[0].copies(2)[1], tmp_path / "c")
    assert not torch.equal(
        AutoModelForImageClassification.from_pretrained(other).state_dict()["classifier.1.weight"],
        states[0]["classifier.1.weight"],
    )
    rows = toy_study.frame[toy_study.frame["seed"].notna()]
    assert set(rows["model"]) == {"first"}  # one architecture, so one copy of it
    parts, scores = _scores(toy_study.folder, "first-random-0", "energy")
    for outside in SETS:
        a, b = scores["imagenet_1k"], scores[outside]
        result = rows[(rows["detector"] == "energy") & (rows["out"] == outside)].set_index("metric")["value"]
        truth = np.repeat([1, 0], [len(a), len(b)])
        assert result["auroc_new_class"] == pytest.approx(roc_auc_score(truth, np.concatenate([a, b])), abs=1e-9)
        right = np.concatenate([parts[s].prediction == parts[s].label for s in ("imagenet_1k", outside)])
        if right.any():
            assert result["auroc_failure"] == pytest.approx(roc_auc_score(right, np.concatenate([a, b])), abs=1e-9)


def test_failure_on_random_copies_counts_right_answers_of_both_sets():
    """By hand: right are the scores 3 and 0, wrong 1 and 2, so half of the four comparisons are won."""
    no = np.array([False, False])
    right = np.array([True, False])
    sets = {"a": SetScores(no, right, {"msp": np.array([3.0, 1.0])})}
    sets["b"] = SetScores(no, right, {"msp": np.array([0.0, 2.0])})
    rows = random_measures(sets, ["msp"], [("a", "b")]).rows
    assert {row["metric"]: row["value"] for row in rows} == {"auroc_new_class": 0.75, "auroc_failure": 0.5}


@pytest.mark.slow
def test_a_second_run_predicts_nothing_and_what_changed_is_made_again(
    toy_study, models, options, tmp_path, monkeypatch
):
    shutil.copytree(toy_study.folder, tmp_path / "s")
    shutil.copytree(models.parent, tmp_path / "m")
    listed = tmp_path / "m" / "models.txt"
    listed.write_text("\n".join(str(tmp_path / "m" / name) for name in ("first", "second")))
    predicted = []
    real = oochub.predict
    monkeypatch.setattr(
        "oochub.predicting.predict",
        lambda model, *a, **k: (predicted.append((Path(model).name, k["out"].stem)), real(model, *a, **k)),
    )
    again = study(listed, tmp_path / "s", random=1, reported=True, **options)
    assert predicted == [] and again.extracted == () and again.kept == len(toy_study.extracted)
    assert again.frame.equals(toy_study.frame)
    assert [item.to_latex() for item in again.tables] == [item.to_latex() for item in toy_study.tables]

    weights = tmp_path / "m" / "second" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-2] ^= 1
    weights.write_bytes(bytes(content))
    (tmp_path / "s" / "predictions" / "first" / "openimage_o.inputs.json").unlink()
    third = study(listed, tmp_path / "s", random=1, **options)
    assert {model for model, _ in predicted} == {"first", "second"} and len(predicted) == 6
    reasons = {(model, name): why for model, name, why in third.extracted}
    assert reasons["second", "imagenet_ood"] == "the model changed"
    assert reasons["first", "openimage_o"] == "a run was stopped while it was written"

    predicted.clear()
    more = study(tmp_path / "m" / "first", tmp_path / "s", data_dir=options["data_dir"], sets=["imagenet_ood"],
                 detectors=["odin:epsilon=0.0014", "odin"], tables=["3"])  # fmt: skip
    assert {name for _, name in predicted} == {"imagenet_1k", "imagenet_ood"}
    file = tmp_path / "s" / "predictions" / "first"
    a, b = (
        np.stack(Predictions.load(file / f"{n}.parquet").table.column("odin_logits").to_numpy()).astype(float)
        for n in ("imagenet_1k", "imagenet_ood")
    )
    cell = _cells(more, "3", "new-class")["odin:epsilon=0.0014", "imagenet_1k / imagenet_ood"]
    assert cell["mean"] == pytest.approx(
        roc_auc_score(np.repeat([1, 0], [len(a), len(b)]), np.concatenate([_at_1000(a), _at_1000(b)])), abs=1e-7
    )
    predicted.clear()
    study(
        tmp_path / "m" / "first",
        tmp_path / "s",
        data_dir=options["data_dir"],
        sets=["imagenet_ood"],
        detectors=["msp"],
        tables=["1"],
    )
    assert predicted == []  # a file that holds more than is asked for stands


@pytest.mark.slow
def test_what_detectors_are_fitted_on_and_what_is_right_can_be_chosen(toy_study, models, options, tmp_path):
    shutil.copytree(toy_study.folder, tmp_path / "s")
    training = tmp_path / "s" / "predictions" / "first" / "train.parquet"
    small = {**options, "sets": ["imagenet_r", "imagenet_ood"], "tables": ["1"]}
    arguments = study(
        models.parent / "first", tmp_path / "s", reference=training.rename(tmp_path / "t.parquet"), **small
    )
    assert arguments.extracted == ()
    before = toy_study.frame[(toy_study.frame["model"] == "first") & toy_study.frame["seed"].isna()]
    keys = ["detector", "in", "out", "metric"]
    both = arguments.frame.merge(before, on=keys)
    assert len(both) == len(arguments.frame)
    assert np.allclose(both["value_x"], both["value_y"], rtol=0, atol=1e-12, equal_nan=True)

    fewer = study(models.parent / "first", tmp_path / "s", reference_rows=150, **{**small, "detectors": ["knn:k=20"]})
    assert [name for _, name, _ in fewer.extracted] == ["train"] and len(Predictions.load(training)) == 150

    file = tmp_path / "s" / "predictions" / "first" / "imagenet_r.parquet"
    stored = Predictions.load(file)
    logits = stored.logits.copy()
    logits[:, 999] = logits.max(axis=1) + 1  # a class that is not in ImageNet-R
    place = stored.table.column_names.index("logits")
    Predictions(stored.table.set_column(place, "logits", pa.array(list(logits))), stored.metadata).save(file)
    present = study(models.parent / "first", tmp_path / "s", classes="present", **{**small, "detectors": ["energy"]})
    parts, scores = _scores(tmp_path / "s", "first", "energy", ("imagenet_r", "imagenet_ood"))
    item = parts["imagenet_r"]
    allowed = np.unique(item.label)
    correct = allowed[item.logits[:, allowed].argmax(axis=1)] == item.label
    assert 0 == (item.prediction == item.label).sum() < correct.sum() < len(correct)
    both = np.concatenate([scores["imagenet_r"], scores["imagenet_ood"]])
    expected = roc_auc_score(np.concatenate([correct, np.zeros(len(both) - len(correct))]), both)
    assert _cells(present, "1", "failure")["energy", "imagenet_r / imagenet_ood"]["mean"] == pytest.approx(expected)
    assert set(present.frame["classes"]) == {"present"} and "among the classes of its set" in present.tables[0].caption


@pytest.mark.slow
def test_a_stopped_run_goes_on(models, options, tmp_path, monkeypatch):
    real, calls = oochub.predict, []

    def stopped(*arguments, **named):
        calls.append(named["out"].stem)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments, **named)

    monkeypatch.setattr("oochub.predicting.predict", stopped)
    first = models.parent / "first"
    small = {**options, "detectors": ["msp"], "sets": ["imagenet_r", "imagenet_ood"], "tables": ["1"]}
    with pytest.raises(KeyboardInterrupt):
        study(first, tmp_path / "s", **small)
    assert calls == ["imagenet_1k", "imagenet_r", "imagenet_ood"]
    assert not (tmp_path / "s" / "numbers.csv").exists()
    assert study(first, tmp_path / "s", **small).extracted[0][1:] == ("imagenet_ood", "it was not made yet")
    assert len(calls) == 4


def _run(capsys, *words):
    sys.argv = ["oochub", "imagenet_ood", "detect", *map(str, words)]
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code, capsys.readouterr()


@pytest.mark.slow
def test_by_command_with_a_model_that_fails(models, imagenet, toy_study, tmp_path, capsys):
    shutil.copytree(toy_study.folder, tmp_path / "s")
    broken = shutil.copytree(models.parent / "second", tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"cut off")
    listed = tmp_path / "models.txt"
    listed.write_text(f"{broken}\n{models.parent / 'first'}\n")
    words = ["--data-dir", imagenet, "--out", tmp_path / "s", "--image-set", "imagenet_ood"]
    words += ["--detector", "msp", "--detector", "energy"]
    code, output = _run(capsys, listed, *words, "--table", "1", "--table", "gain")
    assert code == 2 and "1 model failed" in output.err and "broken" in output.err
    assert "Table 1." in output.out and "95% interval" in output.out
    assert "broken failed and is not in the table" in output.out
    text = (tmp_path / "s" / "tables" / "table_1.md").read_text()
    assert text.count("| energy |") == 2 and "broken failed" in text
    code, output = _run(capsys, models.parent / "first", *words, "--table", "4", "--json")
    content = json.loads(output.out)
    assert code == 0 and content["predicted"] == 0 and content["kept"] == 2 and content["failed"] == {}
    report = oochub.Report.load(tmp_path / "s" / "reports" / "first.json")
    assert report["energy/imagenet_1k/imagenet_ood/auroc_failure"].n == 30 + 16


@pytest.mark.slow
def test_wrong_words_are_said_before_anything_starts(models, imagenet, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("oochub.predicting.predict", lambda *a, **k: pytest.fail("it started"))
    rest = ["--data-dir", imagenet, "--out", tmp_path / "s"]
    broken = tmp_path / "broken.txt"
    (tmp_path / "empty").mkdir()
    broken.write_text(
        f"{models.parent / 'first'}\nnot a model\n{tmp_path / 'empty'}\n{models.parent / 'first'}\n/no/where\n"
    )
    empty = tmp_path / "none.txt"
    empty.write_text("# nothing\n")
    (tmp_path / "bare").mkdir()
    cases = [
        ([tmp_path / "absent.txt", *rest], "There is no list of models"),
        ([empty, *rest], "names no model"),
        ([broken, *rest], "line 2: 'not a model' is neither"),
        ([broken, *rest], "line 3: "),
        ([broken, *rest], "line 4: "),
        ([broken, *rest], "line 5: there is no folder"),
        ([models, *rest, "--image-set", "imagenet_odd"], "Did you mean 'imagenet_ood'"),
        ([models, *rest, "--set", "imagenet_odd"], "Did you mean 'imagenet_ood'"),  # its name of before
        ([models, *rest, "--detector", "mps"], "Did you mean 'msp'"),
        ([models, *rest, "--detector", "knn:q=3"], "named 'q'. Allowed: index, k"),
        ([models, *rest, "--table", "5"], "No table named '5'"),
        ([models, *rest, "--pair", "imagenet_1k"], "IN:OUT"),
        ([models, *rest, "--pair", "imagenet_1k:imagenet_r"], "not out of distribution"),
        ([models, *rest, "--pair", "imagenet_ood:imagenet_1k"], "not in distribution"),
        ([models, *rest, "--image-set", "imagenet_r", "--pair", "imagenet_1k:imagenet_ood"], "remove --image-set"),
        ([models, *rest, "--image-set", "imagenet_r", "--table", "1"], "has no pair of sets"),
        ([models, *rest, "--id", "imagenet_ood"], "not in distribution"),
        ([models, *rest, "--table", "random"], "--random 5"),
        ([models, *rest, "--detector", "odin:epsilon=0.1", "--detector", "odin:epsilon=0.2"], "one perturbation"),
        ([models, *rest, "--reference", tmp_path / "train.parquet"], "belongs to one model"),
        ([models.parent / "first", *rest, "--reference", tmp_path / "train.parquet"], "No predictions at"),
        ([models, *rest, "--reference-rows", "0"], "--reference-rows"),
        ([models, "--data-dir", tmp_path / "bare", "--out", tmp_path / "s"], "is not a ImageNet-OOD folder"),
        ([models, *rest, "--image-set", "imagenet_ood", "--detector", "knn"], "more training rows than the 300"),
    ]  # fmt: skip
    for words, message in cases:
        code, output = _run(capsys, *words)
        assert code == 2 and message in output.err, (message, output.err)
    shutil.copytree(imagenet, tmp_path / "untrained", ignore=shutil.ignore_patterns("train", "imagenet-c"))
    code, output = _run(capsys, models, "--data-dir", tmp_path / "untrained", "--out", tmp_path / "s",
                       "--image-set", "imagenet_ood", "--detector", "vim")  # fmt: skip
    assert code == 2 and "has no split train, which detectors are fitted on" in output.err
    few = tmp_path / "few"
    shutil.copytree(models.parent / "first", few)
    config = json.loads((few / "config.json").read_text())
    config["id2label"] = {"0": "a", "1": "b"}
    config["label2id"] = {"a": 0, "b": 1}
    (few / "config.json").write_text(json.dumps(config))
    code, output = _run(capsys, few, *rest, "--detector", "msp")
    assert code == 2 and "tells 2 classes apart" in output.err


def test_plans_are_the_papers(capsys):
    plan = make_plan(random=5)
    covariate = ("imagenet_c", "imagenet_r", "imagenet_sketch")
    assert set(plan.sets(random=False)) == {"imagenet_1k", *covariate, "imagenet_ood", "openimage_o"}
    assert len(plan.pairs(random=False)) == 5 and len(plan.detectors(random=False)) == 9
    assert len(plan.pairs(random=True)) == 9 and "odin" not in plan.detectors(random=False)
    assert make_plan(sets=["imagenet_c", "imagenet_r", "imagenet_sketch", "openimage_o", "imagenet_ood"]).tables == {
        **make_plan().tables,
        "4": (make_plan().tables["4"][0], (("imagenet_1k", "openimage_o"), ("imagenet_1k", "imagenet_ood"))),
        "gain": (make_plan().tables["gain"][0], (("imagenet_1k", "openimage_o"), ("imagenet_1k", "imagenet_ood"))),
        "2": (make_plan().tables["2"][0], (("imagenet_1k", "imagenet_ood"), *make_plan().tables["1"][1][:3])),
    }


@pytest.mark.slow
def test_the_papers_numbers_stand_beside_those_of_the_same_name(toy_study, real_data):
    printed = json.loads((real_data.parent / "papers" / "tables.json").read_text())["imagenet_ood"]
    text = next(item for item in toy_study.tables if item.name == "1").to_markdown()
    other = printed["table1_auroc_mean_of_13_models"]["new_class"]
    assert f"| {other['MSP']['IN-R vs IN-OOD']} | {other['MSP']['IN-1K vs OpenImage-O']} | " in text
    assert "Reported, not measured: Table 1 of Yang" in text
    from oochub.comparison.paper_numbers import find_reported_numbers

    compared = 0

    def same(metric, outside, inside, detector, table, percent):
        nonlocal compared
        result = find_reported_numbers("imagenet_ood", metric, outside, table=table).values[
            inside, _DETECTORS_OF_THE_PAPER[detector]
        ]
        assert result.mean == pytest.approx(percent / 100) and result.table == table
        compared += 1

    for goal, metric in (("new_class", "auroc_new_class"), ("failure", "auroc_failure")):
        for detector, cells in printed["table1_auroc_mean_of_13_models"][goal].items():
            for pair, value in cells.items():
                inside, outside = (_SETS_OF_THE_PAPER[item] for item in pair.split(" vs "))
                same(metric, outside, inside, detector, "1", value)
        for detector, cells in printed["table3_resnet50"][goal].items():
            for outside, value in zip(("openimage_o", "imagenet_ood"), cells, strict=True):
                same(metric, outside, "imagenet_1k", detector, "3", value)
    discarded = printed["table2_pct_correct_discarded_at_75pct_ood_rejected"]
    for detector in discarded.keys() - {"columns"}:
        for inside, value in zip(("imagenet_1k", "imagenet_c", "imagenet_r"), discarded[detector], strict=True):
            same("correct_discarded", "imagenet_ood", inside, detector, "2", value)
    for detector in printed["table4_breakdown"].keys() - {"columns"}:
        for key, value in zip(TABLES["4"].metrics, printed["table4_breakdown"][detector], strict=True):
            same(key, "imagenet_ood", "imagenet_1k", detector, "4", value)
    assert compared == 90 + 20 + 21 + 9


@pytest.mark.slow
def test_texts_hold_every_cell(toy_study):
    for table in toy_study.tables:
        markdown, latex = table.to_markdown(), table.to_latex()
        grids = [part.splitlines() for part in markdown.split("\n**")[1:]]
        tables = latex.split(r"\begin{table}")[1:]
        assert len(grids) == len(tables) == len(table.blocks) and "_r" not in latex.replace(r"\_r", "")
        for block, grid, text in zip(table.blocks, grids, tables, strict=True):
            rows = [line for line in grid if line.startswith("| ")][2:]
            assert len(rows) == len(block.rows) == text.partition(r"\midrule")[2].count("\\\\\n")
            for line, (label, row) in zip(rows, block.rows, strict=True):
                cells = line.strip("| ").split(" | ")
                assert cells[0].replace("\\", "") == label and len(cells) == 1 + len(row)
                for cell, entry in zip(cells[1:], row, strict=True):
                    assert entry is None or (entry.text in cell and cell.startswith("**") == entry.bold)
        csv = (toy_study.folder / "tables" / f"{table.file}.csv").read_text()
        assert csv.count("\n") == len(table.frame) + 1


@pytest.mark.slow
def test_two_studies_in_one_folder_notice_each_other(models, options, tmp_path):
    """Planted fault: the study without the lock."""
    with lock_target(tmp_path / "s"), pytest.raises(oochub.OochubError, match="Another process writes"):
        study(models, tmp_path / "s", **options)


@pytest.mark.slow
def test_a_model_of_a_file_of_one_s_own_is_studied_as_its_folder(models, imagenet, tmp_path, capsys):
    """`--model-file`: the numbers of the folder that the file opens; a second run predicts nothing, other weights all.

    Planted fault seen: a state without the weights, so that other ones keep the old predictions.
    """
    folder = models.read_text().splitlines()[1]
    file = tmp_path / "net.py"
    file.write_text(
        "from transformers import AutoImageProcessor, AutoModelForImageClassification as A\n"
        f"def load():\n    model = A.from_pretrained({folder!r})\n"
        f"    return {{'model': model, 'image_processor': AutoImageProcessor.from_pretrained({folder!r})}}\n"
        "def other():\n    made = load()\n    made['model'].classifier[-1].weight.data *= -1\n    return made\n"
    )
    words = ["--data-dir", imagenet, "--image-set", "imagenet_ood", "--detector", "msp", "--detector", "energy"]
    words += ["--table", "1", "--json", "--out"]

    def study_model(out: str, *model: object) -> tuple[int, list[dict[str, str]]]:
        code, output = _run(capsys, *model, *words, tmp_path / out)
        assert code == 0, output.err
        with (tmp_path / out / "numbers.csv").open() as lines:
            rows = [{key: text for key, text in row.items() if key != "model"} for row in csv.DictReader(lines)]
        return json.loads(output.out)["predicted"], rows

    predicted, numbers = study_model("own", "--model-file", f"{file}:load")
    assert (predicted, numbers) == study_model("folder", folder)
    assert predicted == 2 and len(numbers) > 4
    assert study_model("own", "--model-file", f"{file}:load") == (0, numbers)
    changed, others = study_model("own", "--model-file", f"{file}:other")
    assert changed == 2 and others != numbers
