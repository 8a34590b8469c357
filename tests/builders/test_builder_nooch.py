"""The NOOCH builder on planted annotations, on real ones, and against wrong input."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from datasets import DatasetDict, get_dataset_config_names, load_dataset

import oochub
from oochub.builders.sources.coco import read_coco
from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.records.build_record import BuildRecord

_FILES = ("instances_train2017", "instances_val2017", "stuff_train2017", "stuff_val2017")


def _bucket(image_id: int) -> int:
    return int(hashlib.sha256(str(image_id).encode()).hexdigest(), 16) % 10


def _ids(split: str) -> list[int]:
    wanted = {"train": range(7), "validation": (7,), "test": (8, 9)}[split]
    return [i for i in range(1, 500) if _bucket(i) in wanted]


def _write(folder: Path, images: dict[int, dict[str, float]]) -> Path:
    """A raw folder of 10 x 10 pixel images with the given areas (fractions) by class."""
    (folder / "annotations").mkdir(parents=True)
    for year in ("train2017", "val2017"):
        (folder / "images" / year).mkdir(parents=True)
    from PIL import Image

    content = {name: {"images": [], "annotations": [], "categories": []} for name in _FILES}
    for name, parts in content.items():
        stuff = name.startswith("stuff")
        parts["categories"] = [
            {"id": number, "name": c.replace("_", " ")} for c, number in CATEGORY_IDS.items() if (number > 91) == stuff
        ] + ([{"id": 183, "name": "other"}] if stuff else [])
    number = 0
    for image_id, areas in images.items():
        file = f"{image_id:012d}.jpg"
        Image.new("RGB", (10, 10), (image_id % 256, 0, 0)).save(folder / "images" / "train2017" / file)
        content["instances_train2017"]["images"].append({"id": image_id, "file_name": file, "height": 10, "width": 10})
        for name, fraction in areas.items():
            number += 1
            category = 183 if name == "other" else CATEGORY_IDS[name]
            target = "stuff_train2017" if category > 91 else "instances_train2017"
            content[target]["annotations"].append(
                {"id": number, "image_id": image_id, "category_id": category, "area": fraction * 100, "iscrowd": 0}
            )
    for name, parts in content.items():
        (folder / "annotations" / f"{name}.json").write_text(json.dumps(parts))
    return folder


def _planted(folder: Path) -> Path:
    train, test, validation = _ids("train"), _ids("test"), _ids("validation")
    images = {i: {"car": 0.02, "road": 0.4} for i in train[:5]} | {i: {"grass": 0.5} for i in train[5:9]}
    images |= {i: {"car": 0.05} for i in validation[:2]}
    images[test[0]] = {"car": 0.05, "road": 0.0999}
    images[test[1]] = {"car": 0.05, "road": 0.1}
    images[test[2]] = {"car": 0.05, "road": 0.1001}
    images[test[3]] = {"road": 0.0999}
    images[test[4]] = {"road": 0.1}
    images[test[5]] = {"road": 0.1001, "other": 0.5}
    images[test[6]] = {"car": 0.0}
    return _write(folder, images)


def _names(split, column):
    return [split.features[column].int2str(value) for value in split[column]]


def test_planted_areas_give_the_challenge_worked_by_hand(tmp_path):
    """.0999, .1 and .1001 of the image; an annotation of area 0 still counts as present (label by annotation)."""
    data = load_dataset("nooch", "ce_car", data_dir=_planted(tmp_path / "raw"))
    expected = ["hard_positive", "easy", "easy", "easy", "easy", "hard_negative", "hard_positive"]
    assert _names(data["test"], "challenge") == expected
    assert _names(data["test"], "label") == ["car"] * 3 + ["no_car"] * 3 + ["car"]
    assert _names(data["test"], "group")[0] == "car/no_context"
    assert _names(data["test"], "environment") == [
        *["car/context_pixels"] * 3,
        *["no_car/context_pixels"] * 3,
        "car/no_context_pixels",
    ]
    assert data["test"]["example_id"] == [f"{i:012d}" for i in _ids("test")[:7]]
    assert BuildRecord.of(data["train"].info).facts.contexts == ("road",)


def test_environments_are_by_the_context_of_highest_alpha(tmp_path):
    """Of road (0.38 more than the car) and tree (0.18 more) it is road; contexts= names another first."""
    train, test = _ids("train"), _ids("test")
    images = {i: {"car": 0.02, "road": 0.4, "tree": 0.2} for i in train[:5]}
    images |= {test[0]: {"car": 0.05, "road": 0.3}, test[1]: {"car": 0.05, "tree": 0.3}, test[2]: {"tree": 0.3}}
    images |= {_ids("validation")[0]: {"car": 0.05}}
    folder = _write(tmp_path / "raw", images)
    data = load_dataset("nooch", "ce_car", data_dir=folder)
    assert BuildRecord.of(data["test"].info).facts.contexts == ("road", "tree")
    assert _names(data["test"], "environment") == [
        "car/context_pixels",
        "car/no_context_pixels",
        "no_car/no_context_pixels",
    ]
    turned = load_dataset("nooch", "ce_car", data_dir=folder, contexts=["tree", "road"])
    assert _names(turned["test"], "environment") == [
        "car/no_context_pixels",
        "car/context_pixels",
        "no_car/context_pixels",
    ]
    assert _names(data["test"], "challenge") == _names(turned["test"], "challenge")


def test_a_class_without_context_is_an_error_that_says_so(tmp_path):
    folder = _planted(tmp_path / "raw")
    with pytest.raises(oochub.OochubError, match=r"grass has no context at alpha = 0.05: over 4 training images"):
        load_dataset("nooch", "ce_grass", data_dir=folder)
    with pytest.raises(oochub.OochubError, match="No training image shows a zebra"):
        load_dataset("nooch", "ce_zebra", data_dir=folder)


def test_reader_against_a_loop_over_real_annotations(real_data, tmp_path):
    """Area and count of every class on 569 real images, against a plain loop; crowds included, 183 dropped."""
    folder = tmp_path / "raw"
    (folder / "annotations").mkdir(parents=True)
    source = real_data / "coco" / "annotations"
    shutil.copy(source / "instances_slice569.json", folder / "annotations" / "instances_train2017.json")
    empty = {"images": [], "annotations": [], "categories": []}
    for name in _FILES[1:]:
        (folder / "annotations" / f"{name}.json").write_text(json.dumps(empty))
    table = read_coco(folder)
    content = json.loads((source / "instances_slice569.json").read_bytes())
    size = {image["id"]: image["height"] * image["width"] for image in content["images"]}
    column = {number: k for k, number in enumerate(CATEGORY_IDS.values())}
    area, count = np.zeros((len(size), 171)), np.zeros((len(size), 171), int)
    row = {image_id: k for k, image_id in enumerate(sorted(size))}
    for annotation in content["annotations"]:
        area[row[annotation["image_id"]], column[annotation["category_id"]]] += (
            annotation["area"] / size[annotation["image_id"]]
        )
        count[row[annotation["image_id"]], column[annotation["category_id"]]] += 1
    assert table.image_id.tolist() == sorted(size)
    np.testing.assert_allclose(table.area, area, rtol=1e-12)
    np.testing.assert_array_equal(table.count, count)


def test_official_split_file_is_used_and_its_order_kept(tmp_path):
    folder = _planted(tmp_path / "raw")
    ids = read_coco(folder).image_id
    rng = np.random.default_rng(0)
    train, valid, test = np.split(rng.permutation(ids), [8, 11])
    train = np.concatenate([train, [999_999]])  # an image that this folder lacks
    np.savez(folder / "cocostuff_split_image_ids.npz", train_ids=train, valid_ids=valid, test_ids=test)
    data = load_dataset("nooch", "ce_car", data_dir=folder, contexts=["road"])
    assert data["test"]["example_id"] == [f"{i:012d}" for i in test]
    notes = BuildRecord.of(data["train"].info).notes
    assert notes == (f"partial: {len(ids)} of 123,287 images",)
    np.savez(folder / "doubled.npz", train_ids=train, valid_ids=valid, test_ids=train)
    with pytest.raises(oochub.OochubError, match="has an image id twice"):
        load_dataset("nooch", "ce_car", data_dir=folder, splits=str(folder / "doubled.npz"))


def test_all_171_configs_are_listed_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = get_dataset_config_names("nooch")
    assert len(names) == 2 * 171 + 80 + 1 and names[0] == "ce_car"
    assert "boxes_car" in names and "boxes_sky-other" not in names  # stuff has no boxes
    assert {"ce_sky-other", "gist_car", "all"} <= set(names)


def test_published_contexts_are_for_the_suite_only(tmp_path):
    folder = _planted(tmp_path / "raw")
    assert isinstance(load_dataset("nooch", "ce_tie", data_dir=folder, contexts="published"), DatasetDict)
    with pytest.raises(oochub.OochubError, match="for its 12 tasks only"):
        load_dataset("nooch", "ce_zebra", data_dir=folder, contexts="published")
    with pytest.raises(oochub.OochubError, match="Did you mean 'road'"):
        load_dataset("nooch", "ce_car", data_dir=folder, contexts=["raod"])
    with pytest.raises(oochub.OochubError, match="beta a fraction"):
        load_dataset("nooch", "ce_car", data_dir=folder, beta=1.0)
    with pytest.raises(oochub.OochubError, match="strict=True, but"):
        load_dataset("nooch", "ce_car", data_dir=folder, strict=True)


def _cut_in_half(folder: Path) -> None:
    file = folder / "annotations" / "stuff_train2017.json"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _unlink_image(folder: Path) -> None:
    next((folder / "images" / "train2017").iterdir()).unlink()


def _empty_image(folder: Path) -> None:
    next((folder / "images" / "train2017").iterdir()).write_bytes(b"")


@pytest.mark.parametrize(
    ("break_it", "words"),
    [(_cut_in_half, "is not complete JSON"), (_unlink_image, "1 of the 18 files that"), (_empty_image, "is empty")],
)
def test_broken_files_are_said_and_leave_nothing(tmp_path, break_it, words):
    folder = _planted(tmp_path / "raw")
    break_it(folder)
    with pytest.raises(oochub.OochubError, match=words):
        load_dataset("nooch", "ce_car", data_dir=folder, cache_dir=str(tmp_path / "cache"))
    assert not list((tmp_path / "cache").rglob("*.arrow"))
