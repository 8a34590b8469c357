"""Pictures as Pillow has them, batch by batch: for a model's own processor, which takes them one by one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from PIL import Image

from oochub.errors import OochubError
from oochub.input import BrokenRow
from oochub.inputs.pictures.picture_batches import picture_bytes, undecoded
from oochub.inputs.pictures.preprocessing import decode


class DecodedBatch(NamedTuple):
    """RGB `pictures`, the numbers of their `rows` in the split, and the other `columns` of these rows."""

    pictures: list[Image.Image]
    rows: list[int]
    columns: Mapping[str, Sequence[Any]]


def decoded_batches(part: Any, *, batch_size: int, broken: list[BrokenRow] | None = None) -> Iterator[DecodedBatch]:
    """The pictures of a split in order, decoded in this process.

    Args:
        part: A Dataset or IterableDataset.
        batch_size: Rows of a batch; the last may have fewer, and those with broken rows.
        broken: Gets the rows that cannot be read, which are left out; None makes the first an error.

    Raises:
        OochubError: A picture that cannot be read; its split and example are named.
    """
    first, of = 0, f"split {part.split}, " if part.split else ""
    for columns in undecoded(part).iter(batch_size):
        stored = columns.pop("image")
        names = columns.get("example_id", range(first, first + len(stored)))
        pictures, whole = [], []
        for position, (each, name) in enumerate(zip(stored, names, strict=True)):
            where = f"{of}example {name}"
            try:
                pictures.append(decode(picture_bytes(each, where), where))
            except OochubError as error:
                if broken is None:
                    raise
                broken.append(BrokenRow(str(name), str(error)))
            else:
                whole.append(position)
        if whole:
            own = {name: [values[position] for position in whole] for name, values in columns.items()}
            yield DecodedBatch(pictures, [first + position for position in whole], own)
        first += len(stored)
