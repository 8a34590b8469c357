"""A causal language model as predictions ask it: which token comes next at each place, and no logits."""

from typing import Any, NamedTuple

import torch
from torch import nn

from oochub.errors import OochubError


class _Said(NamedTuple):
    logits: torch.Tensor


class NextTokens(nn.Module):  # type: ignore[misc]
    """Answers with the most probable next token: `logits` are numbers of tokens, int64 (b, t), -1 where there is none.

    Args:
        model: Of transformers; its logits are (b, t, vocabulary).

    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> model = GPT2LMHeadModel(GPT2Config(vocab_size=9, n_positions=4, n_embd=8, n_layer=1, n_head=1)).eval()
    >>> ids = torch.tensor([[3, 4], [5, 0]])
    >>> NextTokens(model)(input_ids=ids, attention_mask=torch.tensor([[1, 1], [1, 0]])).logits[1, 1].item()
    -1
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        config: Any = model.config
        self._vocabulary: int = config.vocab_size
        self._longest: int = getattr(config, "max_position_embeddings", None) or 2**31

    def forward(self, *, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> _Said:
        """The answers to a batch, see `Extraction`.

        Raises:
            OochubError: A token that the model does not know, or more of them than it reads.
        """
        largest, length = int(input_ids.max()), input_ids.shape[1]
        if largest >= self._vocabulary:
            raise OochubError(
                f"The data set has the token {largest}, and the model knows those from 0 to {self._vocabulary - 1}. "
                "Take a model of the same tokenizer."
            )
        if length > self._longest:
            raise OochubError(f"A row has {length} tokens, and the model reads at most {self._longest}. Cut the rows.")
        logits = self.model(input_ids=input_ids, attention_mask=attention_mask).logits
        if not logits.isfinite().all():
            raise OochubError("The model gives logits that are not finite. It diverged, or needs more bits.")
        return _Said(logits.argmax(-1).masked_fill(attention_mask == 0, -1))
