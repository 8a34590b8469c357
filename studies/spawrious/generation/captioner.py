"""Says in words what pictures show, by a captioner of transformers."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from PIL import Image

from oochub.errors import OochubError
from oochub.hub.model_folder import model_folder
from oochub.inputs.pictures.image_processor import image_processor
from oochub.models.model_config import model_config
from oochub.models.model_source import ModelSource
from oochub.models.opening import opening
from oochub.models.pretrained import pretrained

_BEAMS, _LONGEST = 4, 16  # of generate_dataset.py
_WORDS = "a captioner of pictures"
_HINT = "Default: nlpconnect/vit-gpt2-image-captioning."


class Captioner:
    """A captioner with its weights, in evaluation mode; beam search with 4 beams, 16 tokens at most, nothing drawn.

    Args:
        source: A folder or Hub id, such as nlpconnect/vit-gpt2-image-captioning; safetensors only.
        device: Where it runs.

    Raises:
        OochubError: No such model, one that makes no text of pictures, or weights that do not fit.
    """

    def __init__(self, source: str, *, device: torch.device | str = "cpu") -> None:
        import transformers

        auto = transformers.AutoModelForImageTextToText
        config = model_config(source, words=_WORDS, hint=_HINT)
        if type(config) not in auto._model_mapping:
            raise OochubError(f"{source} is a {config.model_type}, which makes no text of pictures. {_HINT}")
        with opening(source, words=_WORDS, hint=_HINT):
            self._processor = image_processor(source)
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(model_folder(source), trust_remote_code=False)
        self._source, self._device = source, torch.device(device)
        self._model = pretrained(auto, source, probe=self._probe, words=_WORDS, hint=_HINT).model.to(self._device)

    @cached_property
    def revision(self) -> str | None:
        """The commit of the Hub, or a digest of the weights of a folder; None where it is not known."""
        return ModelSource(self._source).revision or getattr(self._model.config, "_commit_hash", None)

    def captions(self, pictures: Sequence[Image.Image]) -> list[str]:
        """A caption for each picture, in RGB.

        Args:
            pictures: Of any size.
        """
        if not pictures:
            return []
        pixels = self._processor(images=list(pictures), return_tensors="pt").pixel_values.to(self._device)
        with torch.inference_mode():
            tokens = self._model.generate(
                pixel_values=pixels, num_beams=_BEAMS, max_length=_LONGEST, do_sample=False, num_return_sequences=1
            )
        return [caption.strip() for caption in self._tokenizer.batch_decode(tokens, skip_special_tokens=True)]

    def _probe(self) -> dict[str, torch.Tensor]:
        side = 64
        gray = Image.new("RGB", (side, side), (128, 128, 128))
        inputs: dict[str, Any] = {"pixel_values": self._processor(images=[gray], return_tensors="pt").pixel_values}
        is_pair = model_config(self._source).model_type == "vision-encoder-decoder"
        return {**inputs, "decoder_input_ids" if is_pair else "input_ids": torch.ones(1, 2, dtype=torch.long)}
