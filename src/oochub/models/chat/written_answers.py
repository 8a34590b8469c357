"""What a model writes as its answer, and the class that it names; an answer that names none or several is none."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.errors import OochubError
from oochub.models.chat.answer_scores import FAULTS, list_rows, refuse_image, select_prompt
from oochub.models.class_map import ImagenetOutputs, list_class_words
from oochub.records.question_options import name_options

NONE = -1
"""The number of an answer that is none of the classes."""

_END = re.compile(r"[.,;:!?\n]")
_QUOTES = " \t\r\n\"'`*_.,;:!?()[]<>«»“”‘’"
_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_LETTER = re.compile(r"^\W*([A-Za-z])(?:\W|$)")
_GAPS = re.compile(r"[\s_-]+")


@dataclass(frozen=True)
class AnswerMatcher:
    """Compares written answers with classes as names of classes are compared: without case, spaces, "_" and "-".

    The whole answer is looked at first, then what stands before its first punctuation, both without quotes and an
    article. If neither is a class, the answer is the one class that it names among its other words, if it names
    exactly one; a class whose name lies within a longer one that is named does not count.

    Args:
        class_names: Names of the classes; synonyms have commas between. Those of ImageNet are known by WordNet too.
        answers: What stands for each class, such as Yes and No; its name counts as well.

    >>> matcher = AnswerMatcher(["polar_bear", "bear", "dog"], ["polar bear", "bear", "dog"])
    >>> texts = ("Polar bear.", "a dog, on grass", "This is a polar bear", "a cat", "dog or bear")
    >>> [matcher.find(text) for text in texts]
    [0, 2, 0, -1, -1]
    """

    class_names: Sequence[str]
    answers: Sequence[str]

    def find(self, text: str) -> int:
        """The number of the class that an answer is; -1 if it is none of them."""
        for part in (text, _END.split(text.strip(_QUOTES), maxsplit=1)[0]):
            bare = _ARTICLE.sub("", part.strip(_QUOTES))
            numbers = self._find_exact(bare)
            if len(numbers) == 1:
                return numbers.pop()
        named = self._find_named(text)
        return named.pop() if len(named) == 1 else NONE

    def find_option(self, text: str) -> int:
        """The number of the option that an answer is, by its letter (A, B, ...) or its words; -1 for none.

        >>> matcher = AnswerMatcher([], ["red", "a blue one"])
        >>> [matcher.find_option(text) for text in ("B", "(a) red", "A blue one.", "C", "green")]
        [1, 0, 1, -1, -1]
        """
        exact = self._find_exact(text.strip(_QUOTES))
        if len(exact) == 1:
            return exact.pop()
        letter = _LETTER.match(text)
        number = name_options(26).index(letter[1].upper()) if letter else NONE
        if letter and (letter[1].isupper() or len(text.strip(_QUOTES)) == 1 or text.lstrip()[:1] == "("):
            return number if number < len(self.answers) else NONE
        named = self._find_named(text)
        return named.pop() if len(named) == 1 else NONE

    @cached_property
    def _numbers(self) -> dict[str, set[int]]:
        numbers: dict[str, set[int]] = {}
        for names in (self.class_names, self.answers):
            for number, name in enumerate(names):
                for word in list_class_words(name):
                    numbers.setdefault(word, set()).add(number)
        return numbers

    @cached_property
    def _imagenet(self) -> ImagenetOutputs:
        return ImagenetOutputs(tuple(self.class_names))

    def _find_exact(self, words: str) -> set[int]:
        numbers = {number for word in list_class_words(words) for number in self._numbers.get(word, ())}
        if not numbers and words and any(self._imagenet.wnids):
            numbers = {number for outputs in self._imagenet.senses(words).values() for number in outputs}
        return numbers

    @cached_property
    def _patterns(self) -> list[tuple[int, re.Pattern[str]]]:
        """Each class as whole words of a text, the longest first; a word of one or two letters is not looked for."""
        names = {
            (_GAPS.sub(" ", part).strip().casefold(), number)
            for several in (self.class_names, self.answers)
            for number, name in enumerate(several)
            for part in (name, *name.split(","))
        }
        ordered = sorted((entry for entry in names if len(entry[0]) > 2), key=lambda each: (-len(each[0]), each))
        return [(number, re.compile(rf"(?<!\w){re.escape(name)}(?:s|es)?(?!\w)")) for name, number in ordered]

    def _find_named(self, text: str) -> set[int]:
        rest, numbers = _GAPS.sub(" ", text).casefold(), set()
        for number, pattern in self._patterns:
            if pattern.search(rest):
                numbers.add(number)
                rest = pattern.sub("|", rest)
        return numbers


class WrittenAnswers(nn.Module):  # type: ignore[misc]
    """The tokens that a model writes after each prompt, greedily: `logits` float32 (b, most), filled with -1.

    Args:
        model: A model of transformers that generates text, in evaluation mode.
        most: Tokens that it may write.
    """

    def __init__(self, model: Any, most: int) -> None:
        super().__init__()
        self._model, self._most = [model], most  # no part of this module: nothing is folded

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        """The tokens of a batch, as numbers.

        Raises:
            OochubError: An image that the model cannot read, or numbers that are not finite.
        """
        rows = list_rows(inputs)
        with refuse_image():
            try:
                return ImageClassifierOutput(logits=self._write(inputs))
            except FAULTS:  # a type that reads one image at a time
                if len(rows) == 1:
                    raise
            return ImageClassifierOutput(logits=torch.cat([self._write(row) for row in rows]))

    def _write(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        model = self._model[0]
        prompt = select_prompt(model, inputs)
        written = model.generate(
            **prompt,
            max_new_tokens=self._most,
            do_sample=False,
            num_beams=1,
            temperature=None,
            top_p=None,
            top_k=None,
            output_logits=True,
            return_dict_in_generate=True,
        )
        numbers = written.sequences[:, -len(written.logits) :]
        if not all(logits.isfinite().all() for logits in written.logits):
            raise OochubError(
                "The model gives numbers that are not finite: its weights are corrupted, or the dtype has too few "
                "bits. Download the model again, or use float32."
            )
        ends = model.generation_config.eos_token_id
        several = ends if isinstance(ends, list) else [] if ends is None else [ends]
        is_end = torch.isin(numbers, torch.tensor(several, dtype=numbers.dtype, device=numbers.device))
        after = is_end.cumsum(1) > 0
        filled = numbers.masked_fill(after, -1).float()
        return torch.nn.functional.pad(filled, (0, self._most - filled.shape[1]), value=-1)
