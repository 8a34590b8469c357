"""The form of what says where the object of a picture is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from oochub.context_finder import OpenedPicture


class RowOfObject(NamedTuple):
    """A row whose object is asked for.

    Attributes:
        example_id: Its name.
        label: The name of its class.
        file: The name of its picture's file; "" where the rows hold the bytes alone.
        columns: What else the row has, by name.
    """

    example_id: str
    label: str
    file: str
    columns: Mapping[str, Any]


class ObjectArea(ABC):
    """Says of each row where its object is; a subclass checks what it can when it is made.

    Attributes:
        words: What it is, in words: "the masks in segmentations".
        needs: Columns of the data that it reads.
    """

    words: str
    needs: tuple[str, ...] = ()

    @abstractmethod
    def begin(self, rows: Sequence[RowOfObject]) -> None:
        """Looks at all rows before a model runs.

        Raises:
            OochubError: Nothing is known of any row.
        """

    @abstractmethod
    def settings(self, rows: Sequence[RowOfObject]) -> Any:
        """What the areas of the rows depend on, JSON types: equal only where they are the same."""

    @abstractmethod
    def masks(self, rows: Sequence[RowOfObject], pictures: "Sequence[OpenedPicture]") -> list[NDArray[np.bool_] | None]:
        """The area of each row (h, w), True on the object, all False where it is not there; None where none is known.

        Raises:
            OochubError: What is known of a row is broken.
        """
