"""Multiple choice: a model that answers in words gives each class the log-likelihood of its words."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import torch

from oochub.input import Input
from oochub.inputs.pictures.chat_processor import ImageQuestions
from oochub.models.chat.answer_scores import AnswerScores
from oochub.models.chat.chat_model import CHAT_MODELS, check_answers, open_chat_model
from oochub.models.mode import Mode, PredictedData
from oochub.models.model_source import ModelSource


class MultipleChoiceMode(Mode):
    """A model of images and text (LLaVA, Qwen-VL, Gemma 3, BLIP-2, ...) is asked, and its answers are compared.

    The logit of a class is the sum of the log-probabilities of its tokens as the answer, right after the rendered
    prompt: the name of the class, underscores as spaces, tokenized without special tokens. No end token is counted.
    The prompt is rendered by the chat template of the model's processor; a model without one reads it as it is. All
    classes are scored on one pass over the image.

    If one class says that a thing is absent ("no_car"), the prompt asks whether it is there, and the answers are Yes
    and No. Rows with columns `question` and `options` are asked their own question, and answer with the letter of an
    option.

    Args:
        source: The model, one of `AutoModelForImageTextToText`.
        inputs: `ImageQuestions`.
        data: Classes, or rows with their own options.
        prompt: What the user asks. {options} stands for the classes, in an order that turns from row to row. For a
            model without a chat template {class} may say where the answer stands; what follows it is not read.
        words: The answer of each class instead of its name: a mapping, or a JSON file of one.
        normalize: "tokens" divides the sum by the number of tokens, "characters" by that of characters.
        calibrate: "blank" subtracts the score of the same answer for a gray image of the same size.

    Raises:
        OochubError: A model of another kind, rows without names of classes, answers that cannot be told apart.
    """

    auto_models: ClassVar[tuple[str, ...]] = CHAT_MODELS
    rank: ClassVar[int] = 3
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
        normalize: Literal["none", "tokens", "characters"] = "none",
        calibrate: Literal["none", "blank"] = "none",
    ) -> None:
        check = partial(check_answers, can_be_prefixes=normalize != "none")
        opened = open_chat_model(source, inputs, data, mode="multiple_choice", prompt=prompt, words=words, check=check)
        questions, self.kind, self.class_names = opened.questions, opened.questions.kind, opened.questions.class_names
        scores = AnswerScores(
            opened.model,
            rows=data.batch_size,
            normalize=normalize,
            calibrate=calibrate,
            says_best=questions.has_own,
        )
        self.network = scores.eval()
        opened.inputs.with_blank = calibrate == "blank"
        with torch.inference_mode():
            scores.check({name: tensor.to(data.device) for name, tensor in opened.inputs.probe().items()})
        self.about, self.training = source.about("multiple_choice"), source.training
        self.metadata = {"prompt": opened.prompt, "normalization": normalize, "calibration": calibrate}
        self.details = {
            "head": "none: answers are log-likelihoods of words",
            "image_passes": "one for each row" if scores.shares_prompt else "one for each answer",
            **opened.details,
        }
        self.notes = opened.notes
