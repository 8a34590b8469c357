"""Something to try `oochub audit --probe background` on: photographs, and where the objects in them are."""

import csv
import json
from importlib.resources import files
from pathlib import Path

from PIL import Image

from oochub.inputs.pictures.preprocessing import decode, decode_mask
from oochub.storage.files import check_writable, lock_target, write_whole_folder
from oochub.studies.file_kinds import PHOTOGRAPHS

_STORE = files("oochub.studies.demo.photos")
_QUALITY = 95
_TITLE = "Objects in photographs"
_SUMMARY = "Objects in 56 photographs of COCO, each cut out with some of its surroundings, with masks."


def photographs(out: str | Path) -> Path:
    """Writes 140 objects of 44 classes in 56 photographs, with their masks, as a folder that `oochub.audit` takes.

    `objects/` holds the images, a square around each object, and `objects/metadata.csv` their label, mask and `photo`,
    the photograph that they are cut from: objects of one photograph share their surroundings. `benchmark.toml` declares
    these columns and which classes of ImageNet are each of the labels; that list was made by hand. `photographs/` holds
    the photographs, 480 pixels at the longer side.

    Args:
        out: The folder; an older one of this kind is replaced.

    Returns:
        The folder.

    Raises:
        OochubError: A folder that holds something else.

    Source: Lin et al. 2014, Microsoft COCO. Licences of the photographs are in ATTRIBUTION.tsv.

    >>> import tempfile
    >>> folder = photographs(tempfile.mkdtemp() + "/photos")
    >>> sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    ['ATTRIBUTION.tsv', 'benchmark.toml', 'objects', 'photographs']
    >>> len(list((folder / "objects").glob("*.jpg"))), len(list((folder / "photographs").glob("*.jpg")))
    (140, 56)
    """
    folder = check_writable(out, kind=PHOTOGRAPHS)
    with lock_target(folder, kind=PHOTOGRAPHS), write_whole_folder(folder, kind=PHOTOGRAPHS) as draft:
        for name in ("objects/masks", "photographs"):
            (draft / name).mkdir(parents=True)
        rows = list(csv.DictReader(_STORE.joinpath("objects.tsv").read_text("utf-8").splitlines(), delimiter="\t"))
        lines = ["file_name,mask_file_name,label,photo"]
        for photo in dict.fromkeys(row["photo"] for row in rows):
            content = _STORE.joinpath(f"{photo}.jpg").read_bytes()
            (draft / "photographs" / f"{photo}.jpg").write_bytes(content)
            image = decode(content, photo)
            for row in rows:
                if row["photo"] == photo:
                    lines.append(_write_object(row, image, draft / "objects"))
        (draft / "objects" / "metadata.csv").write_text("\n".join([*lines, ""]), "utf-8")
        (draft / "ATTRIBUTION.tsv").write_bytes(_STORE.joinpath("ATTRIBUTION.tsv").read_bytes())
        (draft / "benchmark.toml").write_text(_declare(), "utf-8")
    return folder


def _write_object(row: dict[str, str], photo: Image.Image, folder: Path) -> str:
    """Cuts an object and its mask out of a photograph; the line of metadata.csv."""
    left, top, right, bottom = (int(row[side]) for side in ("left", "top", "right", "bottom"))
    box = (left, top, right, bottom)
    photo.crop(box).save(folder / f"{row['name']}.jpg", quality=_QUALITY, subsampling=0)
    mask = decode_mask(_STORE.joinpath("masks", f"{row['name']}.png").read_bytes(), row["name"])
    Image.fromarray(mask).crop(box).save(folder / "masks" / f"{row['name']}.png")
    return f"{row['name']}.jpg,masks/{row['name']}.png,{row['label']},{row['photo']}"


def _declare() -> str:
    """The declaration of the folder, with the classes of ImageNet that are each label's."""
    classes: dict[str, list[str]] = json.loads(_STORE.joinpath("classes.json").read_text("utf-8"))
    lines = [
        f'title = "{_TITLE}"',
        f'summary = "{_SUMMARY}"',
        'license = "CC BY 2.0, CC BY-SA 2.0 or no known restrictions, see ATTRIBUTION.tsv"',
        'labels_license = "CC BY 4.0"',
        'homepage = "https://cocodataset.org"',
        "\n[data]",
        'source = "objects"',
        'label = "label"',
        'cluster = "photo"',
        "\n[imagenet_classes]  # those that are of each label; the list was made by hand",
        *(f"{json.dumps(label)} = {json.dumps(names)}" for label, names in classes.items()),
        "",
    ]
    return "\n".join(lines)
