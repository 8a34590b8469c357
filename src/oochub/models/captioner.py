"""Says in words what images show, by a captioner of transformers."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from PIL import Image

from oochub import catalog
from oochub.errors import OochubError
from oochub.models.model_source import ModelSource
from oochub.models.open_model import model_load_errors, open_pretrained, read_model_config
from oochub.remote.remote_repository import fetch_model_folder

_BEAMS, _LONGEST = 4, 16  # of generate_dataset.py
_KINDS = ("blip", "git", "vision-encoder-decoder")  # that need an image and no question beside it
_WORDS = "a captioner of images"
_HINT = "Default: nlpconnect/vit-gpt2-image-captioning."


class Captioner:
    """A captioner with its weights, in evaluation mode; captions of 16 tokens at most.

    Args:
        source: A folder or Hub id, such as nlpconnect/vit-gpt2-image-captioning; safetensors only.
        device: Device that it runs on.

    Raises:
        OochubError: No such model, one that makes no text of images, or weights that do not fit.
    """

    def __init__(self, source: str, *, device: torch.device | str = "cpu") -> None:
        import transformers

        self.check_kind(source)
        with model_load_errors(source, words=_WORDS, hint=_HINT):
            self._processor = catalog.get("input", "pictures").load_processor(source, None)
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(
                fetch_model_folder(source), trust_remote_code=False
            )
        self._source, self._device = source, torch.device(device)
        auto = transformers.AutoModelForImageTextToText
        self._model = open_pretrained(auto, source, probe=self._make_probe, words=_WORDS, hint=_HINT).model.to(
            self._device
        )

    @staticmethod
    def check_kind(source: str) -> None:
        """Says whether it is a captioner; its weights are not read.

        Raises:
            OochubError: No such model, or one that makes no text of images alone.
        """
        kind = read_model_config(source, words=_WORDS, hint=_HINT).model_type
        if kind not in _KINDS:
            raise OochubError(
                f"{source} is a {kind}, which does not generate text from an image alone. Use one of "
                f"{', '.join(_KINDS)}. {_HINT}"
            )

    @cached_property
    def revision(self) -> str | None:
        """The commit of the Hub, or a digest of the weights of a folder; None where it is not known."""
        return ModelSource(self._source).revision or getattr(self._model.config, "_commit_hash", None)

    def captions(self, pictures: Sequence[Image.Image]) -> list[str]:
        """A caption for each image, in RGB: beam search with 4 beams, nothing drawn.

        Args:
            pictures: Images of any size.
        """
        if not pictures:
            return []
        return self._write_captions(pictures, num_beams=_BEAMS, do_sample=False, num_return_sequences=1)

    def sample(self, picture: Image.Image, *, count: int, top_p: float, seed: int) -> list[str]:
        """Several captions of one image, in RGB, word by word drawn from the most probable ones.

        The random numbers are the image's own, so that it has the same captions in any company.

        Args:
            picture: Image of any size.
            count: Number of captions.
            top_p: Words are drawn from the fewest that have this probability together (Holtzman et al. 2020, arXiv
                1904.09751).
            seed: Random seed for these numbers.
        """
        with torch.random.fork_rng(devices=[self._device] if self._device.type == "cuda" else []):
            torch.manual_seed(seed)
            return self._write_captions(
                [picture], num_beams=1, do_sample=True, top_k=0, top_p=top_p, num_return_sequences=count
            )

    def _write_captions(self, pictures: Sequence[Image.Image], **how: Any) -> list[str]:
        pixels = self._processor(images=list(pictures), return_tensors="pt").pixel_values.to(self._device)
        with torch.inference_mode():
            tokens = self._model.generate(pixel_values=pixels, max_length=_LONGEST, **how)
        return [caption.strip() for caption in self._tokenizer.batch_decode(tokens, skip_special_tokens=True)]

    def _make_probe(self) -> dict[str, torch.Tensor]:
        side = 64
        gray = Image.new("RGB", (side, side), (128, 128, 128))
        inputs: dict[str, Any] = {"pixel_values": self._processor(images=[gray], return_tensors="pt").pixel_values}
        is_pair = read_model_config(self._source).model_type == "vision-encoder-decoder"
        return {**inputs, "decoder_input_ids" if is_pair else "input_ids": torch.ones(1, 2, dtype=torch.long)}
