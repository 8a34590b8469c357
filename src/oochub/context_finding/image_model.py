"""A model that a way to find contexts looks with: images become its inputs one by one, and pass it in batches."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, TypeVar

import torch
from PIL import Image
from torch import nn

from oochub import catalog
from oochub.errors import OochubError, choose_wording
from oochub.models.acceleration import Answer, PassThreads, fold_batch_norm
from oochub.settings.prediction_settings import PredictionSettings

_Answer = TypeVar("_Answer")


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
        network: nn.Module,
        answer: Callable[[Mapping[str, torch.Tensor]], _Answer],
        device: torch.device,
        *,
        most: int,
        numbers: Answer,
    ) -> None:
        if not isinstance(inputs, catalog.get("input", "pictures")):
            raise OochubError(
                f"Contexts are found in images, but the model reads {inputs.words()}. Give the image processor of a "
                f"model that reads images: {choose_wording('image_processor=', '--context-option image_processor=')}."
            )
        self.inputs, self.network, self.device = inputs, network, device
        self._answer, self._numbers = answer, numbers
        self._threads: PassThreads | None = None
        # a processor that keeps the shape of images gives each another
        is_one_by_one = inputs.provenance()["preprocessing"] == "processor"
        self.rows = 1 if is_one_by_one else min(most, PredictionSettings(device=device).rows_a_pass)

    def prepare(self, picture: Image.Image) -> object:
        """What one image becomes before it is in a batch; several threads may do this at once."""
        return self.inputs.prepare(picture)

    def answers(self, prepared: Sequence[object]) -> Iterator[_Answer]:
        """What the network says, pass by pass, of images that `prepare` made ready."""
        for start in range(0, len(prepared), self.rows):
            with torch.inference_mode():
                batch = self.inputs.join(prepared[start : start + self.rows], self.device)
                work = partial(self._answer, batch)
                answer = work() if self._threads is None else self._threads.run(work)
            yield answer

    @contextmanager
    def opened(self) -> Iterator[None]:
        """A block of many passes, as `oochub.predict` makes them: batch norms folded, threads as cores are free."""
        probe = {name: values.to(self.device) for name, values in self.inputs.probe().items()}
        with (
            fold_batch_norm(self.network, probe, answer=self._numbers),
            PassThreads(is_shared=self.device.type == "cpu") as self._threads,
        ):
            try:
                yield
            finally:
                self._threads = None
