"""The 96 published id files through load_dataset, and `oochub nooch verify` with files that a test has edited."""

import json
import shutil

import numpy as np
import pytest
from datasets import load_dataset
from PIL import Image
from tiny_encoder import tiny_encoder

import oochub
from oochub.builders.sources.coco_categories import CATEGORY_IDS, STUFF, THINGS
from oochub.builders.sources.nooch.ids import nooch_ids
from oochub.builders.sources.nooch.images import NoochImages
from oochub.builders.sources.nooch.suite import PUBLISHED_CONTEXTS, TABLE_2
from oochub.builders.sources.nooch.task import NoochTask
from oochub.cli import main
from oochub.records.build_record import BuildRecord
from oochub.studies.nooch.verification import verify_nooch

_SPLITS = {"validation": "valid", "test": "test"}
_SIDES = ("hard_positive", "hard_negative")


def _write_ids(folder, images, *, encoder=None, edits=()):
    """Id files of what the rules give on a raw folder; `edits` is (file part, ids to drop, ids to add)."""
    folder.mkdir()
    for name in PUBLISHED_CONTEXTS:
        contexts = images.context_table.contexts(name)
        for criterion in ("ce", "gist") if encoder else ("ce",):
            task = NoochTask(name=name, criterion=criterion, contexts=contexts)
            for split, suffix in _SPLITS.items():
                rows = images.split[split]
                challenge = images.task_columns(task, rows)["challenge"] if contexts else np.full(len(rows), "easy")
                for side in _SIDES:
                    ids = set(images.table.image_id[rows[challenge == side]].tolist())
                    stem = f"{'CE' if criterion == 'ce' else 'gist'}_{name}_{side}_{suffix}"
                    for part, drop, add in edits:
                        ids = (ids - set(drop)) | set(add) if part == stem else ids
                    np.save(folder / f"nooch_ids_{stem}.npy", np.array(sorted(ids), dtype=np.int64))
    return folder


@pytest.fixture(scope="module")
def images(coco, tmp_path_factory):
    result = NoochImages.read(coco)
    result.embed(tiny_encoder(tmp_path_factory.mktemp("encoder")))
    return result


@pytest.mark.slow
def test_verify_finds_the_edited_ids_and_no_others(coco, images, tmp_path, capsys):
    """Planted in the files: an id taken away, one added, one of another split, one without an image."""
    encoder = tiny_encoder(tmp_path / "encoder")
    clean = _write_ids(tmp_path / "clean", images, encoder=encoder)
    result = verify_nooch(coco, clean, encoder=encoder)
    assert result.agrees and len(result.sets) == 96
    assert all(item.agrees for item in result.sets)
    assert all(item.agrees is None for item in result.table_2) and len(result.table_2) == 36
    tau = {each.what: each for each in result.tables_6_and_7}
    papers = [tau[name].paper for name in ("kite, validation, hard positives", "car, test, hard negatives")]
    assert len(tau) == 48 and papers == [0.58, 0.48]
    gist = load_dataset("nooch", "gist_car", data_dir=str(coco), encoder=encoder)
    for split, limits in BuildRecord.of(gist["test"].info).facts.tau.items():
        if split != "train":
            own = [tau[f"car, {split}, hard {side}"].ours for side in ("positives", "negatives")]
            assert own == [round(limit, 2) for limit in limits]

    test, train = images.split["test"], images.split["train"]
    car = images.column("car")
    task = NoochTask(name="car", criterion="ce", contexts=images.context_table.contexts("car"))
    challenge = images.task_columns(task, test)["challenge"]
    taken = int(images.table.image_id[test[challenge == "hard_negative"]][0])
    added = int(images.table.image_id[test[(challenge == "easy") & ~images.present[test, car]]][0])
    elsewhere = int(images.table.image_id[train[~images.present[train, car]]][0])
    edited = _write_ids(
        tmp_path / "edited", images, encoder=encoder,
        edits=[("CE_car_hard_negative_test", [taken], [added, elsewhere, 581_930])],
    )  # fmt: skip
    result = verify_nooch(coco, edited, encoder=encoder)
    wrong = [item for item in result.sets if not item.agrees]
    assert not result.agrees and len(wrong) == 1
    (item,) = wrong
    assert (item.task, item.split, item.side) == ("ce_car", "test", "hard_negative")
    assert (list(item.only_published), list(item.only_computed)) == ([added], [taken])
    assert (list(item.misplaced), item.absent) == ([elsewhere], 1)
    assert item.precision == item.recall == (item.computed - 1) / item.computed

    def run(*words):
        import sys

        sys.argv = ["oochub", *map(str, words)]
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code, capsys.readouterr()

    code, output = run("nooch", "verify", "--coco", coco, "--official-ids", clean)
    assert code == 0 and "48 of 48 sets agree" in output.out and "traffic_light" in output.out
    code, output = run("nooch", "verify", "--coco", coco, "--official-ids", edited, "--json")
    message = json.loads(output.out)
    assert code == 3 and not message["agrees"]
    assert [s["only_published"] for s in message["sets"] if not s["agrees"]] == [[added]]
    (edited / "nooch_ids_CE_kite_hard_positive_valid.npy").unlink()
    code, output = run("nooch", "verify", "--coco", coco, "--official-ids", edited)
    assert code == 2 and "nooch_ids_CE_kite_hard_positive_valid.npy" in output.err


def test_an_id_against_the_annotations_is_named(coco, images, tmp_path):
    test = images.split["test"]
    with_car = int(images.table.image_id[test[images.present[test, images.column("car")]]][0])
    folder = _write_ids(tmp_path / "ids", images, edits=[("CE_car_hard_negative_test", [], [with_car])])
    with pytest.raises(oochub.OochubError, match=f"hard_negative ids disagree .* show the object: {with_car}"):
        load_dataset("nooch", "ce_car", data_dir=coco, official_ids=str(folder))
    train = int(images.table.image_id[images.split["train"]][0])
    folder = _write_ids(tmp_path / "stray", images, edits=[("CE_car_hard_negative_test", [], [train])])
    with pytest.raises(oochub.OochubError, match=f"in another split here, first {train}"):
        load_dataset("nooch", "ce_car", data_dir=coco, official_ids=str(folder))
    with pytest.raises(oochub.OochubError, match="12 tasks"):
        load_dataset("nooch", "ce_dog", data_dir=coco, official_ids=str(folder))


_FEW = ("car", "cow")  # the campaign has all twelve


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in _FEW else pytest.mark.campaign)
        for name in PUBLISHED_CONTEXTS
    ],
)
def test_the_eight_published_sets_of_a_task_come_out(real_data, tmp_path, name):
    """Generated annotations and tiny images of the images listed for each object; Table 2's counts."""
    ids, split_file = (real_data / "nooch_official" / name for name in ("ids", "cocostuff_split_image_ids.npz"))
    with np.load(split_file) as content:
        test, train = content["test_ids"].tolist(), content["train_ids"].tolist()
    checked = 0
    sets = {criterion: nooch_ids(ids, name, criterion) for criterion in ("ce", "gist")}
    positive, negative = (
        set().union(*(sets[c][split][side].tolist() for c in sets for split in _SPLITS)) for side in _SIDES
    )
    free = (image for image in test if image not in positive | negative)
    easy = TABLE_2[name][2] - len(positive.intersection(test))
    shows = dict.fromkeys(negative, ()) | dict.fromkeys(positive | {next(free) for _ in range(easy)}, (name,))
    folder = _raw_folder(tmp_path / name, shows | dict.fromkeys(train[:2], ()))
    shutil.copy(split_file, folder)
    for criterion, wanted in sets.items():
        config = f"{criterion}_{name}"
        data = load_dataset("nooch", config, data_dir=folder, official_ids=str(ids), contexts="published")
        assert BuildRecord.of(data["test"].info).facts.other["membership"] == "published ids"
        assert set(data["train"]["challenge"]) == ({0} if criterion == "ce" else {None})
        for split in _SPLITS:
            part = data[split].select_columns(["example_id", "challenge", "label"]).to_dict()
            challenge = np.array([data[split].features["challenge"].int2str(k) for k in part["challenge"]])
            image = np.array(part["example_id"], dtype=np.int64)
            for side in _SIDES:
                assert set(image[challenge == side].tolist()) == set(wanted[split][side].tolist()), (config, side)
                checked += 1
        counts = ((challenge == "hard_positive").sum(), (challenge == "hard_negative").sum(), sum(part["label"]))
        assert counts == TABLE_2[name], config
    shutil.rmtree(folder)
    assert checked == 8


def _raw_folder(folder, shows):
    """COCO's files for the given image ids: every image the same few bytes, every object a hundredth of it."""
    for place in ("annotations", "images/train2017", "images/val2017"):
        (folder / place).mkdir(parents=True)
    first, *others = (f"{image:012d}.jpg" for image in shows)
    Image.new("RGB", (2, 2)).save(folder / "images" / "train2017" / first)
    for other in others:
        (folder / "images" / "train2017" / other).hardlink_to(folder / "images" / "train2017" / first)
    listed = [{"id": image, "file_name": f"{image:012d}.jpg", "height": 10, "width": 10} for image in shows]
    number = iter(range(10**9))
    instances = [
        {"id": next(number), "image_id": image, "category_id": CATEGORY_IDS[name], "area": 1.0, "iscrowd": 0}
        for image, names in shows.items()
        for name in names
    ]
    for kind, categories, annotations in (("instances", THINGS, instances), ("stuff", STUFF, [])):
        for year in ("train", "val"):
            of_year = year == "train" and annotations
            content = {"images": listed if of_year else [], "categories": categories}
            content["annotations"] = annotations if of_year else []
            (folder / "annotations" / f"{kind}_{year}2017.json").write_text(json.dumps(content))
    return folder
