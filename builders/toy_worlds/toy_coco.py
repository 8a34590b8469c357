"""A toy of COCO and COCO-Stuff: drawn objects in and out of their usual context, in the real raw format."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources import coco_categories
from oochub.builders.toy_worlds._folder import FINE, Files, World
from oochub.builders.toy_worlds._painter import PIXELS
from oochub.builders.toy_worlds._scenes import OBJECTS, Drawn, Mask, Painted, make_scene, paint_scene
from oochub.errors import OochubError, check_installed, unknown_name

_WORLD = World("toy_coco", {"small": 400, "medium": 6000}, 4, counts="pictures", saved=FINE)
_LARGEST_ID = 581_929
_ID_STREAM = 1592
"""A split by hashed image ids leaves 34 validation images of the small world. With this stream of ids, and seed
0, each split of it holds cars off the road and roads without a car, and all twelve contexts come out."""
_OTHER_SHARE = 0.5
"""Share of images whose remainder is annotated as category 183, "other"; in the rest it is left blank."""
_INFO = {
    "description": "Toy COCO: drawn scenes in the format of COCO 2017, rendered by oochub",
    "url": "toy://coco",
    "version": "1.0",
    "year": 2017,
    "contributor": "oochub",
    "date_created": "2017/09/01",
}
_CATEGORIES = {"instances": coco_categories.THINGS, "stuff": coco_categories.STUFF}
_PLACES = {
    ("road",): "on a road",
    ("dining table",): "at a dining table",
    ("sea",): "at sea",
    ("pavement",): "on a pavement",
    ("sky-other",): "under a blue sky",
    ("grass",): "on green grass",
    ("person",): "next to a person",
    ("dining table", "person"): "with a person at a dining table",
    ("sea", "sky-other"): "at sea under a blue sky",
    ("person", "playingfield"): "with a person on a playing field",
    ("grass", "sky-other"): "on green grass under a blue sky",
    ("playingfield",): "on a playing field",
}
_WITH_OBJECT = (
    "{A} {place}.",
    "A picture of {a} {place}.",
    "There is {a} {place}.",
    "{A} can be seen {place}.",
    "We see {a} {place}.",
    "A small drawing shows {a} {place}.",
)
_WITHOUT_OBJECT = (
    "A view {place}.",
    "Nothing else is to be seen {place}.",
    "An empty scene {place}.",
    "A quiet moment {place}.",
    "A picture taken {place}.",
    "A small drawing of a place {place}.",
)
Record = dict[str, Any]


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
    check_installed("pycocotools", "coco", "Writing COCO's masks")
    return _WORLD.draw(folder, _draw, size, seed=seed, correlation=correlation, objects=objects, focus=focus)


def _draw(count: int, *, seed: int, correlation: float | None, objects: bool, focus: str | None) -> Files:
    images: dict[str, list[Record]] = {"train2017": [], "val2017": []}
    annotations: dict[str, dict[str, list[Record]]] = {
        kind: {half: [] for half in images} for kind in ("instances", "stuff", "captions")
    }
    ids = np.random.default_rng([seed, 0, _ID_STREAM]).permutation(_LARGEST_ID)[:count] + 1
    for index, image_id in enumerate(_WORLD.follow(ids.tolist())):
        half = "val2017" if index % 4 == 3 else "train2017"
        content, style, words = np.random.default_rng([seed, 1, index]).spawn(3)
        scene = make_scene(content, correlation=correlation, focus=focus)
        painted = paint_scene(style, scene, objects=objects)
        file_name = f"{image_id:012d}.jpg"
        yield f"images/{half}/{file_name}", painted.picture
        images[half].append(
            {
                "license": 1 + index % len(coco_categories.LICENSES),
                "file_name": file_name,
                "coco_url": f"toy://coco/{half}/{file_name}",
                "height": PIXELS,
                "width": PIXELS,
                "date_captured": "2017-01-01 00:00:00",
                "flickr_url": "toy://coco",
                "id": image_id,
            }
        )
        named = [thing.name for thing in painted.things if thing.name in OBJECTS]
        instances, stuff = _make_annotations(painted, with_other=bool(words.random() < _OTHER_SHARE))
        for kind, rows, start in (("instances", instances, 1), ("stuff", stuff, 10_000_001)):
            into = annotations[kind][half]
            into += [{**row, "image_id": image_id, "id": start + len(into) + k} for k, row in enumerate(rows)]
        into = annotations["captions"][half]
        for caption in _write_captions(words, scene.contexts, named):
            into.append({"image_id": image_id, "id": len(into) + 1, "caption": caption})
    for kind, halves in annotations.items():
        for half, rows in halves.items():
            file = {"info": _INFO, "licenses": coco_categories.LICENSES, "images": images[half], "annotations": rows}
            if kind in _CATEGORIES:
                file["categories"] = _CATEGORIES[kind]
            yield f"annotations/{kind}_{half}.json", json.dumps(file)


def _make_annotations(painted: Painted, *, with_other: bool) -> tuple[list[Record], list[Record]]:
    """The instances and the stuff of one image, without ids."""
    instances, hidden = [], np.zeros((PIXELS, PIXELS), bool)
    for thing in painted.things:
        polygons = _outline_polygons(thing)
        cover = _fill_polygons(polygons)
        points = np.concatenate(thing.outline).round(2)
        box = [round(float(value), 2) for value in (*points.min(0), *np.ptp(points, 0))]
        instances.append(_make_region(thing.name, polygons, cover, box))
        hidden |= cover
    if painted.crowd:
        crowd = np.logical_or.reduce([_fill_polygons(_outline_polygons(thing)) for thing in painted.crowd])
        instances.append(_make_mask_region("person", crowd) | {"iscrowd": 1})
        hidden |= crowd
    visible = {name: mask & ~hidden for name, mask in painted.stuff.items()}
    if with_other:
        visible["other"] = ~np.logical_or.reduce([*visible.values(), np.zeros((PIXELS, PIXELS), bool)])
    return instances, [_make_mask_region(name, mask) for name, mask in visible.items() if mask.any()]


def _make_region(name: str, segmentation: object, cover: Mask, box: list[float]) -> Record:
    return {
        "segmentation": segmentation,
        "area": float(np.count_nonzero(cover)),
        "iscrowd": 0,
        "bbox": box,
        "category_id": coco_categories.IDS[name],
    }


def _make_mask_region(name: str, mask: Mask) -> Record:
    """A region as compressed run lengths {counts, size}."""
    from pycocotools import mask as coco_mask

    run = coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))
    segmentation = {"counts": run["counts"].decode("ascii"), "size": list(map(int, run["size"]))}
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    box = (columns[0], rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1)
    return _make_region(name, segmentation, mask, list(map(float, box)))


def _outline_polygons(thing: Drawn) -> list[list[float]]:
    """The outline as COCO writes it: one list x0, y0, x1, y1, ... per polygon."""
    return [[round(value, 2) for value in points.ravel().tolist()] for points in thing.outline]


def _fill_polygons(polygons: list[list[float]]) -> Mask:
    """The pixels (PIXELS, PIXELS) that the written polygons cover together."""
    from pycocotools import mask as coco_mask

    decoded: NDArray[np.uint8] = coco_mask.decode(coco_mask.merge(coco_mask.frPyObjects(polygons, PIXELS, PIXELS)))
    return decoded.astype(bool)


def _write_captions(rng: np.random.Generator, contexts: tuple[str, ...], objects: list[str]) -> list[str]:
    """Five different captions that name the objects and the contexts of a scene, as five people would write them.

    >>> len(set(_write_captions(np.random.default_rng(0), ("road",), ["airplane", "car"])))
    5
    """
    listed = " and ".join(f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in objects)
    templates = _WITH_OBJECT if objects else _WITHOUT_OBJECT
    chosen = rng.permutation(len(templates))[:5]
    return [templates[i].format(a=listed, A=listed.capitalize(), place=_PLACES[contexts]) for i in chosen]
