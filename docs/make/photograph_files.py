"""Makes the photographs of `oochub example --photographs` from a copy of COCO: the folder studies/demo/photos.

`python docs/make/photograph_files.py IMAGES INSTANCES CHOSEN OBJECTS LABELS` runs it: the folder of COCO's images, its
instances.json, the list of the chosen photographs (image_id, licence_name, licence_url, flickr_url, photo_page), that
of their objects (image_id, label, annotation_id, others_of_class, left, top, right, bottom), both separated by tabs,
and the classes of ImageNet that are each of COCO's, as JSON.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from PIL import Image
from pycocotools import mask as coco_mask

FOLDER = Path(__file__).resolve().parents[2] / "studies" / "demo" / "photos"
_SIDE, _QUALITY = 480, 85  # pixels of the longer side; of the JPEG


def main(images: Path, instances: Path, chosen: Path, objects: Path, labels: Path) -> None:
    """Writes the photographs, a mask for each of their objects, both lists and the classes."""
    content = json.loads(instances.read_text("utf-8"))
    files = {image["id"]: image["file_name"] for image in content["images"]}
    annotations = {annotation["id"]: annotation for annotation in content["annotations"]}
    photos, things = pd.read_csv(chosen, sep="\t"), pd.read_csv(objects, sep="\t", dtype={"others_of_class": str})
    (FOLDER / "masks").mkdir(parents=True, exist_ok=True)
    scales = {}
    for image_id in photos["image_id"]:
        with Image.open(images / files[image_id]) as image:
            scales[image_id] = _SIDE / max(image.size)
            size = tuple(round(side * scales[image_id]) for side in image.size)
            image.convert("RGB").resize(size, Image.Resampling.LANCZOS).save(
                FOLDER / f"{image_id}.jpg", quality=_QUALITY, optimize=True
            )
    rows = []
    for thing in things.to_dict("records"):
        others = [] if pd.isna(thing["others_of_class"]) else str(thing["others_of_class"]).split()
        outlines = [annotations[int(number)] for number in (thing["annotation_id"], *others)]
        with Image.open(FOLDER / f"{thing['image_id']}.jpg") as image:
            mask = Image.fromarray(_draw_mask(outlines, content)).resize(image.size, Image.Resampling.BOX)
        name = f"{thing['image_id']}_{thing['label'].replace(' ', '_')}"
        mask.point(lambda value: 255 * (value > 127)).convert("1").save(FOLDER / "masks" / f"{name}.png", optimize=True)
        box = {side: round(thing[side] * scales[thing["image_id"]]) for side in ("left", "top", "right", "bottom")}
        x, y, width, height = outlines[0]["bbox"]  # of the largest object of the class
        corners = dict(zip(("x1", "y1", "x2", "y2"), (x, y, x + width, y + height), strict=True))
        corners = {side: round(value * scales[thing["image_id"]], 1) for side, value in corners.items()}
        rows.append({"name": name, "photo": thing["image_id"], "label": thing["label"], **box, **corners})
    pd.DataFrame(rows).to_csv(FOLDER / "objects.tsv", sep="\t", index=False)
    photos = photos.rename(columns={"image_id": "photo"}).assign(annotations="CC BY 4.0, COCO Consortium")
    columns = ["photo", "licence_name", "licence_url", "flickr_url", "photo_page", "annotations"]
    photos[columns].to_csv(FOLDER / "ATTRIBUTION.tsv", sep="\t", index=False)
    names = json.loads(labels.read_text("utf-8"))
    names = {label: names[label] for label in sorted(set(things["label"]))}
    (FOLDER / "classes.json").write_text(json.dumps(names, indent=1) + "\n", "utf-8")


def _draw_mask(outlines: list[dict[str, Any]], content: dict[str, Any]) -> NDArray[np.uint8]:
    """The pixels of all these objects (h, w), 255 on them."""
    image = next(image for image in content["images"] if image["id"] == outlines[0]["image_id"])
    height, width = image["height"], image["width"]
    lengths = [length for each in outlines for length in coco_mask.frPyObjects(each["segmentation"], height, width)]
    mask: NDArray[np.uint8] = 255 * coco_mask.decode(coco_mask.merge(lengths))
    return mask


if __name__ == "__main__":
    typer.run(main)
