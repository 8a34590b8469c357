"""A toy of COCO and COCO-Stuff: drawn objects in and out of their usual context, in the real raw format."""

import json
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources import coco_categories
from oochub.builders.toy_worlds import _folder
from oochub.builders.toy_worlds._captions import captions
from oochub.builders.toy_worlds._painting import Mask, Painted, Thing, paint
from oochub.builders.toy_worlds._scenes import OBJECTS, outline_box, scene
from oochub.builders.toy_worlds._textures import PIXELS
from oochub.errors import OochubError, unknown_name
from oochub.process.follow import follow

_SIZES = {"small": 400, "medium": 6000}
_LARGEST_ID = 581_929
_ID_STREAM = 1592
"""A split by hashed image ids leaves 34 validation images of the small world. With this stream of ids, and seed
0, each split of it holds cars off the road and roads without a car, and all twelve contexts come out."""
_OTHER_SHARE = 0.5
"""Share of images whose remainder is annotated as category 183, "other"; in the rest it is left blank."""

Record = dict[str, Any]


class _Half(NamedTuple):
    """What train2017 or val2017 collects: one list for each annotation file."""

    images: list[Record]
    instances: list[Record]
    stuff: list[Record]
    captions: list[Record]


def _require_pycocotools() -> None:
    try:
        import pycocotools.mask  # noqa: F401
    except ImportError as error:
        raise OochubError(
            'Writing the masks of COCO needs pycocotools, which is not installed. Run: pip install "oochub[coco]"'
        ) from error


def _encode_mask(masks: list[Mask]) -> list[Record]:
    """Compressed run lengths {counts, size}, JSON-ready."""
    from pycocotools import mask as coco_mask

    runs = coco_mask.encode(np.asfortranarray(np.stack(masks, axis=2).astype(np.uint8)))
    return [{"counts": run["counts"].decode("ascii"), "size": list(map(int, run["size"]))} for run in runs]


def _outline_polygons(thing: Thing) -> list[list[float]]:
    """The outline as COCO writes it: one list x0, y0, x1, y1, ... per polygon."""
    return [[round(value, 2) for value in points.ravel().tolist()] for points in thing.outline]


def _fill_polygons(polygons: list[list[float]]) -> Mask:
    """The pixels (PIXELS, PIXELS) that the written polygons cover together."""
    from pycocotools import mask as coco_mask

    runs = coco_mask.frPyObjects(polygons, PIXELS, PIXELS)
    decoded: NDArray[np.uint8] = coco_mask.decode(coco_mask.merge(runs))
    return decoded.astype(bool)


def _find_box(mask: Mask) -> list[float]:
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    left, top = columns[0], rows[0]
    return [float(left), float(top), float(columns[-1] - left + 1), float(rows[-1] - top + 1)]


def _mask_object(name: str, mask: Mask, *, crowd: bool) -> Record:
    return {
        "segmentation": _encode_mask([mask])[0],
        "area": float(np.count_nonzero(mask)),
        "iscrowd": int(crowd),
        "bbox": _find_box(mask),
        "category_id": coco_categories.IDS[name],
    }


def _make_annotations(painted: Painted, *, with_other: bool) -> tuple[list[Record], list[Record]]:
    """The instances and the stuff of one image, without ids."""
    polygons = [_outline_polygons(thing) for thing in painted.things]
    covers = [_fill_polygons(each) for each in polygons]
    instances = [
        {
            "segmentation": outline,
            "area": float(np.count_nonzero(cover)),
            "iscrowd": 0,
            "bbox": outline_box(np.concatenate(thing.outline).round(2)),
            "category_id": coco_categories.IDS[thing.name],
        }
        for thing, outline, cover in zip(painted.things, polygons, covers, strict=True)
    ]
    if painted.crowd:
        crowd = np.logical_or.reduce([_fill_polygons(_outline_polygons(thing)) for thing in painted.crowd])
        instances.append(_mask_object("person", crowd, crowd=True))
        covers.append(crowd)
    hidden = np.logical_or.reduce([*covers, np.zeros((PIXELS, PIXELS), bool)])
    visible = {name: mask & ~hidden for name, mask in painted.stuff.items()}
    if with_other:
        visible["other"] = ~np.logical_or.reduce([*visible.values(), np.zeros((PIXELS, PIXELS), bool)])
    stuff = [_mask_object(name, mask, crowd=False) for name, mask in visible.items() if mask.any()]
    return instances, stuff


def _write_json(draft: Path, name: str, half: _Half) -> None:
    """The instances, stuff and captions files of one half, with the keys of the real ones."""
    info = {
        "description": "Toy COCO: drawn scenes in the format of COCO 2017, rendered by oochub",
        "url": "toy://coco",
        "version": "1.0",
        "year": 2017,
        "contributor": "oochub",
        "date_created": "2017/09/01",
    }
    shared: Record = {"info": info, "licenses": coco_categories.LICENSES, "images": half.images}
    files: dict[str, Record] = {
        "instances": {**shared, "annotations": half.instances, "categories": coco_categories.THINGS},
        "stuff": {**shared, "annotations": half.stuff, "categories": coco_categories.STUFF},
        "captions": {**shared, "annotations": half.captions},
    }
    for kind, content in files.items():
        path = draft / "annotations" / f"{kind}_{name}.json"
        path.write_text(json.dumps(content), encoding="utf-8")


def _add(half: _Half, image: Record, parts: tuple[list[Record], list[Record], list[str]]) -> None:
    """Append an image; annotation ids follow from the image id, so they never meet."""
    instances, stuff, sentences = parts
    half.images.append(image)
    for rows, start, into in ((instances, 0, half.instances), (stuff, 10_000_000, half.stuff)):
        for row in rows:
            into.append({**row, "image_id": image["id"], "id": start + len(into) + 1})
    for sentence in sentences:
        half.captions.append({"image_id": image["id"], "id": len(half.captions) + 1, "caption": sentence})


def toy_coco(
    folder: str | Path,
    *,
    size: str | int = "small",
    seed: int = 0,
    correlation: float | None = 0.88,
    objects: bool = True,
    focus: str | None = None,
) -> Path:
    """Render a small COCO with COCO-Stuff: `images/`, and `annotations/` in the real JSON formats.

    Twelve kinds of objects, those of NOOCH, stand in their usual context with probability `correlation`, in
    another one otherwise; other images show a context alone. An object's color says nothing about its kind:
    only its shape does, while a context is large and easy to see. By the rule of NOOCH-CE (Madras and Zemel 2021,
    Section 3.2.1) the contexts of the twelve tasks come out as in its Table 2. Neutral walls and floors have no
    annotation, or category 183 ("other"), so they are nobody's context. A quarter of the images is val2017.

    Instances have polygons, stuff and crowds run lengths; `area` is the number of pixels that these cover. Ids
    and names of the 80 + 92 categories are the real ones, image ids are drawn from the range of the real ones,
    and each image has five captions. URLs are `toy://` ones: nothing here pretends to be a photograph.

    Args:
        folder: Folder of the world: a new or empty one, or one that already holds this very world, which
            is then left as it is. Written under a temporary name and renamed at the end.
        size: "small" (400 images), "medium" (6,000), or any number of images.
        seed: Another seed is another world; the same arguments give the same bytes.
        correlation: P(usual context | object), in [0, 1]. None renders the control world: contexts are drawn
            without a look at the objects, so P(context | object) = P(context | no such object).
        objects: False erases the twelve kinds of objects from the images and changes nothing else: the same
            scenes and annotations, the context alone left to learn from.
        focus: One of the twelve objects ("car"): half of the images with an object show it, so that a task of its
            own has examples out of context by the hundred. None shows all twelve equally often.

    Returns:
        The folder; it is what `data_dir` of the NOOCH builder takes.

    Raises:
        OochubError: An unknown size or object, a correlation outside [0, 1], a folder with other content, or
            pycocotools is missing.

    >>> import json, tempfile
    >>> root = toy_coco(Path(tempfile.mkdtemp()) / "coco", size=8)
    >>> len(sorted(root.glob("images/*2017/*.jpg")))
    8
    >>> content = json.loads((root / "annotations" / "stuff_train2017.json").read_text())
    >>> [row["name"] for row in content["categories"] if row["id"] in (149, 183)]
    ['road', 'other']
    """
    if correlation is not None and not 0 <= correlation <= 1:
        raise OochubError(f"correlation must be a probability in [0, 1], or None, got {correlation}.")
    if focus is not None and focus not in OBJECTS:
        raise unknown_name("object of this world", focus, OBJECTS)
    _require_pycocotools()
    count = _folder.count_of(size, _SIZES, least=4)
    own: dict[str, Any] = {"seed": seed, "correlation": correlation, "objects": objects, "focus": focus}
    record = {"world": "toy_coco", "drawing": 1, "pictures": count, **own}
    return _folder.toy_world(folder, record, partial(_draw, count=count, **own))


def _draw(draft: Path, *, count: int, seed: int, correlation: float | None, objects: bool, focus: str | None) -> None:
    """Write all images and annotation files of a world below `draft`."""
    halves = {name: _Half([], [], [], []) for name in ("train2017", "val2017")}
    for name in halves:
        (draft / "images" / name).mkdir(parents=True)
    (draft / "annotations").mkdir()
    ids = np.random.default_rng([seed, 0, _ID_STREAM]).permutation(_LARGEST_ID)[:count] + 1
    quiet = None if count > _SIZES["small"] else True
    for index, image_id in enumerate(follow(ids.tolist(), desc="toy COCO", unit="image", disable=quiet)):
        name = "val2017" if index % 4 == 3 else "train2017"
        content, style, words = np.random.default_rng([seed, 1, index]).spawn(3)
        drawn = scene(content, correlation=correlation, focus=focus)
        painted = paint(style, drawn, objects=objects)
        file_name = f"{image_id:012d}.jpg"
        painted.picture.save(draft / "images" / name / file_name, quality=95, subsampling=0)
        image = {
            "license": 1 + index % len(coco_categories.LICENSES),
            "file_name": file_name,
            "coco_url": f"toy://coco/{name}/{file_name}",
            "height": PIXELS,
            "width": PIXELS,
            "date_captured": "2017-01-01 00:00:00",
            "flickr_url": "toy://coco",
            "id": image_id,
        }
        named = [thing.name for thing in painted.things if thing.name in OBJECTS]
        instances, stuff = _make_annotations(painted, with_other=bool(words.random() < _OTHER_SHARE))
        _add(halves[name], image, (instances, stuff, captions(words, drawn, named)))
    for name, half in halves.items():
        _write_json(draft, name, half)
