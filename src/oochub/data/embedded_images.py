"""What is seen of images while a repository is written: copies in two splits, and files that are no images."""

import hashlib
from collections.abc import Iterator, Mapping

import datasets
import pyarrow as pa
import pyarrow.compute as pc

from oochub.storage.picture_file import check_beginning


class EmbeddedImages:
    """Takes each table on its way into a file, its images embedded, and keeps 16 bytes of a digest per image."""

    def __init__(self) -> None:
        self._digests: dict[str, dict[int, bytes]] = {}

    def take(self, split: str, start: int, table: pa.Table, given: pa.Table, features: Mapping[str, object]) -> None:
        """Looks at the images of some rows.

        Args:
            split: Name of the split.
            start: Number of the first row.
            table: The rows, their images embedded.
            given: The same as they were given: where an image was a path, its file is embedded now.
            features: The features of the data.

        Raises:
            OochubError: A file that was embedded is no image: a table of somebody else may name any file of this
                machine.
        """
        for name, feature in features.items():
            if not isinstance(feature, datasets.Image):
                continue
            was_path = pc.is_null(pc.struct_field(given.column(name), "bytes")).to_pylist()
            contents = pc.struct_field(table.column(name), "bytes")
            for place, (content, is_file) in enumerate(zip(contents, was_path, strict=True)):
                if not content.is_valid:
                    continue
                data = content.as_buffer()
                if is_file:
                    check_beginning(data.to_pybytes(), name=f"The image {name!r} of row {start + place}, split {split}")
                if name == "image":
                    self._digests.setdefault(split, {})[start + place] = hashlib.sha256(data).digest()[:16]

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
