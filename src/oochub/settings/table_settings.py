"""How the tables that a command or a method writes look."""

from dataclasses import dataclass
from typing import Literal

from oochub.settings.option import Settings, option

TableStyle = Literal["compact", "full"]


@dataclass(frozen=True, kw_only=True)
class TableSettings(Settings):
    """The settings of `to_latex` of a report, of a comparison and of a sweep.

    >>> TableSettings(style="full").words()
    ('--style', 'full')
    """

    style: TableStyle = option(
        "compact",
        help="LaTeX tables: compact, the table of a paper, or full, every number.",
        more="A compact table has models or methods as rows, and in context, out of context and the gap as columns.",
        panel="Output",
        noun="style of LaTeX tables",
    )
