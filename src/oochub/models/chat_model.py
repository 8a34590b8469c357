"""Opens a model that answers in words, for the modes that ask it; what both say of it stands here once."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from oochub.errors import OochubError, choose_wording
from oochub.input import Input
from oochub.inputs.pictures.image_questions import ImageQuestions
from oochub.models.answer_scores import check_length, read_next_token, select_prompt
from oochub.models.mode import PredictedData
from oochub.models.model_source import ModelSource
from oochub.models.questions import Questions, make_questions
from oochub.models.supported_models import choose_auto_model

CHAT_MODELS = ("AutoModelForImageTextToText",)
"""The classes of transformers that open such models."""


class ChatModel(NamedTuple):
    """A model that answers in words, on the device of the data.

    Attributes:
        model: The model of transformers, in evaluation mode.
        inputs: Makes its inputs, and asks what `questions` say.
        questions: What is asked.
        prompt: The rendered prompt.
        details: What predictions say of it.
        notes: Caveats that the report repeats.
    """

    model: Any
    inputs: ImageQuestions
    questions: Questions
    prompt: str
    details: Mapping[str, Any]
    notes: tuple[str, ...]


def open_chat_model(
    source: ModelSource,
    inputs: Input,
    data: PredictedData,
    *,
    mode: str,
    prompt: str | None,
    words: Mapping[str, str] | str | Path | None,
    more_tokens: int = 0,
    check: Callable[[Questions, ImageQuestions], None] | None = None,
) -> ChatModel:
    """The model with its weights, once all that the user typed has been checked.

    Args:
        source: The model.
        inputs: How images are read.
        data: What it is to answer.
        mode: Name of the mode.
        prompt: See `make_questions`.
        words: See `make_questions`.
        more_tokens: How many tokens it may write after the prompt.
        check: Checks the questions before the weights are read.

    Raises:
        OochubError: A model or rows of another kind; a prompt or words that cannot be used; a model that does not fit
            into memory; a prompt that is longer than it reads.
    """
    choose_auto_model(source, CHAT_MODELS, mode=mode)
    if not isinstance(inputs, ImageQuestions):
        raise OochubError(f"The mode {mode} asks about images, but the rows are {inputs.words()}. Use another mode.")
    questions = make_questions(data.part, prompt=prompt, words=words, has_template=inputs.processor.has_template)
    if check is not None:
        check(questions, inputs)
    inputs.ask = questions.ask
    rendered = inputs.processor.render(questions.prompt)
    inputs.processor.check_reads_prompt()
    probe = inputs.probe()
    model, unexpected = source.open(CHAT_MODELS[0], inputs, logits=read_next_token, device=data.device)
    check_length(model, select_prompt(model, probe), more_tokens)
    details: dict[str, Any] = {"unexpected_weights": list(unexpected)} if unexpected else {}
    if questions.answers:
        details["answers"] = list(questions.answers)
    notes: tuple[str, ...] = ()
    if not inputs.processor.has_template:
        notes = (f"the model has no chat template and reads the prompt as it is: {rendered!r:.200}",)
    return ChatModel(model.to(data.device), inputs, questions, rendered, details, notes)


def refuse_features(mode: str) -> OochubError:
    """The error for features of a model that answers in words."""
    return OochubError(
        f"The mode {mode} answers in words, so there are no features and no head. Leave out "
        f"{choose_wording('features=True', '--features')}."
    )
