"""What stands beside a model of tokens that the data set has as numbers already: a file in place of a tokenizer."""

from dataclasses import dataclass

from oochub.models.stored_processor import StoredProcessor


@dataclass(frozen=True, kw_only=True)
class TokenProcessor(StoredProcessor):
    """How rows of tokens become what a model is called with.

    Attributes:
        padding: The number that stands after the end of a row that is shorter than its batch's longest.

    >>> TokenProcessor(padding=1)
    TokenProcessor(padding=1)
    """

    file_name = "tokens.json"

    padding: int = 0
