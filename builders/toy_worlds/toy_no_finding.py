"""A toy of CheXpert and MIMIC-CXR: drawn chests in their folders, with the tables that SubpopBench's script writes."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from oochub.builders.toy_worlds._folder import Files, World, write_table

_WORLD = World("toy_no_finding", {"small": 60, "medium": 600}, 40)
_SIDE = 64
_ATTRIBUTES = 6


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
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    validation, test = round(0.1 * count), round(0.15 * count)
    for number, source in enumerate(("chexpert", "MIMIC-CXR-JPG")):
        rng = np.random.default_rng([seed, number])
        splits = rng.permutation(np.repeat([0, 1, 2], [count - validation - test, validation, test]))
        rows: list[tuple[object, ...]] = [("", "subject_id", "a", "y", "split", "filename")]
        for k in range(count):
            patient = 1 + k // 2
            attribute = patient % _ATTRIBUTES
            healthy = int(rng.random() < 0.3 + 0.08 * attribute)
            subject = patient if source == "chexpert" else 10_000_000 + patient
            path = f"{source}/{_name_image(source, subject, k)}"
            yield path, _paint(rng, attribute, healthy=bool(healthy))
            rows.append((k, subject, attribute, healthy, splits[k], f"/data/{path}"))
        yield f"{source}/subpop_bench_meta/metadata_no_finding.csv", write_table(*rows)


def _name_image(source: str, subject: int, k: int) -> str:
    if source == "chexpert":
        return f"train/patient{subject:05}/study{1 + k % 2}/view1_frontal.jpg"
    return f"files/p{subject // 10**6}/p{subject}/s{50_000_000 + k}/{k:08x}-0a-0b-0c-0d.jpg"


def _paint(rng: np.random.Generator, attribute: int, *, healthy: bool) -> Image.Image:
    image = Image.new("L", (_SIDE, _SIDE), 150 + 5 * attribute)
    draw = ImageDraw.Draw(image)
    x, y = rng.integers(-3, 4, 2).tolist()
    for left in (9, 35):
        draw.ellipse((left + x, 10 + y, left + 20 + x, 54 + y), fill=50 + 5 * attribute)
    if not healthy:
        place = int(rng.integers(20, 44))
        draw.ellipse((14 + x, place, 24 + x, place + 9), fill=210 - 12 * attribute)
    noise = rng.normal(0, 6, (_SIDE, _SIDE))
    soft = np.asarray(image.filter(ImageFilter.GaussianBlur(1.5)))
    return Image.fromarray(np.clip(soft + noise, 0, 255).astype(np.uint8))
