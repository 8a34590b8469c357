"""The reader of COCO's captions on toy, real and broken files."""

import json
import shutil
from collections import Counter

import pytest

from oochub import OochubError
from oochub.builders.sources.coco_captions import read_captions


def _write(folder, *, train=None, val=None, name="annotations"):
    (folder / name).mkdir(parents=True)
    for year, content in (("train2017", train), ("val2017", val)):
        if content is not None:
            whole = content if isinstance(content, bytes) else json.dumps({"annotations": content}).encode()
            (folder / name / f"captions_{year}.json").write_bytes(whole)
    return folder


def _one(image_id, caption, number=1):
    return {"id": number, "image_id": image_id, "caption": caption}


def test_both_halves_by_image_in_the_order_of_the_file(tmp_path):
    """Worked by hand; a caption keeps its spaces and its letters beyond ASCII."""
    train = [_one(7, "second", 9), _one(3, " A café. "), _one(7, "first", 1)]
    folder = _write(tmp_path, train=train, val=[_one(5, "val")])
    captions = read_captions(folder)
    assert captions == {3: [" A café. "], 5: ["val"], 7: ["second", "first"]}
    assert list(captions) == [3, 5, 7]


def test_one_half_is_enough_and_its_folder_may_have_the_other_name(tmp_path):
    folder = _write(tmp_path, val=[_one(5, "val")], name="annotations-json")
    assert read_captions(folder) == {5: ["val"]}


def test_toy_world(coco):
    """Five captions for each image that the instances files list."""
    images = [
        image["id"]
        for year in ("train2017", "val2017")
        for image in json.loads((coco / "annotations" / f"instances_{year}.json").read_text())["images"]
    ]
    captions = read_captions(coco)
    assert list(captions) == sorted(images)
    assert {len(sentences) for sentences in captions.values()} == {5}


def test_real_captions(real_data):
    """The counts of COCO's validation half: 5,000 images, 25,014 captions, five to seven an image."""
    captions = read_captions(real_data / "coco")
    assert len(captions) == 5000 and sum(map(len, captions.values())) == 25014
    assert set(Counter(map(len, captions.values()))) == {5, 6, 7}
    slice_ = json.loads((real_data / "coco" / "annotations" / "captions_slice.json").read_text())["annotations"]
    common = [annotation for annotation in slice_ if annotation["image_id"] in captions]
    assert common and all(annotation["caption"] in captions[annotation["image_id"]] for annotation in common)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"annotations": [{"image_id": 1, "capt', "is not complete JSON.*fetch the file again"),
        (b'{"annotations": "\xe9"}', "is not UTF-8 text"),
        (b"[]", "must have a list 'annotations' of objects"),
        (
            [{"id": 1, "image_id": 1, "category_id": 3, "bbox": []}],
            "annotation 1 of image 1: the field caption is missing",
        ),
        ([_one(1.5, "A car.")], "image_id must be a whole number, got 1.5"),
        ([_one(1, None)], "caption must be text, got None"),
    ],
)
def test_broken_files_say_what_is_wrong(content, words, tmp_path):
    folder = _write(tmp_path, val=content)
    with pytest.raises(OochubError, match=rf"captions_val2017\.json.*{words}"):
        read_captions(folder)


def test_no_captions_says_where_they_are(tmp_path, coco):
    shutil.copytree(coco / "annotations", tmp_path / "annotations")
    for file in (tmp_path / "annotations").glob("captions*"):
        file.unlink()
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(
            OochubError, match=r"neither captions_train2017\.json nor captions_val.*annotations_trainval2017\.zip"
        ):
            read_captions(folder)


def test_an_image_in_both_halves_is_an_error(tmp_path):
    folder = _write(tmp_path, train=[_one(3, "a"), _one(8, "b")], val=[_one(8, "c"), _one(9, "d")])
    with pytest.raises(OochubError, match=r"1 images have captions in both .* first 8"):
        read_captions(folder)
