"""The form of a way to find contexts: what it measures of an image, and the contexts that it names by that."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa
    from PIL import Image


class OpenedPicture(NamedTuple):
    """An image that is measured.

    Attributes:
        content: The bytes of its file.
        image: The image as RGB, turned as its EXIF tag says.
    """

    content: bytes
    image: "Image.Image"


@dataclass(frozen=True, kw_only=True)
class NamedContexts:
    """The contexts of all rows.

    Attributes:
        names: Names of the k contexts, each once.
        words: Meaning of each context, the end of "rows with ...": "mean brightness below 0.31".
        has: Whether a row has a context (n, k), bool.
        settings: What was chosen to name them, JSON types.
        columns: More columns for readers, as `datasets` features and values (n, ...) by name.
        notes: What a reader of the report must know.
    """

    names: tuple[str, ...]
    words: tuple[str, ...]
    has: NDArray[np.bool_]
    settings: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class ContextWay(ABC):
    """A way to find contexts in two steps: images are measured one by one, then contexts are named by all measures.

    A subclass is one file of `oochub/context_finding/finders/` and its public class; nothing else names it. Its
    constructor takes keyword-only settings, which `oochub contexts` and `oochub audit` take as `--context-model`,
    `--context-names` and `--context-option`; it checks them and loads no weights.

    Measures are kept in the cache, by the bytes of the images and by `settings`: a way that measures something else
    must say so there.

    Attributes:
        batch_size: Images that are measured at once.
        looks_with_audited_model: Whether an audit gives it the audited model as `model` if no other is named.
    """

    batch_size: ClassVar[int] = 32
    looks_with_audited_model: ClassVar[bool] = False

    @classmethod
    def words(cls) -> str:
        """What the way is called, the name of the file: "properties", "segments", ..."""
        return cls.__module__.rpartition(".")[2]

    @property
    def model(self) -> str | None:
        """What it looks with: a folder or a Hub id; None for a way without a model."""
        return None

    @property
    def device(self) -> str:
        """What its model runs on, as it was asked for: "auto", "cuda", ...; "cpu" for a way without a model."""
        return "cpu"

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What the measures depend on, JSON types: for a model, a digest of its weights."""

    def check(self, classes: Sequence[str]) -> None:  # noqa: B027 most ways know nothing of classes
        """Checks what the settings say of the classes of the data, before the first image is read.

        Args:
            classes: Their names; none of data without labels.

        Raises:
            OochubError: A class that is not there.
        """

    def opened(self) -> AbstractContextManager[None]:
        """A block in which many images are measured; a way with a model makes it ready for many passes."""
        return nullcontext()

    def prepare(self, picture: OpenedPicture) -> object:
        """What is made of one image before `measures`, by the threads that decode; the image itself by default."""
        return picture

    @abstractmethod
    def measures(self, prepared: Sequence[Any]) -> "pa.Table":
        """What is measured of each image, a row each, in their order; the same columns and types in each call.

        Args:
            prepared: What `prepare` made of each image.
        """

    @abstractmethod
    def name(
        self, measures: "pa.Table", *, label: NDArray[np.int64], classes: Sequence[str], chosen_on: NDArray[np.bool_]
    ) -> NamedContexts:
        """Names the contexts of all rows; whatever is chosen is chosen on the rows `chosen_on` alone.

        Args:
            measures: Measurements of n images, see `measures`.
            label: Class number of each row (n,), -1 where there is none.
            classes: Names of the classes; none of data without labels.
            chosen_on: Rows that may be looked at to choose (n,), bool.

        Raises:
            OochubError: Too few rows to choose on.
        """
