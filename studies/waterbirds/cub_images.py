"""The images of CUB-200-2011 as its lists name them: species, and training or test."""

from pathlib import Path
from typing import NamedTuple

from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.storage.reading import read_lines


class CubImage(NamedTuple):
    """An image of CUB.

    Attributes:
        number: Its id in `images.txt`.
        file: Its path below `images/`: "001.Black_footed_Albatross/Black_Footed_Albatross_0046_18.jpg".
        is_training: Whether CUB's own split has it in training.
    """

    number: str
    file: str
    is_training: bool

    @property
    def species(self) -> str:
        """The folder's name after its number.

        >>> CubImage("1", "087.Mallard/Mallard_0001_76.jpg", True).species
        'Mallard'
        """
        return self.file.partition("/")[0].partition(".")[2]

    @property
    def mask(self) -> str:
        """The path of its segmentation below `segmentations/`."""
        return self.file.rpartition(".")[0] + ".png"


def cub_images(folder: Path, segmentations: Path) -> list[CubImage]:
    """The images in the order of `images.txt`, each with its segmentation beside them.

    Args:
        folder: CUB_200_2011, with `images.txt`, `train_test_split.txt` and `images/`.
        segmentations: The unpacked segmentations.tgz.

    Raises:
        OochubError: A list that is missing or broken, a file that it names and that is not there, a folder that is no
            species of CUB; file and line are named.
    """
    table = _read_table(
        folder / "images.txt",
        {"img_id": RawColumn(is_unique=True), "img_filename": RawColumn(is_unique=True, folder=folder / "images")},
    )
    split = _read_table(
        folder / "train_test_split.txt",
        {"img_id": RawColumn(is_unique=True), "is_training_image": RawColumn(codes={"0": "test", "1": "training"})},
    )
    split_of = dict(zip(split["img_id"], split["is_training_image"], strict=True))
    numbers, files = table["img_id"], table["img_filename"]
    table.require(
        [number in split_of for number in numbers], lambda row: f"image {numbers[row]} is not in {split.file}"
    )
    images = [
        CubImage(number, file, split_of[number] == "training") for number, file in zip(numbers, files, strict=True)
    ]
    table.require(
        [image.species and image.file.count("/") == 1 for image in images],
        lambda row: f"an image must lie in the folder of its species, as 087.Mallard/, got {files[row]!r}",
    )
    table.add("mask", [image.mask for image in images], RawColumn(folder=segmentations))
    return images


def _read_table(file: Path, columns: dict[str, RawColumn]) -> RawTable:
    rows = ((line, text.split()) for line, text in enumerate(read_lines(file), 1))
    return RawTable.of_rows(file, list(columns), rows, columns)
