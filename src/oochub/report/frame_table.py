"""A data frame as a table for the terminal."""

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from oochub.report import numbers, wording

if TYPE_CHECKING:
    import pandas as pd


def frame_table(frame: "pd.DataFrame") -> Table:
    """Columns with their heads; fractions with three decimals, whole numbers as counts, undefined as "n/a".

    >>> import pandas as pd
    >>> [str(cell) for cell in frame_table(pd.DataFrame({"value": [0.5, None]})).columns[0].cells]
    ['0.500', 'n/a']
    """
    table = Table(box=None)
    for name in frame.columns:
        table.add_column(str(name), justify="left" if frame[name].dtype == object else "right")
    for row in frame.itertuples(index=False):
        table.add_row(*(Text(_cell(value)) for value in row))
    return table


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return wording.name(value)
    if isinstance(value, int):
        return numbers.count(value)
    return "n/a" if numbers.is_undefined(value) else f"{value:.3f}".replace("-", "−")
