"""The images of CUB-200-2011 as its lists name them: species, and training or test."""

from pathlib import Path
from typing import NamedTuple

from oochub.builders.sources.metadata_table import MetadataTable
from oochub.errors import OochubError
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
    table = _read_table(folder / "images.txt", ("img_id", "img_filename"))
    split = _read_table(folder / "train_test_split.txt", ("img_id", "is_training_image"))
    for each in (table, split):
        each.check_unique("img_id")
    table.check_unique("img_filename")
    table.check_files("img_filename", folder / "images")
    trained = split.coded("is_training_image", {"0": "test", "1": "training"})
    split_of = dict(zip(split.columns["img_id"], trained, strict=True))
    images = []
    for line, number, file in zip(table.lines, *(table.columns[name] for name in table.columns), strict=True):
        if number not in split_of:
            raise OochubError(f"{table.file}, line {line}: image {number} is not in {split.file}. Fetch both again.")
        image = CubImage(number, file, split_of[number] == "training")
        if not image.species or file.count("/") != 1:
            raise OochubError(
                f"{table.file}, line {line}: an image must lie in the folder of its species, as 087.Mallard/, got "
                f"{file!r}."
            )
        images.append(image)
    masks = MetadataTable(file=table.file, columns={"mask": [each.mask for each in images]}, lines=table.lines)
    masks.check_files("mask", segmentations)
    return images


def _read_table(file: Path, columns: tuple[str, str]) -> MetadataTable:
    rows = ((line, text.split()) for line, text in enumerate(read_lines(file), 1))
    return MetadataTable.of_rows(file, columns, rows, columns)
