"""What stands beside a model of tokens that the data set has as numbers already: a file in place of a tokenizer."""

from dataclasses import dataclass

from oochub.models.stored_processor import StoredProcessor
from oochub.schema import optional


@dataclass(frozen=True, kw_only=True)
class TokenProcessor(StoredProcessor):
    """How rows of tokens become what a model is called with.

    Attributes:
        vocabulary: The text of each token by its number, with the spaces around it; empty where nobody knows it. It
            changes nothing that the model sees: reports show it.
        padding: The number that stands after the end of a row that is shorter than its batch's longest.

    >>> TokenProcessor(padding=1)
    TokenProcessor(padding=1, vocabulary=())
    """

    file_name = "tokens.json"

    padding: int = 0
    vocabulary: tuple[str, ...] = optional(())
