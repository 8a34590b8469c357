"""What finders of contexts do with images: their regions and rows, arrays of what is measured, passes of a model.

A model that a finder looks with gets images one by one and passes them in batches; only that imports torch.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub import catalog
from oochub.context_finder import ContextWay, OpenedPicture
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.settings.prediction_settings import PredictionSettings

if TYPE_CHECKING:
    import torch
    from PIL import Image
    from torch import nn

    from oochub.input import Input
    from oochub.models.acceleration import Answer, PassThreads

_REGIONS = ("rim", "picture")
_Answer = TypeVar("_Answer")


def mask_region(height: int, width: int, *, region: str, depth: float) -> NDArray[np.bool_]:
    """The pixels of an image that are looked at (height, width), bool.

    Args:
        height: Height of the image, in pixels.
        width: Width of the image, in pixels.
        region: `"rim"`, or `"picture"`, which is all of it.
        depth: Depth of the rim: the share of the height at top and bottom, and of the width left and right, below 1/2.
            The rim is at least one pixel deep.

    Raises:
        OochubError: Another region.

    >>> mask_region(6, 6, region="rim", depth=1 / 6).sum()
    np.int64(20)
    """
    if region not in _REGIONS:
        raise unknown_name("region of an image", str(region), _REGIONS)
    looked_at = np.ones((height, width), bool)
    if region == "rim":
        left, top, right, bottom = find_middle(height, width, depth=depth)
        looked_at[top:bottom, left:right] = False
    return looked_at


def find_middle(height: int, width: int, *, depth: float) -> tuple[int, int, int, int]:
    """The left, top, right and bottom of what is inside the rim of an image, see `mask_region`; it may be empty.

    >>> find_middle(6, 12, depth=1 / 6)
    (2, 1, 10, 5)
    """
    down, across = (max(1, round(side * depth)) for side in (height, width))
    return across, down, max(across, width - across), max(down, height - down)


def make_image_rows(pictures: Sequence[OpenedPicture]) -> datasets.Dataset:
    """A data set of the column `image`, of the bytes of the images.

    >>> make_image_rows([]).column_names
    ['image']
    """
    features = datasets.Features({"image": datasets.Image()})
    return datasets.Dataset.from_dict(
        {"image": [{"bytes": picture.content, "path": None} for picture in pictures]}, features
    )


def join_chunks(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array; a single chunk is not copied, as `combine_chunks` would.

    >>> join_chunks(pa.chunked_array([[1], [2]])).to_pylist()
    [1, 2]
    """
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def list_true_columns(truth: NDArray[np.bool_]) -> pa.ListArray:
    """The numbers of the true columns of each row, ascending.

    Args:
        truth: (n, k).

    >>> list_true_columns(np.array([[True, False, True], [False, False, False]])).to_pylist()
    [[0, 2], []]
    """
    ends = np.concatenate([[0], np.cumsum(truth.sum(1))])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(np.nonzero(truth)[1], pa.int64()))


class ImageModel(Generic[_Answer]):
    """A network on its device, with the inputs that it reads.

    Args:
        inputs: Input of images: how one becomes what the network is called with.
        network: The network, in evaluation mode.
        answer: What is asked of the network for a batch of inputs.
        device: Device that the network is on.
        most: Most images of a pass.
        numbers: The answer as numbers, by which the network is compared before and after batch norms are folded.

    Attributes:
        rows: Images of a pass.

    Raises:
        OochubError: Inputs that are no images.
    """

    def __init__(
        self,
        inputs: Any,
        network: "nn.Module",
        answer: "Callable[[Mapping[str, torch.Tensor]], _Answer]",
        device: "torch.device",
        *,
        most: int,
        numbers: "Answer",
    ) -> None:
        if not isinstance(inputs, catalog.get("input", "pictures")):
            raise OochubError(
                f"Contexts are found in images, but the model reads {inputs.words()}. Pass the image processor of a "
                f"model that reads images: {choose_wording('image_processor=', '--context-option image_processor=')}."
            )
        self.inputs, self.network, self.device = inputs, network, device
        self._answer, self._numbers = answer, numbers
        self._threads: PassThreads | None = None
        # a processor that keeps the shape of images gives each another
        is_one_by_one = inputs.provenance()["preprocessing"] == "processor"
        self.rows = 1 if is_one_by_one else min(most, PredictionSettings(device=device).rows_a_pass)

    def prepare(self, picture: "Image.Image") -> object:
        """What one image becomes before it is in a batch; several threads may do this at once."""
        return self.inputs.prepare(picture)

    def answers(self, prepared: Sequence[object]) -> Iterator[_Answer]:
        """What the network says, pass by pass, of images that `prepare` made ready."""
        import torch

        for start in range(0, len(prepared), self.rows):
            with torch.inference_mode():
                batch = self.inputs.join(prepared[start : start + self.rows], self.device)
                work = partial(self._answer, batch)
                answer = work() if self._threads is None else self._threads.run(work)
            yield answer

    @contextmanager
    def opened(self) -> Iterator[None]:
        """A block of many passes, as `oochub.predict` makes them: batch norms folded, threads as cores are free."""
        from oochub.models.acceleration import PassThreads, fold_batch_norm

        probe = {name: values.to(self.device) for name, values in self.inputs.probe().items()}
        with (
            fold_batch_norm(self.network, probe, answer=self._numbers),
            PassThreads(is_shared=self.device.type == "cpu") as self._threads,
        ):
            try:
                yield
            finally:
                self._threads = None


class ModelWay(ContextWay):
    """A way that looks with a model, which is opened with the first images.

    Args:
        model: Folder or Hub id of a model, or the model itself with `image_processor`.
        image_processor: Image processor of another model, if this one has none.
        device: "auto", "cpu", "cuda", ...
    """

    def __init__(self, model: Any, *, image_processor: Any = None, device: str = "auto") -> None:
        from oochub.models.model_source import ModelSource

        self._source, self._processor, self._device = ModelSource(model), image_processor, device
        self._looking: ImageModel[Any] | None = None

    @property
    def model(self) -> str | None:
        """See `ContextWay.model`."""
        return self._source.about(self.words()).id

    @property
    def device(self) -> str:
        """See `ContextWay.device`."""
        return self._device

    def settings(self) -> dict[str, Any]:
        """See `ContextWay.settings`."""
        return self._describe_model()

    def _describe_model(self, **more: Any) -> dict[str, Any]:
        """What the model's answers depend on, and other settings."""
        return {"model": self._source.revision or self.model, **more, **self._inputs.settings()}

    def opened(self) -> AbstractContextManager[None]:
        """See `ContextWay.opened`."""
        return self._ready.opened()

    def prepare(self, picture: OpenedPicture) -> object:
        """See `ContextWay.prepare`: the inputs of the model."""
        return self._ready.prepare(picture.image)

    @abstractmethod
    def _open(self, inputs: "Input", device: "torch.device") -> "ImageModel[Any]":
        """The model with its weights, on its device."""

    @property
    def _inputs(self) -> "Input":
        return self._source.inputs(make_image_rows([]), processor=self._processor, preprocessing="auto")

    @property
    def _ready(self) -> "ImageModel[Any]":
        if self._looking is None:
            from oochub.models.acceleration import choose_device

            self._looking = self._open(self._inputs, choose_device(self._device))
        return self._looking

    def _measure_vectors(self, prepared: Sequence[object], name: str) -> pa.Table:
        """A column of the model's vectors (n, d) of images."""
        values = np.concatenate([vectors.cpu().numpy() for vectors in self._ready.answers(prepared)])
        if not np.isfinite(values).all():
            raise OochubError(f"The model {self.model} gives {name}s that are not finite. Its weights are corrupted.")
        return pa.table({name: pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])})
