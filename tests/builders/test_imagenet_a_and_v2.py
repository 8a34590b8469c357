"""ImageNet-A and ImageNetV2 as configs of imagenet_ood: labels by folder, what is present, what is not whole."""

import shutil

import pytest
from datasets import load_dataset
from PIL import Image

import oochub
from oochub.builders.sources.imagenet_listing import _list_known_classes
from oochub.builders.sources.imagenet_sets import SETS
from oochub.builders.sources.stored import Stored
from oochub.class_names.imagenet_classes import IMAGENET_1K_WNIDS
from oochub.records.build_record import BuildRecord

_A, _V2 = "imagenet-a", "imagenetv2-matched-frequency-format-val"
# Numbers of classes as public lists of ImageNet have them: 1 goldfish n01443537, 9 ostrich n01518878, 10 brambling
# n01530575, 999 toilet tissue n15075141.
_FILES = {
    f"{_A}/n01518878/0.001_ostrich _ ostrich_0.9.jpg": 9,
    f"{_A}/n01443537/0.001_goldfish _ goldfish_0.8.jpg": 1,
    f"{_V2}/10/aa.jpeg": 10,
    f"{_V2}/9/aa.jpeg": 9,
    f"{_V2}/9/bb.jpeg": 9,
    f"{_V2}/999/cc.jpeg": 999,
}


@pytest.fixture
def small(tmp_path):
    for number, file in enumerate(_FILES):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (1, 1), (40 * number, 0, 0)).save(tmp_path / file, "JPEG")
    return tmp_path


@pytest.mark.parametrize(("config", "folder"), [("imagenet_a", _A), ("imagenet_v2", _V2)])
def test_rows_by_hand(small, config, folder):
    part = load_dataset("imagenet_ood", config, data_dir=small)["test"]
    named = {file.removeprefix(f"{folder}/"): label for file, label in _FILES.items() if file.startswith(folder)}
    assert dict(zip(part["file_name"], part["label"], strict=True)) == named
    for row in part.remove_columns("image"):
        wnid, stem = IMAGENET_1K_WNIDS[row["label"]], row["file_name"].split("/")[1].rpartition(".")[0]
        assert (row["example_id"], row["wnid"]) == (f"{config}/{wnid}/{stem}", wnid)
        assert part.features["group"].int2str(row["group"]) == f"{config}/photo"
        assert part.features["shift"].int2str(row["shift"]) == "covariate" and not row["is_ood"]
    record = BuildRecord.of(part.info)
    assert record.facts.present_classes == tuple(sorted(set(named.values())))
    images, classes = (7_500, 200) if config == "imagenet_a" else (10_000, 1_000)
    gaps = {
        f"partial: {len(set(named.values()))} of {classes:,} classes",
        f"partial: {len(named)} of {images:,} images",
    }
    assert gaps <= set(record.notes)


@pytest.mark.parametrize("name", ["1000", "n01518878", "ostrich", "-1"])
def test_a_folder_of_v2_is_the_number_of_a_class(small, name):
    shutil.move(small / _V2 / "9", small / _V2 / name)
    with pytest.raises(oochub.OochubError, match=f"2 images in .* belong to no class .*{name}/aa.jpeg.*0/ to 999/"):
        load_dataset("imagenet_ood", "imagenet_v2", data_dir=small)


def test_v2_may_lie_in_the_folder_that_its_readme_names(small):
    (small / _V2).rename(small / "imagenetv2-matched-frequency")
    assert len(load_dataset("imagenet_ood", "imagenet_v2", data_dir=small)["test"]) == 4


@pytest.mark.parametrize(("config", "images", "classes"), [("imagenet_a", 7_500, 200), ("imagenet_v2", 10_000, 1_000)])
def test_counts_of_the_release(tmp_path, config, images, classes):
    """A full-size list of names has no gap; one image less has."""
    wnids = IMAGENET_1K_WNIDS[:classes]
    names = [(wnids[k % classes], k) for k in range(images)]
    numbers = {wnid: number for number, wnid in enumerate(IMAGENET_1K_WNIDS)}
    stored = [Stored(f"{numbers[w] if config == 'imagenet_v2' else w}/{k}.jpeg", w) for w, k in names]
    assert (SETS[config].images, SETS[config].classes) == (images, classes)
    assert _list_known_classes(config, tmp_path, stored, SETS[config].images, "images").gaps == []
    gaps = _list_known_classes(config, tmp_path, stored[1:], SETS[config].images, "images").gaps
    assert gaps == [f"partial: {images - 1:,} of {images:,} images"]
