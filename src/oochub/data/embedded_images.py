"""What is seen of images while a repository is written: copies in two splits, and files that are no images."""

import hashlib
from collections.abc import Iterator, Mapping

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oochub.errors import OochubError
from oochub.storage.picture_file import check_beginning


class EmbeddedImages:
    """Takes each table on its way into a file, its images embedded, and keeps 16 bytes of a digest per image.

    Args:
        skip_broken: Embed nothing in place of a file that is no image; else the first is an error.
    """

    def __init__(self, *, skip_broken: bool = False) -> None:
        self._digests: dict[str, dict[int, bytes]] = {}
        self._skips = skip_broken
        self._left_out = 0

    def take(
        self, split: str, start: int, table: pa.Table, given: pa.Table, features: Mapping[str, object]
    ) -> pa.Table:
        """Looks at the images of some rows.

        Args:
            split: Name of the split.
            start: Number of the first row.
            table: The rows, their images embedded.
            given: The same as they were given: where an image was a path, its file is embedded now.
            features: The features of the data.

        Returns:
            The rows, without a byte of each file that is no image and is left out.

        Raises:
            OochubError: A file that was embedded is no image: a table of somebody else may name any file of this
                machine.
        """
        for name, feature in features.items():
            if not isinstance(feature, datasets.Image):
                continue
            was_path = pc.is_null(pc.struct_field(given.column(name), "bytes")).to_pylist()
            contents = pc.struct_field(table.column(name), "bytes")
            is_image = np.ones(len(table), bool)
            for place, (content, is_file) in enumerate(zip(contents, was_path, strict=True)):
                if not content.is_valid:
                    continue
                data = content.as_buffer()
                if is_file:
                    try:
                        check_beginning(
                            data.to_pybytes(), name=f"The image {name!r} of row {start + place}, split {split}"
                        )
                    except OochubError:
                        if not self._skips:
                            raise
                        is_image[place] = False
                        continue
                if name == "image":
                    self._digests.setdefault(split, {})[start + place] = hashlib.sha256(data).digest()[:16]
            if not is_image.all():
                self._left_out += int((~is_image).sum())
                column = table.column(name)
                rows = column.to_pylist()  # of a block
                kept = [row if known else row | {"bytes": b""} for row, known in zip(rows, is_image, strict=True)]
                place = table.column_names.index(name)
                table = table.set_column(place, table.schema.field(name), pa.array(kept, column.type))
        return table

    def describe_left_out(self) -> Iterator[str]:
        """How many files are no images and were left out, in a sentence; none if none was."""
        if self._left_out:
            is_one = self._left_out == 1
            yield (
                f"{self._left_out:,} {'file that is no image was' if is_one else 'files that are no images were'} left "
                f"out: the {'image of its row has' if is_one else 'images of their rows have'} no bytes."
            )

    def describe_copies(self) -> Iterator[str]:
        """A sentence for each two splits that hold the same image."""
        names = list(self._digests)
        for number, name in enumerate(names):
            own = set(self._digests[name].values())
            for other in names[number + 1 :]:
                copies = sum(each in own for each in self._digests[other].values())
                if copies:
                    yield (
                        f"The images of {copies:,} of {len(self._digests[other]):,} rows of {other} also stand in "
                        f"{name}, byte for byte: what is measured on these is not new to a model that saw {name}."
                    )
