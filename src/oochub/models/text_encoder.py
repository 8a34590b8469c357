"""Texts as a model of pictures and texts reads them, as transformers' zero-shot pipeline has it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from oochub.errors import OochubError

_BATCH = 256
_SHOWN = 80  # characters of a text


@dataclass(frozen=True)
class TextEncoder:
    """Makes tokens and embeddings of texts.

    Args:
        tokenizer: Of the model.
        config: Of the model, one of `AutoModelForZeroShotImageClassification`.
    """

    tokenizer: Any
    config: Any

    def tokens(self, texts: Sequence[str]) -> Mapping[str, torch.Tensor]:
        """What the model is called with for texts; those of SigLIP are padded to full length, as in training.

        Raises:
            OochubError: A text that is longer than the model reads.
        """
        longest = min(self.tokenizer.model_max_length, self.config.text_config.max_position_embeddings)
        for text, numbers in zip(texts, self.tokenizer(list(texts))["input_ids"], strict=True):
            if len(numbers) > longest:
                shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
                raise OochubError(
                    f"The text {shown!r} has {len(numbers)} tokens, and the model reads {longest}. Shorten it."
                )
        is_full = "siglip" in self.config.model_type
        padding = {"padding": "max_length", "max_length": longest} if is_full else {"padding": True}
        tokens: Mapping[str, torch.Tensor] = self.tokenizer(list(texts), return_tensors="pt", **padding)
        return tokens

    def embeddings(self, model: Any, texts: Sequence[str]) -> torch.Tensor:
        """Unit vectors, float (n, d), on the device of the model.

        Args:
            model: With its weights, in evaluation mode.
            texts: One or more.

        Raises:
            OochubError: A text that is longer than the model reads.
        """
        embeddings: list[torch.Tensor] = []
        for start in range(0, len(texts), _BATCH):
            tokens = {name: each.to(model.device) for name, each in self.tokens(texts[start : start + _BATCH]).items()}
            with torch.no_grad():
                features = model.get_text_features(**tokens).pooler_output
            embeddings.append(features / features.norm(dim=-1, keepdim=True))
        return torch.cat(embeddings)

    def ensembles(self, model: Any, texts: Sequence[Sequence[str]]) -> torch.Tensor:
        """The mean embedding of each list of texts, made unit again: float (n, d), on the device of the model.

        Args:
            model: With its weights, in evaluation mode.
            texts: One list or more, each of one text or more; each text is read once.

        Raises:
            OochubError: A text that is longer than the model reads.
        """
        once = list(dict.fromkeys(text for own in texts for text in own))
        embeddings, numbers = self.embeddings(model, once), {text: number for number, text in enumerate(once)}
        means = torch.stack([embeddings[[numbers[text] for text in own]].mean(0) for own in texts])
        directions: torch.Tensor = means / means.norm(dim=-1, keepdim=True)
        return directions
