"""Images with a prompt and the answers that it may have, for a model that answers in words."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from oochub.errors import OochubError
from oochub.inputs.pictures import Pictures
from oochub.inputs.pictures.chat_processor import ChatProcessor, load_chat_processor

if TYPE_CHECKING:
    import torch

_GRAY = (128, 128, 128)


class ImageQuestion(NamedTuple):
    """What a model is asked of one image.

    Attributes:
        prompt: What the user says beside the image.
        answers: The words of each answer, in the order of the classes or options.
    """

    prompt: str
    answers: tuple[str, ...]


class ImageQuestions(Pictures):
    """Images as a model that answers in words reads them, each with its prompt and the tokens of the answers.

    A batch has what the model is called with, and `answer_ids` int64 (n, answers, longest), filled with -1, and
    `answer_lengths` float32 (n, answers), the characters of each. With `with_blank` it has the same inputs of a gray
    image of the same size, under `blank_`.

    A mode that reads such inputs sets `ask` before it opens the model.

    Args:
        processor: A `ChatProcessor`, or the processor of transformers of such a model.
        preprocessing: "auto" or "processor": the model's own processor reads every image.

    Raises:
        OochubError: "fused", or a processor without an image processor or a tokenizer.
    """

    auto_model: ClassVar[str] = "AutoModelForImageTextToText"
    beside: ClassVar[tuple[str, ...]] = ("example_id", "question", "options")

    def __init__(self, processor: Any, *, preprocessing: str = "auto") -> None:
        if preprocessing == "fused":
            raise OochubError(
                'preprocessing="fused" cannot stand in for the processor of a model that answers in words. Remove it.'
            )
        is_given = not isinstance(processor, ChatProcessor)
        self.processor = ChatProcessor(processor) if is_given else processor
        self.tokenizer = self.processor.tokenizer if is_given else None  # of an object: no file stands for it
        self._fused, self._normalize, self._check, self._is_settled = None, None, None, True
        self.ask: Callable[[Mapping[str, object]], ImageQuestion] = lambda row: ImageQuestion(
            "What is in this image?", ("Yes",)
        )
        self.with_blank = False

    @classmethod
    def words(cls) -> str:
        """What the inputs are called."""
        return "images and prompts"

    @classmethod
    def takes(cls, processor: Any) -> bool:
        """See `Input.takes`: a processor with an image processor and a tokenizer."""
        return isinstance(processor, ChatProcessor) or hasattr(processor, "image_processor")

    @classmethod
    def load_processor(cls, source: str | None, dataset: Any, *, training: bool = False) -> Any:
        """See `Input.load_processor`."""
        if source is None:
            raise OochubError("A model object needs processor=, its processor of images and prompts.")
        return load_chat_processor(source)

    @classmethod
    def of(cls, processor: Any, *, normalize: bool = True, preprocessing: str = "auto") -> Self:
        """See `Input.of`."""
        return cls(processor, preprocessing=preprocessing)

    @property
    def std(self) -> tuple[float, ...]:
        """None: pixels are patches of many forms, and ODIN does not perturb them."""
        return ()

    def encode_answers(self, answers: Sequence[str]) -> "torch.Tensor":
        """Their tokens, int64 (answers, longest), filled with -1."""
        import torch

        numbers = [torch.tensor(self.processor.encode(answer), dtype=torch.long) for answer in answers]
        return torch.nn.utils.rnn.pad_sequence(numbers, batch_first=True, padding_value=-1)

    def _process(self, picture: Any, row: Mapping[str, object] | None = None) -> "Mapping[str, torch.Tensor]":
        import torch
        from PIL import Image

        prompt, answers = self.ask(row or {})
        text = self.processor.render(prompt)
        tensors: dict[str, torch.Tensor] = self.processor(picture, text)
        if self.with_blank:
            blank = self.processor(Image.new("RGB", picture.size, _GRAY), text)
            tensors |= {f"blank_{name}": values for name, values in blank.items()}
        lengths = torch.tensor([[float(len(answer)) for answer in answers]])
        return {**tensors, "answer_ids": self.encode_answers(answers).unsqueeze(0), "answer_lengths": lengths}
