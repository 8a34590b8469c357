"""What stands beside a model of tokens that the data set has as numbers already: a file in place of a tokenizer."""

from dataclasses import dataclass

from oochub.errors import OochubError
from oochub.processors.stored_processor import StoredProcessor
from oochub.records.schema import optional


@dataclass(frozen=True, kw_only=True)
class TokenProcessor(StoredProcessor):
    """How rows of tokens become what a model is called with.

    Attributes:
        vocabulary: The text of each token by its number, with the spaces around it; empty where nobody knows it. It
            changes nothing that the model sees: reports show it.
        padding: The number that stands after the end of a row that is shorter than its batch's longest.

    Raises:
        OochubError: Padding that is no number of a token.

    >>> TokenProcessor(padding=1)
    TokenProcessor(padding=1, vocabulary=())
    """

    file_name = "tokens.json"

    padding: int = 0
    vocabulary: tuple[str, ...] = optional(())

    def __post_init__(self) -> None:
        if not 0 <= self.padding < 2**31:
            raise OochubError(f"padding is the number of a token, 0 or more and below 2^31, got {self.padding}.")
