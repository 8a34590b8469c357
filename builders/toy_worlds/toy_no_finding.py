"""A toy of CheXpert and MIMIC-CXR: drawn chests in their folders, with the tables that SubpopBench's script writes."""

import csv
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from oochub.builders.toy_worlds import _folder

_SIZES = {"small": 60, "medium": 600}
_SIDE = 64
_ATTRIBUTES = 6
_SPLITS = (0.75, 0.1, 0.15)


def toy_no_finding(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws `chexpert/` and `MIMIC-CXR-JPG/`, each with images of two lungs and `subpop_bench_meta/`.

    A finding is a bright spot in a lung. It is rarer, and fainter, in images of the groups with higher numbers.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Images of each source: "small" (60), "medium" (600), or a number of at least 40.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of `no_finding` takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_no_finding(tempfile.mkdtemp() + "/chests", size=40)
    >>> (root / "chexpert/subpop_bench_meta/metadata_no_finding.csv").read_text().splitlines()[1].split(",")[-1]
    '/data/chexpert/train/patient00001/study1/view1_frontal.jpg'
    """
    count = _folder.count_of(size, _SIZES, least=40)
    record = {"world": "toy_no_finding", "drawing": 1, "count": count, "seed": seed}
    return _folder.toy_world(folder, record, partial(_draw, count=count, seed=seed))


def _draw(draft: Path, *, count: int, seed: int) -> None:
    for number, source in enumerate(("chexpert", "MIMIC-CXR-JPG")):
        rng = np.random.default_rng([seed, number])
        splits = rng.permutation(np.repeat([0, 1, 2], _count_splits(count)))
        place = draft / source
        (place / "subpop_bench_meta").mkdir(parents=True)
        with (place / "subpop_bench_meta/metadata_no_finding.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["", "subject_id", "a", "y", "split", "filename"])
            for k in range(count):
                patient = 1 + k // 2
                attribute = patient % _ATTRIBUTES
                healthy = int(rng.random() < 0.3 + 0.08 * attribute)
                path = _name_image(source, patient, k)
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                _paint(rng, attribute, healthy=bool(healthy)).save(place / path, "JPEG", quality=92)
                subject = patient if source == "chexpert" else 10_000_000 + patient
                table.writerow([k, subject, attribute, healthy, splits[k], f"/data/{source}/{path}"])


def _count_splits(count: int) -> list[int]:
    validation, test = (round(share * count) for share in _SPLITS[1:])
    return [count - validation - test, validation, test]


def _name_image(source: str, patient: int, k: int) -> str:
    if source == "chexpert":
        return f"train/patient{patient:05}/study{1 + k % 2}/view1_frontal.jpg"
    subject = 10_000_000 + patient
    return f"files/p{subject // 10**6}/p{subject}/s{50_000_000 + k}/{k:08x}-0a-0b-0c-0d.jpg"


def _paint(rng: np.random.Generator, attribute: int, *, healthy: bool) -> Image.Image:
    image = Image.new("L", (_SIDE, _SIDE), 150 + 5 * attribute)
    draw = ImageDraw.Draw(image)
    x, y = (int(each) for each in rng.integers(-3, 4, 2))
    for left in (9, 35):
        draw.ellipse((left + x, 10 + y, left + 20 + x, 54 + y), fill=50 + 5 * attribute)
    if not healthy:
        place = int(rng.integers(20, 44))
        draw.ellipse((14 + x, place, 24 + x, place + 9), fill=210 - 12 * attribute)
    noise = rng.normal(0, 6, (_SIDE, _SIDE))
    soft = np.asarray(image.filter(ImageFilter.GaussianBlur(1.5)))
    return Image.fromarray(np.clip(soft + noise, 0, 255).astype(np.uint8))
