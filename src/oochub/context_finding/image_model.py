"""A model that a way to find contexts looks with: images become its inputs one by one, and pass it in batches."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from PIL import Image
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.errors import OochubError, choose_wording
from oochub.input import Input
from oochub.inputs.pictures import Pictures
from oochub.models.acceleration import fold_batch_norm
from oochub.models.pass_threads import PassThreads
from oochub.settings.prediction_settings import PredictionSettings


class ImageModel:
    """A network on its device, with the inputs that it reads.

    Args:
        inputs: How an image becomes what the network is called with.
        network: The network, in evaluation mode.
        answer: What is asked of the network for a batch of inputs.
        device: Device that the network is on.
        most: Most images of a pass.
        logits: Numbers by which the network before and after batch norms are folded is compared; None takes `answer`.

    Attributes:
        rows: Images of a pass.

    Raises:
        OochubError: Inputs that are no images.
    """

    def __init__(
        self,
        inputs: Input,
        network: nn.Module,
        answer: Callable[[Mapping[str, torch.Tensor]], Any],
        device: torch.device,
        *,
        most: int,
        logits: Callable[[Mapping[str, torch.Tensor]], torch.Tensor] | None = None,
    ) -> None:
        if not isinstance(inputs, Pictures):
            raise OochubError(
                f"Contexts are found in images, but the model reads {inputs.words()}. Give the image processor of a "
                f"model that reads images: {choose_wording('image_processor=', '--context-option image_processor=')}."
            )
        self.inputs, self.network, self.device = inputs, network, device
        self._answer, self._logits = answer, logits or answer
        self._run: Callable[[Callable[[], Any]], Any] = _call
        # a processor that keeps the shape of images gives each another
        is_one_by_one = inputs.provenance()["preprocessing"] == "processor"
        self.rows = 1 if is_one_by_one else min(most, PredictionSettings(device=device).rows_a_pass)

    def prepare(self, picture: Image.Image) -> Any:
        """What one image becomes before it is in a batch; several threads may do this at once."""
        return self.inputs.prepare(picture)

    def answers(self, prepared: Sequence[Any]) -> Iterator[Any]:
        """What the network says, pass by pass, of images that `prepare` made ready."""
        for start in range(0, len(prepared), self.rows):
            with torch.inference_mode():
                batch = self.inputs.join(prepared[start : start + self.rows], self.device)
                answer = self._run(partial(self._answer, batch))
            yield answer

    @contextmanager
    def opened(self) -> Iterator[None]:
        """A block of many passes, as `oochub.predict` makes them: batch norms folded, threads as cores are free."""
        probe = {name: values.to(self.device) for name, values in self.inputs.probe().items()}
        with (
            fold_batch_norm(_Logits(self.network, self._logits), probe),
            PassThreads(is_shared=self.device.type == "cpu") as threads,
        ):
            self._run = threads.run
            try:
                yield
            finally:
                self._run = _call


def _call(work: Callable[[], Any]) -> Any:
    return work()


class _Logits(nn.Module):  # type: ignore[misc]
    """A network with some of its numbers as the logits of a classifier."""

    def __init__(self, network: nn.Module, logits: Callable[[Mapping[str, torch.Tensor]], torch.Tensor]) -> None:
        super().__init__()
        self.network, self._numbers = network, logits

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        return ImageClassifierOutput(logits=self._numbers(inputs))
