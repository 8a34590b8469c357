"""Masks as PNG files, a file a picture, as CUB's segmentations lie beside its pictures."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.context_finder import OpenedPicture
from oochub.errors import OochubError
from oochub.inputs.pictures.preprocessing import decode
from oochub.probing.object_area import ObjectArea, RowOfObject
from oochub.storage.picture_file import check_inside
from oochub.storage.reading import read_bytes


class MaskFiles(ObjectArea):
    """A folder of PNG files named by the rows' ids or by the files of their pictures; what is not black is the object.

    The mask of "161.Mallard/Mallard_0023" is `161.Mallard/Mallard_0023.png`, that of "7.jpg" is `7.png`.

    Args:
        folder: Holds them.

    Raises:
        OochubError: There is no such folder.

    >>> MaskFiles("no/such/folder")
    Traceback (most recent call last):
    oochub.errors.OochubError: There is no folder of masks at no/such/folder. A mask is a PNG of the size of its \
picture, named by the row's id or its picture's file, white on the object and black elsewhere.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder).expanduser()
        self.words = f"the masks in {self._folder.name}"
        if not self._folder.is_dir():
            raise OochubError(
                f"There is no folder of masks at {folder}. A mask is a PNG of the size of its picture, named by the "
                "row's id or its picture's file, white on the object and black elsewhere."
            )

    def begin(self, rows: Sequence[RowOfObject]) -> None:
        """See `ObjectArea.begin`."""
        if rows and not any(self._file(row) for row in rows):
            raise OochubError(
                f"None of {len(rows):,} pictures has a mask in {self._folder}; the first would be "
                f"{rows[0].example_id}.png. Give the folder of this data set's masks."
            )

    def settings(self, rows: Sequence[RowOfObject]) -> str:
        """See `ObjectArea.settings`: a digest of the files."""
        digest = hashlib.sha256()
        for row in rows:
            file = self._file(row)
            digest.update(hashlib.sha256(b"" if file is None else read_bytes(file)).digest())
        return digest.hexdigest()

    def masks(self, rows: Sequence[RowOfObject], pictures: Sequence[OpenedPicture]) -> list[NDArray[np.bool_] | None]:
        """See `ObjectArea.masks`."""
        return [None if file is None else _read(file) for file in map(self._file, rows)]

    def _file(self, row: RowOfObject) -> Path | None:
        names = dict.fromkeys((row.example_id, _stem(row.example_id), _stem(row.file), _stem(Path(row.file).name)))
        for name in filter(None, names):
            file = self._folder / f"{name}.png"
            if not Path(name).is_absolute() and file.is_file():
                check_inside(file, root=self._folder)
                return file
        return None


def _stem(name: str) -> str:
    """The name without its suffix, folders kept."""
    return str(Path(name).with_suffix("")) if Path(name).name else name


def _read(file: Path) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = np.asarray(decode(read_bytes(file), str(file)).convert("L")) > 0
    return mask
