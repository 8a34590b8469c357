"""A table as CSV that a spreadsheet takes for data: text that would be a formula there is written as text."""

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_table(frame: "pd.DataFrame") -> str:
    r"""The rows of a frame as CSV, its index left out; text that begins as a formula gets an apostrophe before it.

    Numbers stay numbers, also those below 0. What is read again as data, such as decisions by the ids of pictures, is
    not written by this.

    >>> import pandas as pd
    >>> csv_table(pd.DataFrame({"model": ["=HYPERLINK(1)", "a-b"], "gap": [-0.5, 2.0]}))
    "model,gap\n'=HYPERLINK(1),-0.5\na-b,2.0\n"
    """
    import pandas as pd

    plain = frame.rename(columns=_cell)
    for number, kind in enumerate(plain.dtypes):
        if kind.kind not in "biufM":
            cells = [_cell(value) for value in plain.iloc[:, number]]
            plain.isetitem(number, pd.array(cells, dtype=object))
    text: str = plain.to_csv(index=False)
    return text


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = re.sub("\r\n?", "\n", value)  # Python leaves a lone CR without quotes, and it begins a row elsewhere
    return f"'{text}" if text.startswith(_FORMULA) else text
