"""The OpenOOD builder: its lists, counts, classes and labels; lists that are wrong; from raw folder to page."""

import re

import numpy as np
import pytest
from datasets import load_dataset
from PIL import Image

import oochub
from oochub.builders.sources.image_list import read_image_list
from oochub.builders.sources.openood_sets import CLASSES, IMAGENET_200, SETS
from oochub.builders.toy_worlds.toy_openood import toy_openood
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.records.build_record import BuildRecord

_LIST = "benchmark_imglist/cifar10/test_cifar10.txt"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return toy_openood(tmp_path_factory.mktemp("openood") / "world", size=10)


@pytest.fixture
def raw(tmp_path):
    """Three listed images, and one that the list leaves out."""
    for name in ("cat/0001", "cat/0002", "ship/0001", "dog/0009"):
        file = tmp_path / "images_classic" / "cifar10" / "test" / f"{name}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (2, 2), (len(name), 1, 2)).save(file)
    (tmp_path / _LIST).parent.mkdir(parents=True)
    (tmp_path / _LIST).write_text("cifar10/test/ship/0001.png 8\ncifar10/test/cat/0002.png 3\n")
    return tmp_path


def test_a_row_is_a_line_of_the_list(raw):
    data = load_dataset("openood", "cifar10", data_dir=raw)
    assert list(data) == ["test"]
    assert data["test"]["example_id"] == ["cifar10/test/ship/0001", "cifar10/test/cat/0002"]
    assert data["test"]["label"] == [8, 3]
    assert data["test"].features["label"].names[3] == "cat"
    record = BuildRecord.of(data["test"].info)
    assert [
        "no list benchmark_imglist/cifar10/train_cifar10.txt, so no split train",
        "no list benchmark_imglist/cifar10/val_cifar10.txt, so no split validation",
        "partial: 2 of 9,000 images in the list test_cifar10.txt",
    ] == list(record.notes)
    assert record.facts.present_classes == (3, 8)
    with pytest.raises(oochub.OochubError, match="strict=True, but cifar10 is not complete"):
        load_dataset("openood", "cifar10", data_dir=raw, strict=True)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("cifar10/test/cat/0002.png 5\n", "line 1: the image lies in the folder of cat, but its label is dog"),
        ("../cifar10/test/cat/0002.png 3\n", "line 1: path must be the path of an image, with its label"),
        ("cifar10/test/cat/0002.png 3\n" * 2, "line 2: path must be unique"),
        ("\n", "has no rows"),
        ("cifar10/test/cat/0077.png 3\n", "line 1: none of the 1 images is in .*: cifar10/test/cat/0077.png"),
    ],
)
def test_lists_that_are_wrong(raw, lines, said):
    (raw / _LIST).write_text(lines)
    with pytest.raises(oochub.OochubError, match=said):
        load_dataset("openood", "cifar10", data_dir=raw)


def test_missing_images_are_named_and_a_broken_one_is_refused(raw):
    with (raw / _LIST).open("a") as file:
        file.write("cifar10/test/cat/0077.png 3\n")
    notes = BuildRecord.of(load_dataset("openood", "cifar10", data_dir=raw)["test"].info).notes
    assert "1 of the 3 images of test_cifar10.txt are missing: cifar10/test/cat/0077.png" in notes
    (raw / "images_classic/cifar10/test/cat/0077.png").write_bytes(b"no image")
    with pytest.raises(oochub.OochubError, match=r"0077\.png"):
        load_dataset("openood", "cifar10", data_dir=raw)
    (raw / _LIST).unlink()
    with pytest.raises(oochub.OochubError, match=r"test_cifar10\.txt"):
        load_dataset("openood", "cifar10", data_dir=raw)


@pytest.mark.slow
def test_new_classes_have_no_label(world):
    data = load_dataset("openood", "cifar10_tin", data_dir=world)["test"]
    assert set(data["label"]) == {-1} and set(data["is_ood"]) == {True}
    words = {data.features[name].int2str(data[0][name]) for name in ("context", "shift", "group")}
    assert words == {"near", "semantic", "cifar10_tin/near"}
    with pytest.raises(oochub.OochubError, match=r"label must be -1, got '\d'"):
        read_image_list(world / _LIST, CLASSES["cifar10"][:4], known=False)


@pytest.mark.parametrize(
    ("config", "context"), [("cifar10", "known"), ("cifar10_cifar100", "near"), ("cifar10_svhn", "far")]
)
def test_a_row_says_where_its_set_stands(world, config, context):
    """Planted fault seen: near for all."""
    part = load_dataset("openood", config, data_dir=world)["test"]
    assert {part.features["context"].int2str(number) for number in part["context"]} == {context}


def test_the_lists_have_the_published_number_of_images(tmp_path):
    """Generated lists as long as OpenOOD's own leave no note but on images that are not there."""
    counts = {name: each.images["test"] for name, each in SETS.items() if each.benchmark in ("cifar10", "cifar100")}
    # Zhang et al. 2023, Section 4: 9,000 test images; 7,793 and 6,526 of Tiny ImageNet, 35,195 and 33,773 of Places365
    assert (counts["cifar10"], counts["cifar10_tin"], counts["cifar10_places365"]) == (9_000, 7_793, 35_195)
    assert (counts["cifar100"], counts["cifar100_tin"], counts["cifar100_places365"]) == (9_000, 6_526, 33_773)
    file = tmp_path / "benchmark_imglist" / "cifar100" / "test_tin.txt"
    file.parent.mkdir(parents=True)
    place = tmp_path / "images_classic" / "tin" / "val"
    place.mkdir(parents=True)
    Image.new("RGB", (1, 1)).save(place / "0.png")
    file.write_text("".join(f"tin/val/{k}.png -1\n" for k in range(6_526)))
    (note,) = BuildRecord.of(load_dataset("openood", "cifar100_tin", data_dir=tmp_path)["test"].info).notes
    assert note.startswith("6,525 of the 6,526 images of test_tin.txt are missing")


def test_the_classes_are_those_of_the_labels():
    assert [len(CLASSES[name]) for name in ("cifar10", "cifar100", "imagenet200", "imagenet")] == [10, 100, 200, 1000]
    assert CLASSES["cifar100"] == tuple(sorted(CLASSES["cifar100"])) and len(set(IMAGENET_200)) == 200
    # lines of test_imagenet200_v2.txt: class 483 of the 1,000 is label 132 of the 200, and so on
    lines = {0: 1, 1: 2, 2: 4, 3: 6, 110: 393, 132: 483, 197: 981, 198: 983, 199: 988}
    assert {label: IMAGENET_200[label] for label in lines} == lines and CLASSES["imagenet200"][
        132
    ] == IMAGENET_1K_NAMES[483]


def test_the_spectrum_of_each_benchmark_has_all_its_sets():
    declared = oochub.get("benchmark", "openood")
    for benchmark in CLASSES:
        spectrum = declared.of(benchmark).spectrum
        assert sorted(spectrum.configs) == sorted(name for name, each in SETS.items() if each.benchmark == benchmark)
        assert all(declared.of(name).spectrum.known == benchmark for name in spectrum.configs)
    assert declared.of("imagenet200").spectrum.new["near"] == ("imagenet200_ssb_hard", "imagenet200_ninco")


@pytest.mark.slow
def test_from_the_raw_folder_to_the_page(world):
    """The mean color of an image is all that the model sees: a shifted image is darker, so it is harder to know."""
    weight = np.random.default_rng(0).normal(size=(3, 200))

    def model(images):
        return (np.asarray(images).mean(axis=(2, 3)) @ weight / 50).astype(np.float32)

    sets = ("imagenet200", "imagenet200_c", "imagenet200_ninco", "imagenet200_textures")
    parts = [
        oochub.predict(
            model,
            oochub.load(f"openood/{config}", data_dir=str(world)),
            splits=("test",),
            class_names=list(CLASSES["imagenet200"]),
            transform=lambda image: np.asarray(image, np.float32).transpose(2, 0, 1),
        )
        for config in sets
    ]
    report = oochub.evaluate(parts, detectors=["max_logit"], resamples=100)
    number = report["max_logit/full_spectrum/near/auroc_new_class"]
    assert number.n == 30 and 0 <= number.low <= number.value <= number.high <= 1
    page = re.sub("<[^>]*>", "", report.to_html())
    assert "20 examples in distribution (imagenet200 and imagenet200_c); 10 out of distribution" in page
    assert "No predictions were given for shifted: imagenet200_v2 and imagenet200_r" in page
