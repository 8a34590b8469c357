"""Config `all`, the tasks made of it, gist configs, and areas from masks."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from datasets import load_dataset
from tiny_encoder import tiny_encoder

import oochub
from oochub.builders.criteria.gist import gist
from oochub.builders.sources.coco import read_coco
from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.evaluation.scenes import Scenes
from oochub.loading_scripts.build_repository import build_parquet
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildRecord


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return tiny_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def every(coco, encoder):
    return load_dataset("nooch", "all", data_dir=coco, encoder=encoder)


@pytest.mark.slow
@pytest.mark.parametrize("config", ["ce_car", "ce_cup", "gist_car", "gist_boat"])
def test_a_task_of_all_is_the_task_built_alone(every, coco, encoder, config):
    alone = load_dataset("nooch", config, data_dir=coco, encoder=encoder)
    joined = oochub.task(every, config)
    for split, part in alone.items():
        kept = [name for name in part.column_names if name != "image"]
        assert {name: joined[split].features[name] for name in kept} == {name: part.features[name] for name in kept}
        for name in kept:
            assert joined[split][name] == part[name], (split, name)
        assert joined[split][0]["image"] == part[0]["image"]
    ours, theirs = (BuildRecord.of(part["test"].info) for part in (joined, alone))
    assert ours.config == config
    assert ours.facts.contexts == theirs.facts.contexts and ours.notes == theirs.notes
    report = oochub.evaluate(_predictions(joined["test"], config))
    assert report.benchmark.config == config


def test_a_task_of_all_copies_no_picture(every):
    """The bytes stay where `all` has them, and no file is written; planted fault seen: a table of its own chunks."""
    folders = {Path(each["filename"]).parent for part in every.values() for each in part.cache_files}
    before = {file: file.stat().st_mtime_ns for folder in folders for file in folder.iterdir()}
    for split, part in oochub.task(every, "ce_car").items():
        ours, theirs = (
            [buffer.address for chunk in data.data.column("image").chunks for buffer in chunk.buffers() if buffer]
            for data in (part, every[split])
        )
        assert ours == theirs and ours
    assert before == {file: file.stat().st_mtime_ns for folder in folders for file in folder.iterdir()}


@pytest.mark.slow
def test_a_context_of_exactly_beta_stays_below_it(coco, tmp_path):
    """.1 is above .1 once it was float32. It failed while the columns were read by the numpy format."""
    folder = tmp_path / "nooch"
    shutil.copytree(coco, folder)
    plain = load_dataset("nooch", "ce_car", data_dir=coco, split="test")
    hard = plain.features["challenge"].str2int("hard_negative")
    chosen = next(int(i) for i, c in zip(plain["example_id"], plain["challenge"], strict=True) if c == hard)
    for file in (folder / "annotations").glob("stuff_*.json"):
        content = json.loads(file.read_text())
        sizes = {image["id"]: image["height"] * image["width"] for image in content["images"]}
        roads = [
            annotation
            for annotation in content["annotations"]
            if (annotation["image_id"], annotation["category_id"]) == (chosen, CATEGORY_IDS["road"])
        ]
        for k, annotation in enumerate(roads):
            annotation["area"] = 0.1 * sizes[chosen] if k == 0 else 0.0
        file.write_text(json.dumps(content))
    every = load_dataset("nooch", "all", data_dir=folder, split="test")
    for part in (oochub.task(every, "ce_car"), load_dataset("nooch", "ce_car", data_dir=folder, split="test")):
        row = part["example_id"].index(f"{chosen:012d}")
        assert part.features["challenge"].int2str(part["challenge"][row]) == "easy"


def _predictions(part, config):
    """Random logits over a task's columns."""
    import pyarrow as pa

    rng = np.random.default_rng(0)
    rows = part.remove_columns(["image", "captions"]).to_dict()
    for name in ("environment", "group", "challenge", "challenge_ce", "challenge_gist"):
        if name in rows:
            rows[name] = [part.features[name].int2str(value) for value in rows[name]]
    logits = rng.normal(size=(len(part), 2)).astype(np.float32)
    table = pa.table({**rows, "split": ["test"] * len(part), "logits": list(logits)})
    record = BuildRecord.of(part.info)
    return Predictions(
        table,
        {
            "benchmark": "nooch",
            "config": config,
            "version": "1.0.0",
            "model": {"id": "random"},
            "class_names": part.features["label"].names,
            "rows": {"test": len(part)},
            "facts": record.facts,
        },
    )


def test_gist_has_as_many_hard_examples_as_co_occurrence(every):
    """Per side and per split; the lowest positives and the highest negatives by similarity, by sorting."""
    differ = 0
    for task in ("gist_car", "gist_cow", "gist_backpack"):
        for part in oochub.task(every, task).values():
            names = part.features["challenge_ce"].names
            ce, gist = (np.array(part[f"challenge_{criterion}"]) for criterion in ("ce", "gist"))
            similarity, label = np.array(part["gist_similarity"]), np.array(part["label"])
            for side, of, sign in (("hard_positive", 1, 1), ("hard_negative", 0, -1)):
                k = names.index(side)
                assert (ce == k).sum() == (gist == k).sum()
                hard, rest = similarity[gist == k], similarity[(label == of) & (gist != k)]
                if len(hard) and len(rest):
                    assert (sign * hard).max() <= (sign * rest).min() + 1e-6
            differ += int((ce != gist).sum())
    assert differ > 20  # two notions of context, two sets


@pytest.mark.slow
def test_the_thresholds_stand_in_record_card_and_report(coco, encoder, tmp_path):
    """By tau the same rows are hard as by count (Section 3.2.2); record, card and report say each threshold."""
    folder = build_parquet("nooch/gist_car", tmp_path / "built", data_dir=str(coco), options={"encoder": encoder})
    built = oochub.load(folder)
    facts = BuildRecord.of(built["test"].info).facts
    assert (facts.alpha, facts.beta, set(facts.tau)) == (0.05, 0.1, set(built))
    for split, (low, high) in facts.tau.items():
        part = built[split].select_columns(["label", "gist_similarity", "challenge_gist"])[:]
        names = built[split].features["challenge_gist"].names
        found = gist(part["label"], part["gist_similarity"], tau=(low, high))
        assert found.tolist() == [names[k] for k in part["challenge_gist"]]
    low, high = facts.tau["test"]
    assert (
        f"tau of positives in test {low:.6g}, tau of negatives in test {high:.6g}" in (folder / "README.md").read_text()
    )
    report = oochub.evaluate(_predictions(built["test"], "gist_car"), resamples=100)
    named = {"alpha": 0.05, "beta": 0.1, "tau of positives": low, "tau of negatives": high}
    assert report.benchmark.thresholds == named
    assert f"alpha 0.05, beta 0.1, tau of positives {low:g}" in report.to_html()


def test_similarity_is_the_cosine_to_the_training_positives(every):
    """By a loop over the embeddings in the data set itself."""
    vectors = np.array(every["train"]["gist_embedding"], dtype=np.float64)
    column = list(CATEGORY_IDS).index("car")
    shown = np.array([column in labels for labels in every["train"]["labels"]])
    mean = vectors[shown].mean(axis=0)
    for row in every["test"].select_columns(["gist_embedding", "gist_similarity"]).select(range(20)):
        v = np.array(row["gist_embedding"], dtype=np.float64)
        cosine = v @ mean / np.linalg.norm(v) / np.linalg.norm(mean)
        assert row["gist_similarity"][column] == pytest.approx(cosine, abs=1e-6)


def test_scenes_hold_what_the_rows_say(every):
    scenes = Scenes.of(every, "validation")
    part = every["validation"]
    assert scenes.present.shape == (len(part), 171) and scenes.similarity.shape == (len(part), 171)
    assert [np.flatnonzero(row).tolist() for row in scenes.present] == part["labels"]
    road, car = (scenes.names.index(name) for name in ("road", "car"))
    assert scenes.contexts(0.05)[car, road] and not scenes.contexts(0.05)[road, car]
    with pytest.raises(oochub.OochubError, match="Losses need predictions"):
        _ = scenes.loss


@pytest.mark.slow
def test_one_prediction_file_gives_every_task(every, tmp_path):
    """A head with 171 outputs: the task's score is its class's logit, so AUC is that of the logit alone."""
    import torch
    from sklearn.metrics import roc_auc_score
    from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessor

    torch.manual_seed(0)
    names = list(CATEGORY_IDS)
    config = ResNetConfig(
        num_channels=3, embedding_size=8, hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1], layer_type="basic",
        num_labels=171, id2label=dict(enumerate(names)), label2id={n: k for k, n in enumerate(names)},
        problem_type="multi_label_classification",
    )  # fmt: skip
    model = ResNetForImageClassification(config)
    processor = ViTImageProcessor(size={"height": 32, "width": 32})
    file = tmp_path / "all.parquet"
    predictions = oochub.predict(model, every, image_processor=processor, out=file)
    assert predictions.metadata.kind == "labels" and predictions.logits.shape == predictions.label.shape == (
        len(predictions),
        171,
    )
    task = oochub.task(Predictions.load(file), "ce_car")
    assert task.class_names == ["no_car", "car"]
    z = predictions.logits[:, names.index("car")]
    assert np.array_equal(task.logits, np.stack([0 * z, z], axis=1))
    rows = predictions.split == "test"
    label = np.array([names.index("car") in labels for labels in predictions.column("labels")])
    report = oochub.evaluate(task)
    assert float(report["auc"]) == pytest.approx(roc_auc_score(label[rows], z[rows]))
    direct = oochub.task(every, "ce_car")
    for split in ("validation", "test"):
        chosen = task.select(task.split == split)
        wanted = [direct[split].features["challenge"].int2str(k) for k in direct[split]["challenge"]]
        assert chosen.column("challenge").tolist() == wanted
    again = oochub.task(Predictions.load(task.save(tmp_path / "car.parquet")) and predictions, "gist_car")
    assert "challenge_ce" in again.table.column_names
    scenes = Scenes.of(file)
    sigmoid = 1 / (1 + np.exp(-predictions.logits[rows].astype(np.float64)))
    wanted = -np.log(np.where(scenes.present, sigmoid, 1 - sigmoid))
    np.testing.assert_allclose(scenes.loss, wanted, rtol=1e-9)


def test_errors_say_what_to_do(every, coco, tmp_path):
    with pytest.raises(oochub.OochubError, match="no context at alpha"):
        oochub.task(every["test"], "ce_road")
    with pytest.raises(oochub.OochubError, match="or 'ce_car'"):
        oochub.task(every["test"], "ce_cra")
    plain = load_dataset("nooch", "all", data_dir=coco, split="test")
    assert plain[0]["gist_similarity"] == []
    with pytest.raises(oochub.OochubError, match="encoder=NAME"):
        oochub.task(plain, "gist_car")
    task = load_dataset("nooch", "ce_car", data_dir=coco, split="test")
    with pytest.raises(oochub.OochubError, match="not a config that holds every task"):
        oochub.task(task, "ce_bowl")
    with pytest.raises(oochub.OochubError, match="tau is the threshold of the gist"):
        load_dataset("nooch", "ce_car", data_dir=coco, tau=0.5)
    folder = tmp_path / "without_captions"
    shutil.copytree(coco, folder, ignore=shutil.ignore_patterns("captions_*"))
    assert load_dataset("nooch", "all", data_dir=folder, split="test")[0]["captions"] == []
    with pytest.raises(oochub.OochubError, match="have no caption"):
        load_dataset("nooch", "gist_car", data_dir=folder)


def test_a_threshold_replaces_the_counts(coco, encoder):
    """Tau = (positives, negatives), one for each side as in the paper's Tables 6 and 7."""
    part = load_dataset("nooch", "gist_car", data_dir=coco, encoder=encoder, tau=(0.6, 0.7), split="test")
    similarity, label = np.array(part["gist_similarity"]), np.array(part["label"])
    gist = [part.features["challenge"].int2str(k) for k in part["challenge"]]
    for value, positive, challenge in zip(similarity, label, gist, strict=True):
        hard = value < 0.6 if positive else value > 0.7
        assert (challenge != "easy") == hard


@pytest.mark.slow
def test_areas_from_masks(coco, tmp_path):
    """The toy's `area` is its mask's pixels; a mask drawn twice counts twice, but once in the union."""
    field, mask = read_coco(coco), read_coco(coco, area="mask")
    np.testing.assert_allclose(field.area, mask.area)
    folder = tmp_path / "doubled"
    shutil.copytree(coco, folder)
    file = folder / "annotations" / "instances_val2017.json"
    content = json.loads(file.read_text())
    first = content["annotations"][0]
    content["annotations"].append({**first, "id": 999_999_999})
    file.write_text(json.dumps(content))
    row = int(np.flatnonzero(field.image_id == first["image_id"])[0])
    column = list(CATEGORY_IDS.values()).index(first["category_id"])
    once = field.area[row, column]
    by = {area: read_coco(folder, area=area) for area in ("field", "mask", "union")}
    pixels = next(image for image in content["images"] if image["id"] == first["image_id"])
    size = first["area"] / (pixels["height"] * pixels["width"])
    assert by["field"].area[row, column] == pytest.approx(once + size)
    assert by["mask"].area[row, column] == pytest.approx(once + size)
    assert by["union"].area[row, column] <= once + 1e-12
    assert (by["union"].count == by["field"].count).all()
    with pytest.raises(oochub.OochubError, match="Did you mean 'mask'"):
        read_coco(coco, area="masks")
