"""A list of objects in one of COCO's files, whose fields are read as columns: every type and gap is checked."""

from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError


@dataclass(frozen=True, kw_only=True)
class CocoRecords:
    """The n objects of `images`, `annotations`, `categories` or `licenses`.

    Attributes:
        file: The file that they stand in.
        what: What errors call one of them, such as "image".
        rows: The objects.

    >>> images = CocoRecords.of(Path("a.json"), {"images": [{"id": 7, "height": 10.5}]}, "images")
    >>> images.whole_numbers("id").tolist(), images.texts("license", default="")
    ([7], [''])
    >>> images.whole_numbers("height")
    Traceback (most recent call last):
    oochub.errors.OochubError: a.json: `height` of image 7 must be a whole number, got 10.5. Fetch the file again.
    """

    file: Path
    what: str
    rows: list[dict[str, Any]]

    @classmethod
    def of(cls, file: Path, content: Any, key: str, *, required: bool = True) -> "CocoRecords":
        """The list `key` of a file's content.

        Args:
            file: The file that errors name.
            content: JSON types.
            key: "images".
            required: Whether a content without the list is an error; else it is empty.

        Raises:
            OochubError: There is no such list, or it holds something other than objects.
        """
        rows = content.get(key, None if required else []) if isinstance(content, dict) else None
        if not isinstance(rows, list):
            raise OochubError(f"{file} has no list {key!r}, so it is not one of COCO's files. Fetch it again.")
        if not set(map(type, rows)) <= {dict}:
            other = next(row for row in rows if type(row) is not dict)
            raise OochubError(f"{file}: {key!r} must hold objects, got {repr(other)[:60]}. Fetch the file again.")
        return cls(file=file, what={"categories": "category"}.get(key, key.removesuffix("s")), rows=rows)

    def __len__(self) -> int:
        return len(self.rows)

    def whole_numbers(self, key: str, *, default: int | None = None) -> NDArray[np.int64]:
        """(n,) int64, a field of whole numbers: no fractions, no truth values, no text.

        Args:
            key: The field.
            default: Value for a field that is missing or null; None makes it an error.

        Raises:
            OochubError: A record without the field, or with something else in it; its id is named.
        """
        values = self._check_value(key, default, (int,), "a whole number")
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            row = next(row for row, value in enumerate(values) if abs(value) >= 2**63)
            raise self._raise_wrong_value(row, key, "a whole number below 2 to the 63rd", values[row]) from None

    def numbers(self, key: str) -> NDArray[np.float64]:
        """(n,) float64, a field of finite numbers; errors as for `whole_numbers`."""
        values = self._check_value(key, None, (int, float), "a number")
        try:
            return np.array(values, dtype=np.float64)
        except OverflowError:
            row = next(row for row, value in enumerate(values) if type(value) is int and abs(value) >= 2**1023)
            raise self._raise_wrong_value(row, key, "a finite number", values[row]) from None

    def texts(self, key: str, *, default: str | None = None) -> list[str]:
        """A field of text; arguments and errors as for `whole_numbers`."""
        return self._check_value(key, default, (str,), "text")

    def _check_value(self, key: str, default: Any, kinds: tuple[type, ...], wanted: str) -> list[Any]:
        if default is None:
            try:
                values = list(map(itemgetter(key), self.rows))
            except KeyError:
                row = next(row for row in self.rows if key not in row)
                raise OochubError(
                    f"{self.file}: one {self.what} lacks the field {key!r}: {str(row)[:200]}. Fetch the file again."
                ) from None
        else:
            values = [default if (value := row.get(key)) is None else value for row in self.rows]
        if not set(map(type, values)) <= set(kinds):
            wrong = next(row for row, value in enumerate(values) if type(value) not in kinds)
            raise self._raise_wrong_value(wrong, key, wanted, values[wrong])
        return values

    def _raise_wrong_value(self, row: int, key: str, wanted: str, got: Any) -> OochubError:
        record = self.rows[row]
        name = f"{self.what} {str(record['id'])[:60]}" if "id" in record else f"{self.what} number {row + 1}"
        return OochubError(
            f"{self.file}: `{key}` of {name} must be {wanted}, got {repr(got)[:60]}. Fetch the file again."
        )
