"""The masks of objects, from a folder of images that are named by the examples."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources.coco_object_masks import object_masks
from oochub.errors import OochubError, choose_wording
from oochub.inputs.pictures.preprocessing import decode_mask
from oochub.storage.picture_file import check_inside
from oochub.storage.reading import read_bytes


class ObjectMasks:
    """Masks as PNG files `<example_id>.png` of the size of the images; what is not black is the object.

    In the raw folder of COCO, the mask is that of all annotations of a thing in the image.

    Args:
        folder: Holds them, where ids have slashes in folders; or `annotations/` of COCO.
        thing: The thing that the mask shows, in COCO's words; None if it is not known.

    Raises:
        OochubError: There is no such folder, or it is COCO's and no thing is known.

    >>> ObjectMasks("no/such/folder")
    Traceback (most recent call last):
    oochub.errors.OochubError: Mask folder not found: no/such/folder. A mask is a PNG of the same size \
as its image, named <example_id>.png, white on the object and black elsewhere.
    """

    def __init__(self, folder: str | Path, thing: str | None = None) -> None:
        self._folder, self._thing = Path(folder).expanduser(), thing
        self._coco: Mapping[int, Mapping[str, Sequence[NDArray[np.bool_]]]] | None = None
        if not self._folder.is_dir():
            raise OochubError(
                f"Mask folder not found: {folder}. A mask is a PNG of the same size as its image, named "
                "<example_id>.png, white on the object and black elsewhere."
            )

    def check(self, example_ids: list[str]) -> None:
        """Checks that there is a file for each, before a model runs.

        Raises:
            OochubError: Some have none; a name that leads out of the folder.
        """
        if self._is_coco:
            if self._thing is None:
                raise OochubError(
                    f"{self._folder} contains COCO's annotations, but these data are not a task of nooch, so it is "
                    "not known which object the masks should show. Pass a folder of PNG masks."
                )
            strange = [name for name in example_ids if not name.isdecimal()]
            if strange:
                raise OochubError(
                    f"COCO's masks go by image ids, which are numbers, but one id is {strange[0]!r}. Pass a folder "
                    "of PNG masks."
                )
            self._coco = object_masks(self._folder, [int(name) for name in example_ids], [self._thing])
            return
        missing = [name for name in example_ids if not self._find_file(name).is_file()]
        if missing:
            raise OochubError(
                f"{len(missing):,} of {len(example_ids):,} images have no mask in {self._folder}, first "
                f"{missing[0]}.png. Pass the folder of this dataset's masks, or remove {choose_wording('masks=')}."
            )

    def mask(self, example_id: str, size: tuple[int, int]) -> NDArray[np.bool_]:
        """The mask (h, w) of an example, which was checked; of COCO all False where the thing is not in the image.

        Args:
            example_id: Id of the row.
            size: (width, height) of its image.

        Raises:
            OochubError: A file that is no image.
        """
        if self._coco is not None and self._thing is not None:
            parts = self._coco[int(example_id)][self._thing]
            return np.logical_or.reduce(parts) if parts else np.zeros(size[::-1], bool)
        file = self._find_file(example_id)
        return decode_mask(read_bytes(file), str(file))

    @property
    def _is_coco(self) -> bool:
        return any((self._folder / name).is_dir() for name in ("annotations", "annotations-json"))

    def _find_file(self, example_id: str) -> Path:
        file = self._folder / f"{example_id}.png"
        check_inside(file, root=self._folder)
        return file
