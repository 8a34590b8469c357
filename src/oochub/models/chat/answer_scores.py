"""The log-likelihood of answers after an image and a prompt: one pass over the prompt, short ones over the answers.

The keys and values of the prompt are kept, and every answer goes on from them. Whether that gives what the model's own
`generate` gives is measured when the model is opened; if not, each answer is a pass of `generate` of its own.
"""

import copy
import hashlib
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.errors import OochubError

_TOLERANCE = 1e-4  # a share of the largest log-likelihood
_TOKEN_TYPES = ("token_type_ids", "mm_token_type_ids", "moe_mm_token_type_ids", "image_embeds_position_mask")
_BLANK = "blank_"
_DECIDES = (
    *("eos_token_id", "forced_bos_token_id", "forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens"),
    *("bad_words_ids", "no_repeat_ngram_size", "repetition_penalty", "min_length", "min_new_tokens"),
)
_OF_ANSWERS = ("answer_ids", "answer_lengths")
FAULTS = (AttributeError, IndexError, KeyError, NotImplementedError, RuntimeError, TypeError, ValueError)
"""What a type that works otherwise raises."""


class AnswerScores(nn.Module):  # type: ignore[misc]
    """`logits` (b, answers): how likely each answer is, in nats, from its tokens' log-probabilities.

    Args:
        model: A model of transformers that generates text, in evaluation mode.
        rows: Answers of a pass.
        normalize: "none" sums the tokens of an answer, "tokens" takes their mean, "characters" divides the sum by the
            number of characters.
        calibrate: "blank" subtracts the same for a gray image; "none" does not.
        says_best: Give the number of the best answer (b, 1) in place of the scores: for rows with their own options.
    """

    def __init__(
        self, model: Any, *, rows: int, normalize: str = "none", calibrate: str = "none", says_best: bool = False
    ) -> None:
        super().__init__()
        self._model = [model]  # no part of this module: nothing is folded, and no head is looked for
        self._rows, self._normalize, self._calibrate, self._says_best = rows, normalize, calibrate, says_best
        self.shares_prompt = True
        self._blank: dict[bytes, torch.Tensor] = {}

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        """The scores of a batch.

        Args:
            inputs: A batch of `ImageQuestions`.

        Raises:
            OochubError: A prompt that is longer than the model reads, or a score that is no number.
        """
        scores = torch.stack([self._score_row(row) for row in list_rows(inputs)])
        if not scores.isfinite().all():
            raise OochubError(
                "The model gives log-likelihoods that are not finite numbers: its weights are corrupted, or the "
                "dtype has too few bits. Download the model again, or use float32."
            )
        if self._says_best:
            scores = scores.argmax(1, keepdim=True).to(scores.dtype)
        return ImageClassifierOutput(logits=scores)

    def check(self, inputs: Mapping[str, torch.Tensor]) -> None:
        """Measures on one row whether answers may go on from the prompt; else `shares_prompt` becomes false.

        Args:
            inputs: A batch of `ImageQuestions`.

        Raises:
            OochubError: A model that cannot be made to write an answer.
        """
        row = list_rows(inputs)[0]
        answers, prompt = row["answer_ids"][0], select_prompt(self._model[0], row)
        lengths = (answers >= 0).sum(1)
        order = lengths.argsort()
        some = answers[torch.unique(torch.cat([order[:1], order[-2:]]))]  # several that are longer than a token
        check_length(self._model[0], prompt, int(lengths.max()))
        expected = self._score_apart(prompt, some)
        try:
            together = self._score_together(prompt, some)
            off = ((together - expected).abs() / expected.abs().clamp(min=1)).max().item()
        except FAULTS:  # a type that keeps its cache elsewhere
            off = float("inf")
        self.shares_prompt = off <= _TOLERANCE

    def _score_row(self, row: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """(answers,) of one row."""
        answers, model = row["answer_ids"][0], self._model[0]
        prompt = select_prompt(model, row)
        check_length(model, prompt, int((answers >= 0).sum(1).max()))
        score = self._score_together if self.shares_prompt else self._score_apart
        with refuse_image():
            scores = score(prompt, answers)
        if self._calibrate == "blank":
            blank = {name.removeprefix(_BLANK): tensor for name, tensor in row.items() if name.startswith(_BLANK)}
            content = b"".join(tensor.cpu().numpy().tobytes() for tensor in (*blank.values(), answers))
            key = hashlib.sha256(content).digest()  # rows of one size and prompt share it
            if key not in self._blank:
                self._blank = {**self._blank, key: score(select_prompt(model, blank), answers)}
            scores = scores - self._blank[key]
        if self._normalize == "tokens":
            scores = scores / (answers >= 0).sum(1)
        elif self._normalize == "characters":
            scores = scores / row["answer_lengths"][0]
        return scores

    def _score_together(self, prompt: Mapping[str, torch.Tensor], answers: torch.Tensor) -> torch.Tensor:
        """(answers,) from one pass over the prompt and one over each `rows` answers."""
        start = _read_prompt(self._model[0], prompt)
        scores = start.log_probabilities[answers[:, 0]].double()
        longer = (answers[:, 1:] >= 0).any(1).nonzero()[:, 0] if answers.shape[1] > 1 else answers[:0, 0]
        for some in longer.split(self._rows):
            scores[some] += _score_rest(start, prompt, answers[some]).double()
        return scores.float()

    def _score_apart(self, prompt: Mapping[str, torch.Tensor], answers: torch.Tensor) -> torch.Tensor:
        """(answers,) as `generate` of transformers scores each answer that it is made to write; slow."""
        return torch.stack([_score_written(self._model[0], prompt, answer[answer >= 0]) for answer in answers])


@contextmanager
def refuse_image() -> Iterator[None]:
    """A block in which the model reads an image.

    Raises:
        OochubError: The model cannot read it, although it could read the first ones.
    """
    try:
        yield
    except OochubError:
        raise
    except (ValueError, LookupError) as error:
        line = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise OochubError(
            f"The model cannot read an image of the data with its prompt: {line[:200].rstrip('. ')}. Check the image "
            "processor beside the model, such as its sizes and its crop."
        ) from error


class _Start(NamedTuple):
    """What is known after the prompt: of the next token (vocabulary,), and what the passes after it go on from."""

    log_probabilities: torch.Tensor
    cache: Any
    language_model: Any
    is_whole: bool


def _read_prompt(model: Any, prompt: Mapping[str, torch.Tensor]) -> _Start:
    short = {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(model.forward).parameters else {}
    output = model(**prompt, use_cache=True, **short)
    cache, language_model = getattr(output, "past_key_values", None), model
    if cache is None:  # BLIP-2 and its like: their language model keeps it
        cache, language_model = output.language_model_outputs.past_key_values, model.language_model
    return _Start(output.logits[0, -1].float().log_softmax(-1), cache, language_model, language_model is model)


def _score_rest(start: _Start, prompt: Mapping[str, torch.Tensor], answers: torch.Tensor) -> torch.Tensor:
    """(rows,) the log-probabilities of all tokens but the first, summed."""
    rows, given = len(answers), answers[:, :-1].clamp(min=0)
    cache = copy.copy(start.cache)
    cache.layers = [copy.copy(layer) for layer in start.cache.layers]
    cache.batch_select_indices(torch.zeros(rows, dtype=torch.long, device=answers.device))
    beside = {name: tensor for name, tensor in prompt.items() if name not in ("input_ids", "attention_mask")}
    for name in _TOKEN_TYPES:
        if name in beside:
            added = beside[name].new_zeros(rows, given.shape[1])
            beside[name] = torch.cat([beside[name].expand(rows, -1), added], 1)
    inputs = start.language_model.prepare_inputs_for_generation(
        torch.cat([prompt["input_ids"].expand(rows, -1), given], 1),
        past_key_values=cache,
        attention_mask=None,  # nothing is filled before an answer, and nothing after it is seen
        next_sequence_length=given.shape[1],
        use_cache=True,
        is_first_iteration=False,
        **(beside if start.is_whole else {}),
    )
    log_probabilities = start.language_model(**inputs).logits.float().log_softmax(-1)
    wanted = answers[:, 1:]
    own = log_probabilities.gather(2, wanted.clamp(min=0).unsqueeze(2))[:, :, 0]
    total: torch.Tensor = own.masked_fill(wanted < 0, 0).sum(1)
    return total


def _score_written(model: Any, prompt: Mapping[str, torch.Tensor], answer: torch.Tensor) -> torch.Tensor:
    """The log-likelihood of one answer, by `generate` that may write nothing else."""
    numbers = answer.tolist()
    left = iter(numbers)
    if getattr(model.generation_config, "forced_bos_token_id", None) is not None:
        prompt = _start_answer(model, prompt)
    with _write_freely(model):
        written = model.generate(
            **prompt,
            max_new_tokens=len(numbers),
            do_sample=False,
            num_beams=1,
            prefix_allowed_tokens_fn=lambda batch, before: [next(left)],
            output_logits=True,
            return_dict_in_generate=True,
        )
    if written.sequences[0, -len(numbers) :].tolist() != numbers:
        raise OochubError(
            f"{type(model).__name__} cannot be made to write a given answer, so its likelihood is not known. Use the "
            "mode generate."
        )
    steps = [logits[0].float().log_softmax(-1)[k] for logits, k in zip(written.logits, numbers, strict=True)]
    return torch.stack(steps).sum()


@contextmanager
def _write_freely(model: Any) -> Iterator[None]:
    """Takes away what else decides on the next token; as options of `generate`, some models would give them twice."""
    own = model.generation_config
    model.generation_config = copy.deepcopy(own)
    for name in _DECIDES:
        setattr(model.generation_config, name, None)
    try:
        yield
    finally:
        model.generation_config = own


def list_rows(inputs: Mapping[str, torch.Tensor]) -> list[dict[str, torch.Tensor]]:
    """The rows of a batch of `ImageQuestions`; patches of several images lie one after another, as many of each."""
    count = len(inputs["answer_ids"])
    parts = {name: tensor.split(len(tensor) // count) for name, tensor in inputs.items()}
    return [{name: pieces[number] for name, pieces in parts.items()} for number in range(count)]


def read_next_token(model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The logits of the token after each prompt (b, vocabulary), for a batch of `ImageQuestions`."""
    prompts = [select_prompt(model, row) for row in list_rows(inputs)]
    return torch.cat([model(**_start_answer(model, prompt)).logits[:, -1] for prompt in prompts])


def _start_answer(model: Any, prompt: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The prompt, and for a decoder beside an encoder the tokens that its text starts with, if the prompt has none."""
    if not model.config.is_encoder_decoder or "decoder_input_ids" in prompt:
        return dict(prompt)
    settings, first = model.generation_config, next(iter(prompt.values()))
    start = settings.bos_token_id if settings.decoder_start_token_id is None else settings.decoder_start_token_id
    starts = [number for number in (start, getattr(settings, "forced_bos_token_id", None)) if number is not None]
    return {**prompt, "decoder_input_ids": torch.tensor([starts] * len(first), device=first.device)}


def select_prompt(model: Any, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """What a model is called with, of a batch or row of `ImageQuestions`: no answers, blank images, or what else."""
    taken = inspect.signature(model.forward).parameters
    return {k: v for k, v in inputs.items() if k in taken and k not in _OF_ANSWERS and not k.startswith(_BLANK)}


def check_length(model: Any, prompt: Mapping[str, torch.Tensor], more: int) -> None:
    """Checks that the prompt with the image and an answer is no longer than the model reads.

    Args:
        model: The model.
        prompt: What it is called with.
        more: Tokens of the longest answer.

    Raises:
        OochubError: It is longer.
    """
    config = model.config.get_text_config()
    longest = next((n for name in ("max_position_embeddings", "n_positions") if (n := getattr(config, name, None))), 0)
    length = sum(prompt[name].shape[1] for name in ("input_ids", "decoder_input_ids") if name in prompt) + more
    if longest and length > longest:
        raise OochubError(
            f"The prompt with the image and its answer has {length:,} tokens, but the model reads at most "
            f"{longest:,}. Shorten the prompt, or let the image processor make smaller images."
        )
