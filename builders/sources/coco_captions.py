"""Reads the sentences that people wrote about COCO's images."""

from pathlib import Path

from oochub.builders.sources.coco_json import coco_json
from oochub.builders.sources.raw_table import RawColumn, RawRecords
from oochub.errors import OochubError
from oochub.process.follow import follow

_FILES = ("captions_train2017.json", "captions_val2017.json")


def read_captions(folder: Path) -> dict[int, list[str]]:
    """The captions of each image, from the caption files of COCO that are there.

    One file is in memory at a time. One of the two files is enough, since a part of COCO may need one half only: an
    image whose captions are not there has no key, so compare the keys with the images that you have.

    Args:
        folder: Holds `annotations/` (or `annotations-json/`) with `captions_{train,val}2017.json`.

    Returns:
        COCO image id to its sentences (five to seven in COCO), in order of the image id; the sentences in the order
        of the file, as they were typed.

    Raises:
        OochubError: Neither file is there; a file that is not complete JSON, is not a captions file, or lacks a field
            or has another type in it; an image with captions in both files.

    Source: the format of COCO 2017 captions (CC BY 4.0).

    >>> import json, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "annotations").mkdir()
    >>> annotations = [{"id": 1, "image_id": 139, "caption": "A car on a road."}]
    >>> file = folder / "annotations" / "captions_val2017.json"
    >>> _ = file.write_text(json.dumps({"annotations": annotations}))
    >>> read_captions(folder)
    {139: ['A car on a road.']}
    """
    annotations = folder / ("annotations" if (folder / "annotations").is_dir() else "annotations-json")
    files = [annotations / name for name in _FILES if (annotations / name).is_file()]
    if not files:
        raise OochubError(
            f"No captions in {folder / 'annotations'}: neither {' nor '.join(_FILES)} is there. They are in "
            "http://images.cocodataset.org/annotations/annotations_trainval2017.zip (241 MB): unpack it there."
        )
    captions: dict[int, list[str]] = {}
    for file in follow(files, desc="Reading captions", unit="file", disable=None, leave=False):
        added = _read_captions(file)
        if twice := captions.keys() & added.keys():
            raise OochubError(
                f"{len(twice)} images have captions in both {' and '.join(_FILES)}, first {min(twice)}. "
                "Each image must be listed once: use the original files."
            )
        captions |= added
    return dict(sorted(captions.items()))


def _read_captions(file: Path) -> dict[int, list[str]]:
    annotations = RawRecords.of(file, coco_json(file), "annotations")
    image_ids = annotations.read("image_id", RawColumn(kind="whole")).tolist()
    captions: dict[int, list[str]] = {}
    for image_id, sentence in zip(image_ids, annotations.read("caption", RawColumn()), strict=True):
        captions.setdefault(image_id, []).append(sentence)
    return captions
