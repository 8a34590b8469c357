"""Lists of images, `path label` in each line, as OpenOOD has them: read, checked, and looked for in a folder."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.storage.reading import read_lines

_SHOWN = 3
_PATH = r"(?!/)(?!(.*/)?\.\.(/|\Z))[^\0]+"


def read_image_list(file: Path, classes: Sequence[str], *, known: bool) -> RawTable:
    r"""The lines of a list, in its order: the column `path`, with slashes, and `label`, -1 for a new class.

    Args:
        file: The list.
        classes: The names of the known classes.
        known: Whether every image is of one of them; if not, every label must be -1.

    Raises:
        OochubError: A line that is no `path label`, a path that leads out of the folder or is listed twice, a label
            that cannot be, an image in the folder of another known class; a list without a line.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "test_cifar10.txt"
    >>> _ = file.write_text("cifar10/test/cat/0001.png 1\n")
    >>> read_image_list(file, ["dog", "cat"], known=True).columns
    {'path': ['cifar10/test/cat/0001.png'], 'label': [1]}
    """
    lines = ((number, line.strip().rpartition(" ")[::2]) for number, line in enumerate(read_lines(file), 1))
    columns = {
        "path": RawColumn(pattern=_PATH, form="the path of an image, with its label: a/0001.png 3", is_unique=True),
        "label": RawColumn(codes={str(k): k for k in range(len(classes))} if known else {"-1": -1}),
    }
    table = RawTable.of_rows(file, ["path", "label"], [line for line in lines if any(line[1])], columns)
    folders = [PurePosixPath(path).parent.name for path in table["path"]]
    pairs = zip(folders, table["label"], strict=True)
    table.require(
        [not known or folder in ("", classes[k]) or folder not in classes for folder, k in pairs],
        lambda row: f"the image lies in the folder of {folders[row]}, but its label is {classes[table['label'][row]]}",
    )
    return table


def find_listed(images: RawTable, folder: Path) -> tuple[RawTable, list[str]]:
    """The images of a list that are in a folder, and a note on those that are not.

    Raises:
        OochubError: None of them is there.
    """
    is_there = [(folder / path).exists() for path in images["path"]]
    missing = [path for path, there in zip(images["path"], is_there, strict=True) if not there]
    shown = ", ".join(missing[:_SHOWN]) + (f" and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else "")
    if len(missing) == len(images):
        images.require(is_there, f"none of the {len(images):,} images is in {folder}: {shown}")
    gap = f"{len(missing):,} of the {len(images):,} images of {images.file.name} are missing: {shown}"
    return images.where(is_there), [gap] if missing else []
