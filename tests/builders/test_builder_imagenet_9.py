"""The ImageNet-9 builder: variants and classes by folder, pairs by foreground, BG-Gap by hand, folders not whole."""

import shutil
from collections import Counter

import numpy as np
import pytest
from datasets import load_dataset

import oochub
from oochub import Predictions
from oochub.builders.toy_worlds.toy_imagenet_9 import toy_imagenet_9
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.models.class_map import ImagenetOutputs
from oochub.records.build_record import BuildRecord

_VARIANTS = ("original", "mixed_same", "mixed_rand", "mixed_next", "only_fg", "only_bg_b", "only_bg_t", "no_fg")
# in9_classes.txt of the release, with the names of its wnids n04576211 and n03800933
_CLASSES = "dog,bird,wheeled vehicle,reptile,carnivore,insect,musical instrument,primate,fish".split(",")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return toy_imagenet_9(tmp_path_factory.mktemp("drawn") / "imagenet_9", size=1, seed=3)


@pytest.fixture
def small(drawn, tmp_path):
    """One foreground of each class in each variant."""
    return shutil.copytree(drawn, tmp_path / "imagenet_9")


def test_rows_by_hand(small):
    shutil.copy(small / "no_fg/val/08_fish/n02512053_0001.JPEG", small / "no_fg/val/08_fish/second.JPEG")
    part = load_dataset("imagenet_9", data_dir=small)["test"]
    assert part.features["label"].names == _CLASSES
    assert part.features["variant"].names == list(_VARIANTS)
    named = {name: part.features[name].int2str for name in ("label", "environment", "group", "variant")}
    found = Counter()
    for row in part.remove_columns("image"):
        variant, val, folder, _ = row["example_id"].split("/")
        label = _CLASSES[int(folder[:2])]
        said = {name: word(row[name]) for name, word in named.items()}
        assert val == "val"
        assert said == {"label": label, "environment": variant, "group": f"{label}/{variant}", "variant": variant}
        found[variant, label] += 1
    assert found == {(v, c): 1 for v in _VARIANTS for c in _CLASSES} | {("no_fg", "fish"): 2}


def test_the_gap_is_bg_gap(small):
    """Right on all nine images of mixed_same and on six of mixed_rand: a gap of 6/9 - 1, whatever the others are."""
    part = load_dataset("imagenet_9", data_dir=small)["test"]
    variant, label = np.array(part["variant"]), np.array(part["label"])
    answer = np.where((variant == _VARIANTS.index("mixed_rand")) & (label < 3), (label + 1) % 9, label)
    answer[variant == _VARIANTS.index("original")] = 0
    predictions = Predictions.from_arrays(
        logits=np.eye(9)[answer],
        label=label,
        class_names=_CLASSES,
        split=np.array(["test"] * len(part)),
        variant=part.features["variant"].int2str(part["variant"]),
        foreground=part["foreground"],
        group=part.features["group"].int2str(part["group"]),
        benchmark="imagenet_9",
    )
    report = oochub.evaluate(predictions, resamples=100, metrics=["accuracy"])
    assert report.gap.estimate.value == pytest.approx(6 / 9 - 1)
    assert (report.gap.pairs.column, report.gap.pairs.both) == ("foreground", 9)


def test_a_foreground_has_one_name_on_every_background(small):
    """By the names of the release: the original's own, and what stands between fg_ and _bg_."""
    part = load_dataset("imagenet_9", data_dir=small)["test"]
    images = {row["foreground"]: set() for row in part.remove_columns("image")}
    for row in part.remove_columns("image"):
        images[row["foreground"]].add(row["variant"])
        stem = row["example_id"].rpartition("/")[2]
        mixed = _VARIANTS[row["variant"]].startswith("mixed")
        assert stem.partition("_bg_")[0] == ("fg_" if mixed else "") + row["foreground"]
    assert len(images) == 9 and all(of == set(range(8)) for of in images.values())
    notes = BuildRecord.of(part.info).notes
    assert not any("foreground" in note for note in notes)
    assert f"partial: 9 of 4,050 images (1 of 450 of dog) in {', '.join(_VARIANTS)}" in notes


def test_a_foreground_without_its_partner_is_said(small):
    same, rand = (small / variant / "val" / "00_dog" for variant in ("mixed_same", "mixed_rand"))
    image = next(same.iterdir())
    image.rename(image.with_name(image.name.replace("fg_n", "fg_m")))
    (other,) = rand.iterdir()
    shutil.copy(other, other.with_name("fg_n02084071_0099_bg_n02084071_0003.JPEG"))
    notes = BuildRecord.of(load_dataset("imagenet_9", data_dir=small)["test"].info).notes
    notes = [note for note in notes if "foreground" in note]
    assert [note.partition(" (")[0] for note in notes] == [
        "partial: 1 of 9 foregrounds of mixed_same have no image in mixed_rand",
        "partial: 2 of 10 foregrounds of mixed_rand have no image in mixed_same",
    ]
    assert "mixed_rand/val/00_dog/fg_n02084071_0099_bg_n02084071_0003.JPEG" in notes[1]


def test_a_foreground_twice_or_of_two_classes(small):
    rand = small / "mixed_rand" / "val"
    (image,) = (rand / "00_dog").iterdir()
    copy = shutil.copy(image, image.with_name("fg_n02084071_0001_bg_n01503061_0007.JPEG"))
    with pytest.raises(oochub.OochubError, match=r"the foreground n02084071_0001 twice in mixed_rand: .*remove one"):
        load_dataset("imagenet_9", data_dir=small)
    shutil.move(copy, rand / "08_fish")
    with pytest.raises(
        oochub.OochubError, match=r"the foreground n02084071_0001 as dog in .* and as fish in mixed_rand"
    ):
        load_dataset("imagenet_9", data_dir=small)


def test_variants_that_are_not_there(small):
    shutil.rmtree(small / "only_fg")
    shutil.rmtree(small / "no_fg/val")
    data = load_dataset("imagenet_9", data_dir=small)
    assert "partial: without the variants only_fg, no_fg" in BuildRecord.of(data["test"].info).notes
    assert len(data["test"]) == 6 * 9
    shutil.rmtree(small / "mixed_same")
    with pytest.raises(oochub.OochubError, match="it lacks mixed_same/val/"):
        load_dataset("imagenet_9", data_dir=small)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda val: shutil.rmtree(val / "03_reptile"), "mixed_rand/val/ has no image of reptile"),
        (lambda val: (val / "03_snake").mkdir(), "03_snake/: number must be unique, got '3', as in 03_reptile/"),
        (lambda val: (val / "09_cat").mkdir(), "09_cat/: class folder must be one of the nine classes"),
        (lambda val: (val / "01_bird").rename(val / "bird"), "bird/: class folder must be one of the nine classes"),
    ],
)
def test_folders_that_are_not_whole(small, change, said):
    change(small / "mixed_rand" / "val")
    with pytest.raises(oochub.OochubError, match=said):
        load_dataset("imagenet_9", data_dir=small)


@pytest.mark.slow
def test_as_many_images_as_published_have_no_note(small):
    """The published number, as empty files: names and counts are all that is compared."""
    for variant in _VARIANTS:
        for folder in (small / variant / "val").iterdir():
            (drawn,) = folder.iterdir()
            for k in range(2, 451):
                (folder / drawn.name.replace("_0001", f"_{k:04}", 1)).touch()
    record = BuildRecord.of(load_dataset("imagenet_9", data_dir=small, streaming=True)["test"].info)
    assert record.facts.rows == {"test": 8 * 4050}
    assert not any("partial" in note for note in record.notes)
    next((small / "mixed_next" / "val" / "08_fish").iterdir()).unlink()
    record = BuildRecord.of(load_dataset("imagenet_9", data_dir=small, streaming=True)["test"].info)
    assert "partial: 4,049 of 4,050 images (449 of 450 of fish) in mixed_next" in record.notes


def test_imagenet_s_classes_by_wordnet():
    """The authors' map is WordNet's below the nine ids of in9_classes.txt, but for classes that they leave out."""
    names = dict(zip(_CLASSES, "n02084071 n01503061 n04576211 n01661091 n02075296 n02159955".split(), strict=False))
    names |= dict(zip(_CLASSES[6:], "n03800933 n02469914 n02512053".split(), strict=True))
    outputs = ImagenetOutputs(IMAGENET_1K_NAMES)
    left_out = {171, 172, *range(80, 87), 575, 660, *range(281, 286)}  # hounds, grouse, two things on wheels, cats
    dogs = set(range(151, 269))
    declared = oochub.get("benchmark", "imagenet_9").imagenet_classes
    assert list(declared) == _CLASSES
    for name, wnid in names.items():
        (kinds,) = outputs.senses(wnid).values()
        others = left_out | (dogs if name == "carnivore" else set())
        assert set(declared[name]) == set(kinds) - others, name
    assert sum(map(len, declared.values())) == len({k for numbers in declared.values() for k in numbers}) == 370


@pytest.mark.slow
def test_a_model_of_imagenet_answers_without_a_label_map(small):
    """Each image is answered by one class of ImageNet: a tabby is of no class, so the next most probable one counts."""
    torch = pytest.importorskip("torch")
    part = load_dataset("imagenet_9", data_dir=small)["test"].select(range(9))

    def answer(batch):
        logits = torch.zeros(len(batch), 1000)
        logits[:, 281], logits[:, 269] = 9.0, 6.0
        return logits

    found = oochub.predict(
        answer, part, class_names=IMAGENET_1K_NAMES, transform=lambda image: torch.zeros(3, 8, 8), image_processor=None
    )
    assert {found.class_names[k] for k in found.prediction} == {"carnivore"}
    assert found.metadata.provenance["label_map"]["dog"]["rule"] == "benchmark"
