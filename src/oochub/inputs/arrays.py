"""Arrays of numbers with any number of bands, or vectors, normalized band by band as `arrays.json` says."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import datasets
import numpy as np
import pyarrow as pa

from oochub.inputs._columns import ArrowColumn
from oochub.inputs._stored_processors import ArrayProcessor, read_arrays
from oochub.records.schema import to_json

if TYPE_CHECKING:
    import torch

_TYPES = (datasets.Array2D, datasets.Array3D)


class Arrays(ArrowColumn):
    """Arrays float32 (n, bands, height, width), or vectors (n, d), less the mean of each band, over its deviation.

    Args:
        processor: Processor of the model, with the column, its shape, and the mean and deviation of each band.

    >>> from datasets import Dataset
    >>> rows = Dataset.from_dict({"array": [[1.0, 5.0], [3.0, 5.0]]})
    >>> arrays = Arrays(ArrayProcessor.of(rows, normalize=True))
    >>> batch = arrays.fetch(rows, None)([1, 0])
    >>> arrays.ready(batch, augment="none", generator=None)["pixel_values"].tolist()
    [[1.0, 0.0], [-1.0, 0.0]]
    """

    unit: ClassVar[str] = "array"
    rank: ClassVar[int] = 2
    processor_type: ClassVar[type] = ArrayProcessor
    column = "array"

    def __init__(self, processor: ArrayProcessor) -> None:
        self.processor, self.column = processor, processor.column

    @classmethod
    def column_in(cls, dataset: Any) -> str | None:
        """See `Input.column_in`: "array", else the only column of the type Array2D or Array3D."""
        if (usual := super().column_in(dataset)) is not None:
            return usual
        names = [name for name, feature in (dataset.features or {}).items() if isinstance(feature, _TYPES)]
        return names[0] if len(names) == 1 else None

    @classmethod
    def load_processor(cls, source: str | None, dataset: Any, *, training: bool = False) -> ArrayProcessor:
        """See `Input.load_processor`.

        Without `arrays.json` the values stay as they are. In training the processor is made anew, with mean and
        deviation of the rows, unless the model has one for arrays of their shape.
        """
        column = cls.column_in(dataset)
        assert column is not None  # noqa: S101  the kind was found by its column
        plain = ArrayProcessor.of(dataset, column)
        try:
            own = ArrayProcessor.from_pretrained(source) if source is not None else None
        except OSError:  # a model that was trained elsewhere
            own = None
        if own is not None and (not training or own.shape == plain.shape):
            return own
        return ArrayProcessor.of(dataset, column, normalize=True) if training else plain

    @classmethod
    def of(cls, processor: Any, *, normalize: bool = True, preprocessing: str = "fused") -> Self:
        """See `Input.of`."""
        if normalize:
            return cls(processor)
        plain = {"column": processor.column, "shape": processor.shape, "argument": processor.argument}
        return cls(ArrayProcessor(**plain))

    @classmethod
    def config(cls, processor: ArrayProcessor) -> dict[str, Any]:
        """See `Input.config`: `num_channels`."""
        return {"num_channels": processor.bands}

    def tensors(self, table: pa.Table, names: Sequence[str]) -> "dict[str, torch.Tensor]":
        """See `ArrowColumn.tensors`: float32, a copy, for the file is mapped read-only."""
        import torch

        values = read_arrays(table, self.column, self.processor.shape, names=names)
        return {"array": torch.from_numpy(np.array(values, np.float32))}

    def ready(
        self, batch: Mapping[str, "torch.Tensor"], *, augment: str, generator: "torch.Generator"
    ) -> dict[str, "torch.Tensor"]:
        """See `Input.ready`."""
        return {self.processor.argument: self._normalize(batch["array"])}

    def probe(self) -> dict[str, "torch.Tensor"]:
        """See `Input.probe`."""
        import torch

        generator = torch.Generator().manual_seed(0)
        return {self.processor.argument: torch.randn(2, *self.processor.shape, generator=generator)}

    def settings(self) -> dict[str, Any]:
        """See `Input.settings`: the record of `arrays.json`."""
        return {"array_processor": to_json(self.processor)}

    def _normalize(self, values: "torch.Tensor") -> "torch.Tensor":
        """(values - mean) / std of float32 (n, bands, ...), on their device."""
        for name, numbers in (("mean", self.processor.mean), ("std", self.processor.std)):
            if numbers:
                of_bands = values.new_tensor(numbers).view(-1, *[1] * (values.ndim - 2))
                values = values - of_bands if name == "mean" else values / of_bands
        return values
