"""The masks of objects, from a folder of pictures that are named by the examples."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError, either
from oochub.picture_file import check_inside, open_picture
from oochub.reading import read_bytes


class ObjectMasks:
    """Masks as PNG files `<example_id>.png` of the size of the pictures; what is not black is the object.

    Args:
        folder: Holds them; where ids have slashes, in folders.

    Raises:
        OochubError: There is no such folder.

    >>> ObjectMasks("no/such/folder")
    Traceback (most recent call last):
    oochub.errors.OochubError: There is no folder of masks at no/such/folder. A mask is a PNG of the size of its \
picture, <example_id>.png, white on the object and black elsewhere.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder).expanduser()
        if not self._folder.is_dir():
            raise OochubError(
                f"There is no folder of masks at {folder}. A mask is a PNG of the size of its picture, "
                "<example_id>.png, white on the object and black elsewhere."
            )

    def check(self, example_ids: list[str]) -> None:
        """Checks that there is a file for each, before a model runs.

        Raises:
            OochubError: Some have none; a name that leads out of the folder.
        """
        missing = [name for name in example_ids if not self._file(name).is_file()]
        if missing:
            raise OochubError(
                f"{len(missing):,} of {len(example_ids):,} pictures have no mask in {self._folder}, first "
                f"{missing[0]}.png. Give the folder of this data set's masks, or leave out "
                f"{either('masks=', '--masks')}."
            )

    def mask(self, example_id: str) -> NDArray[np.bool_]:
        """The mask (h, w) of an example.

        Raises:
            OochubError: A file that is no picture.
        """
        file = self._file(example_id)
        return np.asarray(open_picture(read_bytes(file), name=str(file)).convert("L")) > 0

    def _file(self, example_id: str) -> Path:
        file = self._folder / f"{example_id}.png"
        check_inside(file, root=self._folder)
        return file
