"""`oochub example --photographs`: what stands in the folder, held to COCO's own annotations, and its declaration."""

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typed_commands import Ended

import oochub
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.records.build_record import BuildRecord
from oochub.studies.demo.photographs import photographs


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return photographs(tmp_path_factory.mktemp("example") / "photos")


def _rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "objects" / "metadata.csv").open()))


def test_every_photograph_has_its_licence(folder: Path) -> None:
    """The counts are those of the list that was chosen: 37 CC BY, 18 CC BY-SA, 1 without known restrictions."""
    lines = list(csv.DictReader((folder / "ATTRIBUTION.tsv").open(), delimiter="\t"))
    assert {line["photo"] for line in lines} == {file.stem for file in (folder / "photographs").glob("*.jpg")}
    assert Counter(line["licence_url"].split("/")[4] for line in lines) == {"by": 37, "by-sa": 18, "usage": 1}
    assert all(line["photo_page"].startswith("https://www.flickr.com/photo.gne?id=") for line in lines)


def test_the_folder_loads_with_labels_masks_and_clusters(folder: Path) -> None:
    rows = oochub.load(str(folder))["train"]
    assert len(rows) == 140 and len(rows.features["label"].names) == 44 and len(set(rows["photo"])) == 56
    assert all(row["mask"].size == row["image"].size for row in rows)
    facts = BuildRecord.of(rows.info).facts
    assert facts.cluster == "photo"
    classes = facts.declared.imagenet_classes
    assert set(classes) <= set(rows.features["label"].names)
    assert [IMAGENET_1K_NAMES[number].split(",")[0] for number in classes["traffic light"]] == ["traffic light"]
    numbers = [number for several in classes.values() for number in several]
    assert len(numbers) == len(set(numbers))


def test_the_masks_are_those_of_coco(folder: Path, real_data: Path) -> None:
    """Drawn again from COCO's outlines by Pillow, not by pycocotools: all objects of the class, at the crop's size."""
    from PIL import ImageDraw

    content = json.loads((real_data / "coco" / "permissive_subset" / "instances.json").read_text())
    sizes = {image["id"]: (image["width"], image["height"]) for image in content["images"]}
    names = {category["id"]: category["name"] for category in content["categories"]}
    boxes = csv.DictReader(
        (Path(oochub.__file__).parent / "studies" / "demo" / "photos" / "objects.tsv").open(), delimiter="\t"
    )
    overlaps = []
    for box in boxes:
        photo = int(box["photo"])
        drawn = Image.new("L", sizes[photo])
        for each in content["annotations"]:
            if each["image_id"] == photo and names[each["category_id"]] == box["label"]:
                for outline in each["segmentation"]:
                    ImageDraw.Draw(drawn).polygon(outline, fill=255)
        with Image.open(folder / "photographs" / f"{photo}.jpg") as image:
            drawn = drawn.resize(image.size, Image.Resampling.BOX)
        crop = np.asarray(drawn.crop(tuple(int(box[side]) for side in ("left", "top", "right", "bottom")))) > 127
        mask = np.asarray(Image.open(folder / "objects" / "masks" / f"{box['name']}.png")) > 0
        overlaps.append((crop & mask).sum() / (crop | mask).sum())
    assert len(overlaps) == 140 and min(overlaps) > 0.8 and np.median(overlaps) > 0.97


def test_the_command_writes_and_refuses(tmp_path: Path, run: Callable[..., Ended]) -> None:
    target = tmp_path / "photos"
    words = ("example", target, "--photographs")
    assert run(*words) == (0, f"{target}\n", "") and len(_rows(target)) == 140
    code, _, err = run(*words, "--size", "30")
    assert code == 2 and "concern drawn images" in err
    (target / "benchmark.toml").write_text("mine = 1\n")
    assert run(*words)[0] == 2 and (target / "benchmark.toml").read_text() == "mine = 1\n"
