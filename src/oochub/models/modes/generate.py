"""Generate: a text-generating model writes its answer, which is matched to a class."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.input import Input
from oochub.inputs.pictures.chat_processor import ImageQuestions
from oochub.models.chat.chat_model import CHAT_MODELS, open_chat_model
from oochub.models.chat.written_answers import AnswerMatcher, WrittenAnswers
from oochub.models.mode import Mode, PredictedData
from oochub.models.model_source import ModelSource
from oochub.output import get_output

_MOST = 1024


class GenerateMode(Mode):
    """A model of images and text (LLaVA, Qwen-VL, Gemma 3, BLIP-2, ...) is asked, and writes its answer.

    The answer is the most likely token, one after another, up to the end token. It is matched with the classes by
    `AnswerMatcher`. An answer that is none of them counts as wrong, and its row is kept: the prediction is -1, and
    reports say how many there are. The text stands in the column `answer`.

    What is asked is what `multiple_choice` asks, see `MultipleChoiceMode`.

    Args:
        source: The model, one of `AutoModelForImageTextToText`.
        inputs: `ImageQuestions`.
        data: Classes, or rows with their own options.
        prompt: What the user asks. {options} stands for the classes, in an order that turns from row to row.
        words: The answer of each class instead of its name: a mapping, or a JSON file of one.
        max_new_tokens: How many tokens the model may write, 1 to 1,024.

    Raises:
        OochubError: A model of another kind, rows without names of classes, a number out of range.
    """

    auto_models: ClassVar[tuple[str, ...]] = CHAT_MODELS
    rank: ClassVar[int] = 4
    reads: ClassVar[type[Input] | None] = ImageQuestions
    is_one_pass: ClassVar[bool] = False
    headless: ClassVar[str] = "answers in words"
    is_linear = False

    def __init__(
        self,
        source: ModelSource,
        inputs: Input,
        data: PredictedData,
        *,
        prompt: str | None = None,
        words: Mapping[str, str] | str | Path | None = None,
        max_new_tokens: int = 32,
    ) -> None:
        if isinstance(max_new_tokens, bool) or not 1 <= max_new_tokens <= _MOST:
            raise OochubError(f"max_new_tokens must be from 1 to {_MOST:,}, got {max_new_tokens!r}.")
        opened = open_chat_model(
            source, inputs, data, mode="generate", prompt=prompt, words=words, more_tokens=max_new_tokens
        )
        self._questions, self._tokenizer = opened.questions, opened.inputs.processor.tokenizer
        self.kind, self.class_names = get_output("choices"), opened.questions.class_names
        self.network = WrittenAnswers(opened.model, max_new_tokens).eval()
        self.about, self.training = source.about("generate"), source.training
        self.metadata = {"prompt": opened.prompt}
        self.details = {
            "head": "none: answers are written",
            "max_new_tokens": max_new_tokens,
            **opened.details,
        }
        self.notes = opened.notes

    def finish(self, outputs: NDArray[np.float32], columns: Mapping[str, Sequence[Any]]) -> NDArray[np.float32]:
        """See `Mode.finish`: the number of the class that each answer is, (n, 1); -1 for none of them."""
        texts = self._read(outputs)
        if not self._questions.has_own:
            matcher = AnswerMatcher(self.class_names, self._questions.answers)
            numbers = [matcher.find(text) for text in texts]
        else:
            numbers = [self._find_option(text, k, columns) for k, text in enumerate(texts)]
        return np.array(numbers, np.float32).reshape(-1, 1)

    def _find_option(self, text: str, number: int, columns: Mapping[str, Sequence[Any]]) -> int:
        row = {name: columns[name][number] for name in ("example_id", "question", "options") if name in columns}
        options = tuple(map(str, row["options"]))
        letters = self._questions.ask(row).answers  # that of each option, as it was shown
        order = [letters.index(letter) for letter in sorted(letters)]
        place = AnswerMatcher((), [options[k] for k in order]).find_option(text)
        return place if place < 0 else order[place]

    def make_columns(
        self, outputs: NDArray[np.float32], columns: Mapping[str, Sequence[Any]]
    ) -> Mapping[str, Sequence[Any]]:
        """See `Mode.make_columns`: the text of each answer."""
        return {"answer": self._read(outputs)}

    def _read(self, outputs: NDArray[np.float32]) -> list[str]:
        numbers = outputs.astype(np.int64)
        return [
            str(self._tokenizer.decode(row[row >= 0].tolist(), skip_special_tokens=True)).strip() for row in numbers
        ]
