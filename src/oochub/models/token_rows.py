"""How large the vocabulary and the length of a model of tokens must be, for the rows of a data set."""

from typing import Any

import pyarrow.compute as pc

_READ_TOGETHER = 4096  # rows
_PLACES = 1024  # of GPT-2, where no row is longer


def token_rows(dataset: Any) -> dict[str, int]:
    """What the config of a new GPT-2 must say of rows of tokens.

    Args:
        dataset: With `input_ids`, lists of numbers of tokens, and `tokens`, what comes next.

    >>> from datasets import Dataset
    >>> token_rows(Dataset.from_dict({"input_ids": [[7, 8], [9]], "tokens": [[8, -100], [11]]}))
    {'vocab_size': 12, 'n_positions': 1024}
    """
    largest, longest = 0, _PLACES
    for table in dataset.select_columns(["input_ids", "tokens"]).with_format("arrow").iter(_READ_TOGETHER):
        largest = max(largest, *(pc.max(pc.list_flatten(column)).as_py() or 0 for column in table.columns))
        longest = max(longest, pc.max(pc.list_value_length(table.column("input_ids"))).as_py() or 0)
    return {"vocab_size": largest + 1, "n_positions": longest}
