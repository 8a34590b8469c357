"""Tables of Waterbirds, CelebA, CUB and ImageNet-X with one thing wrong: the line is named, or rows are the same."""

import shutil
from pathlib import Path

from datasets import load_dataset
from fuzz_case import Format, Used
from PIL import Image

import oochub  # noqa: F401  makes the benchmarks known to datasets
from oochub.builders.toy_worlds.toy_imagenet_x import toy_imagenet_x
from oochub.records.build_record import BuildRecord
from oochub.studies.waterbirds.cub_images import cub_images

_IMAGES, _SPLIT = "images.txt", "train_test_split.txt"
_FILE, _FACES, _PARTITION = "metadata.csv", "list_attr_celeba.txt", "list_eval_partition.txt"
_HEADER = "img_id,img_filename,y,split,place,place_filename"


def _rows() -> list[str]:
    return [f"{k},{k % 3:03}.Bird/Bird_{k}.jpg,{k % 2},{k % 3},{k // 2 % 2},/o/ocean/{k:08}.jpg" for k in range(1, 25)]


def _make(folder: Path) -> None:
    for row in _rows():
        picture = folder / row.split(",")[1]
        picture.parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4)).save(picture)
    (folder / _FILE).write_text("\n".join([_HEADER, *_rows()]) + "\n", "utf-8")


def _make_faces(folder: Path) -> None:
    """The texts of CelebA's authors; those that are CSV are read as Waterbirds' is."""
    (folder / "img_align_celeba").mkdir()
    names = [f"{k:06}.jpg" for k in range(1, 13)]
    for name in names:
        Image.new("RGB", (4, 4)).save(folder / "img_align_celeba" / name)
    rows = [f"{name} {1 - k % 2 * 2:2} {1 - k // 2 % 2 * 2:2}" for k, name in enumerate(names)]
    (folder / _FACES).write_text("\n".join([str(len(names)), "Blond_Hair Male ", *rows]) + "\n", "utf-8")
    (folder / _PARTITION).write_text("".join(f"{name} {k % 3}\n" for k, name in enumerate(names)), "utf-8")


def _use(folder: Path, out: Path) -> Used:
    benchmark = "waterbirds" if folder.name == METADATA.name else "celebA"
    data = load_dataset(benchmark, data_dir=str(folder), streaming=True)
    numbers = {split: list(part.remove_columns("image")) for split, part in data.items()}
    return Used(numbers=numbers, notes=tuple(BuildRecord.of(data["train"].info).notes))


def _make_cub(folder: Path) -> None:
    names = [f"{k % 2:03}.Bird/Bird_{k}" for k in range(1, 13)]
    for name in names:
        for file in (f"images/{name}.jpg", f"segmentations/{name}.png"):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(b"no reader of lists opens it")
    (folder / _IMAGES).write_text("".join(f"{k} {name}.jpg\n" for k, name in enumerate(names, 1)), "utf-8")
    (folder / _SPLIT).write_text("".join(f"{k} {k // 2 % 2}\n" for k in range(1, 13)), "utf-8")


def _use_cub(folder: Path, out: Path) -> Used:
    return Used(numbers=[list(image) for image in cub_images(folder, folder / "segmentations")])


def _make_factors(folder: Path) -> None:
    """The annotations of ImageNet-X of twelve images; only their names count."""
    place = toy_imagenet_x(folder / "drawn", size=2)
    for part in ("imagenet_x", "val"):
        (place / part).rename(folder / part)
    shutil.rmtree(place)


def _use_factors(folder: Path, out: Path) -> Used:
    part = load_dataset("imagenet_x", "top", data_dir=str(folder), streaming=True)["test"]
    rows = list(part.remove_columns(["image", "justification", "one_word"]))  # what annotators wrote is any text
    return Used(numbers=rows, notes=tuple(BuildRecord.of(part.info).notes))


FACTORS = Format(name="ImageNet-X's annotations", make=_make_factors, use=_use_factors)
METADATA = Format(name="metadata.csv", make=_make, use=_use)
CUB = Format(name="CUB's lists", make=_make_cub, use=_use_cub)
FACES = Format(name="CelebA's lists", make=_make_faces, use=_use)
