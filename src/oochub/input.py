"""The form of a kind of input: from the rows of a data set to what a model is called with."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from oochub import catalog
from oochub.errors import OochubError

if TYPE_CHECKING:
    import torch

Fetch = Callable[[list[int]], "dict[str, torch.Tensor] | OochubError"]
"""Rows by their numbers, as a batch that travels to the device, or what is wrong with one of them."""

CHANGES = ("augment", "image_size", "odin", "skip_broken", "zoom")
"""The settings that change what a model sees; images know all of them."""


class BrokenRow(NamedTuple):
    """A row that cannot be read: its example_id, else its number; what is wrong with it; its number in the split."""

    example: str
    fault: str
    row: int


class InputBatch(NamedTuple):
    """Rows in their order, ready for the model.

    Attributes:
        inputs: What the model is called with, each (b, ...), on its device.
        columns: The other columns of the rows, by name.
        zoomed: What it is called with to see the rows zoomed; None unless asked for.
        rows: Their numbers in the split; None for those that follow the last ones.
    """

    inputs: Mapping[str, "torch.Tensor"]
    columns: Mapping[str, Sequence[Any]]
    zoomed: Mapping[str, "torch.Tensor"] | None = None
    rows: Sequence[int] | None = None


class Input(ABC):
    """How the rows of a data set become the inputs of a model; training and prediction ask the same object.

    A subclass is one file of `oochub/inputs/` and its public object; nothing else names it. An object of it has the
    column that it reads, and the processor that stands beside the model.

    Attributes:
        auto_model: The class of transformers that opens a model of such inputs.
        unit: Name of a row in a progress bar.
        changes: Which of `CHANGES` make sense.
        arguments: Names of what the model is called with, where a fetched batch has it as it is.
        rank: If a data set has columns of several kinds and the model does not say which is meant, the lowest rank is
            taken.
        column: The column that it reads; on the class, its usual name.
        processor: What `save_pretrained` saves beside the model: an image processor, a tokenizer, ...
        tokenizer: Tokenizer of a processor of images and texts, if one was given; else None.
        vocabulary: The text of each token by its number, with the spaces around it; empty where it is not known.
        border: Pixels that are cut from each side of an image before anything else, in prediction; see
            `oochub.records.build_record.BuildFacts`.
        num_workers: Threads that make `batches` of a kind that is slow to read, images; None takes as many as this
            process has cores, 0 makes them in the thread that asks.
    """

    auto_model: ClassVar[str] = "AutoModelForImageClassification"
    unit: ClassVar[str] = "row"
    changes: ClassVar[frozenset[str]] = frozenset()
    arguments: ClassVar[tuple[str, ...]] = ()
    rank: ClassVar[int] = 9
    column: str
    processor: Any
    tokenizer: Any = None
    vocabulary: Sequence[str] = ()
    border: int = 0
    num_workers: int | None = None

    @classmethod
    def words(cls) -> str:
        """What the inputs are called, the name of the file: `pictures`, `texts`, ..."""
        return cls.__module__.rpartition(".")[2]

    @classmethod
    def column_in(cls, dataset: Any) -> str | None:
        """The column of a data set that this kind reads, the one of its usual name; None where there is none."""
        return cls.column if cls.column in (dataset.column_names or ()) else None

    @classmethod
    @abstractmethod
    def takes(cls, processor: Any) -> bool:
        """Whether an object is a processor of this kind."""

    @classmethod
    @abstractmethod
    def load_processor(cls, source: str | None, dataset: Any, *, training: bool = False) -> Any:
        """The processor of a model.

        Args:
            source: Folder or Hub id of the model; None for a model that is an object.
            dataset: A split that it is to read.
            training: Whether the model is to be trained on the split: what no folder says may then be learned from it.

        Raises:
            OochubError: The processor must be given.
            OSError: The folder or id has none.
            ValueError: The folder or id has another one.
        """

    @classmethod
    def of(cls, processor: Any, *, normalize: bool = True, preprocessing: str = "fused") -> Self:
        """The inputs by a processor.

        Args:
            processor: See `takes`.
            normalize: Subtract the processor's mean and divide by its deviation, where it has them.
            preprocessing: "auto", "fused" or "processor", see `oochub.predict`; the same for a kind with one way only.

        Raises:
            OochubError: A processor that cannot be used.
        """
        make: Callable[[Any], Self] = cls
        return make(processor)

    @classmethod
    def config(cls, processor: Any) -> dict[str, Any]:
        """What the config of a new model must say of such inputs."""
        return {}

    @abstractmethod
    def fetch(self, dataset: Any, cache_dir: Path | None) -> Fetch:
        """What reads the rows of a data set in any order; with a folder, what is slow is done once and kept there."""

    def ready(
        self, batch: Mapping[str, "torch.Tensor"], *, augment: str, generator: "torch.Generator"
    ) -> dict[str, "torch.Tensor"]:
        """The inputs of the model from a fetched batch, on its device; `arguments` of it as they are."""
        return {name: batch[name] for name in self.arguments}

    @abstractmethod
    def batches(
        self,
        part: Any,
        *,
        batch_size: int,
        device: "torch.device",
        zoom: float | None = None,
        broken: list[BrokenRow] | None = None,
    ) -> Iterator[InputBatch]:
        """The rows of a Dataset or IterableDataset in order.

        Args:
            part: A split.
            batch_size: Rows of a batch; the last may have fewer.
            device: Device that the inputs go to.
            zoom: Also the inputs zoomed by this factor; None for none.
            broken: Gets the rows that cannot be read, which are left out; None makes the first an error.

        Raises:
            OochubError: A row that cannot be read; its split and example are named.
        """

    def pack_batches(
        self, part: Any, *, batch_size: int, zoom: float | None = None, broken: list[BrokenRow] | None = None
    ) -> Iterator[InputBatch]:
        """See `batches`: the same as they travel from one process to another, small; `unpack_batch` turns them back.

        Raises:
            OochubError: A row that cannot be read.
        """
        import torch

        yield from self.batches(part, batch_size=batch_size, device=torch.device("cpu"), zoom=zoom, broken=broken)

    def unpack_batch(self, batch: InputBatch, device: "torch.device") -> InputBatch:
        """A batch of `pack_batches` as one of `batches`, on a device."""
        zoomed = None if batch.zoomed is None else {name: tensor.to(device) for name, tensor in batch.zoomed.items()}
        return batch._replace(inputs={name: tensor.to(device) for name, tensor in batch.inputs.items()}, zoomed=zoomed)

    def settle(self, part: Any, network: Any, *, batch_size: int, device: "torch.device") -> bool:
        """Chooses between two ways to the same inputs, where "auto" left that open: by what a network says of either.

        Args:
            part: A split, of which the first rows are looked at.
            network: Network of a mode, on the device.
            batch_size: Rows per forward pass.
            device: Device that the network runs on.

        Returns:
            Whether the inputs are others than before: what was made with those is to be made again.
        """
        return False

    @abstractmethod
    def probe(self) -> dict[str, "torch.Tensor"]:
        """Inputs of two rows of noise, to look at a model with."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What the inputs depend on, JSON types only: equal exactly where two runs see the same."""

    @property
    def std(self) -> Sequence[float]:
        """What the values of each channel are divided by, for `odin`; none where that cannot be."""
        return ()

    def provenance(self) -> dict[str, Any]:
        """What predictions say of how their rows were read."""
        return {"processor": type(self.processor).__name__}

    def thumbnails(self, part: Any, rows: Sequence[int]) -> list[bytes | None]:
        """Small JPEGs of rows of a `datasets.Dataset`, for a report; None where there is nothing to look at."""
        return [None] * len(rows)

    def lines(self, part: Any, rows: Sequence[int]) -> list[str | None]:
        """A line on each of some rows, for a report; None where the columns of the row say it."""
        return [None] * len(rows)


def find_input_kinds(dataset: Any) -> list[type[Input]]:
    """The kinds of input that a data set has a column of, by rank.

    Args:
        dataset: A Dataset or IterableDataset.

    Raises:
        OochubError: No column of any kind.

    >>> import datasets
    >>> rows = datasets.Dataset.from_dict({"text": ["a book"], "label": [0]})
    >>> [kind.__name__ for kind in find_input_kinds(rows)]
    ['Texts']
    """
    kinds: list[type[Input]] = [catalog.get("input", name) for name in catalog.names("input")]
    present = [kind for kind in kinds if kind.column_in(dataset) is not None]
    if not present:
        names = ", ".join(f"{kind.column!r} ({kind.words()})" for kind in kinds)
        raise OochubError(
            f"The dataset has no column for any kind of input: {names}; only "
            f"{', '.join(dataset.column_names or ())}. Rename a column with dataset.rename_column."
        )
    return sorted(present, key=lambda kind: kind.rank)


def find_processor_kind(processor: Any) -> type[Input]:
    """The kind of input that a processor is of.

    Raises:
        OochubError: The processor is of no kind of input.

    >>> find_processor_kind(3)
    Traceback (most recent call last):
    oochub.errors.OochubError: A processor must be for arrays, ..., got int. Pass the model's own.
    """
    names = catalog.names("input")
    for name in names:
        kind: type[Input] = catalog.get("input", name)
        if kind.takes(processor):
            return kind
    several = f"{', '.join(names[:-1])} or {names[-1]}"
    raise OochubError(f"A processor must be for {several}, got {type(processor).__name__}. Pass the model's own.")


def check_config(inputs: Input, config: Any) -> None:
    """Checks that a model takes such inputs, as its config says.

    Raises:
        OochubError: Another number of bands, for one.

    >>> from transformers import ResNetConfig
    >>> from oochub.inputs.arrays import ArrayProcessor
    >>> arrays = catalog.get("input", "arrays")(ArrayProcessor(column="array", shape=(8, 4, 4)))
    >>> check_config(arrays, ResNetConfig())
    Traceback (most recent call last):
    oochub.errors.OochubError: The model's config says num_channels=3, but the arrays of the dataset need 8.
    """
    for name, value in inputs.config(inputs.processor).items():
        own = getattr(config, name, value)
        if own != value:
            raise OochubError(
                f"The model's config says {name}={own}, but the {inputs.words()} of the dataset need {value}."
            )


def check_changes(kind: type[Input], **settings: Any) -> None:
    """Refuses what changes the inputs of other kinds only.

    Args:
        kind: Kind of the inputs.
        settings: Settings of `CHANGES` that the user gave; None and "none" count as not given.

    Raises:
        OochubError: A setting that the kind does not know.

    >>> check_changes(catalog.get("input", "texts"), augment="none", zoom=1.2)
    Traceback (most recent call last):
    oochub.errors.OochubError: zoom=1.2 is for images. Omit it for texts.
    """
    for name, value in settings.items():
        if value not in (None, "none") and name not in kind.changes:
            names = [
                kind_named for kind_named in catalog.names("input") if name in catalog.get("input", kind_named).changes
            ]
            kinds = ["images" if kind_named == "pictures" else kind_named for kind_named in names]
            raise OochubError(f"{name}={value!r} is for {' and '.join(kinds)}. Omit it for {kind.words()}.")
