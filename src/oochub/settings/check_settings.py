"""How reports are held to rules."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from oochub.settings.option import Settings, option, parse_path


@dataclass(frozen=True, kw_only=True)
class CheckSettings(Settings):
    """The baseline, what an undecided rule counts as, and the margin of suggested rules.

    >>> CheckSettings(undecided="fail").words()
    ('--undecided', 'fail')
    """

    baseline: Any = option(
        None,
        help="Report of the old model, for rules with at_most_worse.",
        more="A Report, or the path of one. The comparison is paired if the predictions of both reports are found "
        "beside them.",
        panel="Rules",
        common=True,
        typed=Path | None,
        parse=parse_path,
    )
    undecided: Literal["pass", "fail"] | None = option(
        None,
        help="What a rule counts as if there are not enough rows to say: pass or fail.",
        more="By default the check is then undecided, unless a rule fails.",
        panel="Rules",
        common=True,
        noun="outcome of undecided rules",
    )
    margin: float = option(
        2.0,
        help="With --suggest, how far below today's numbers the bounds lie, in points.",
        panel="Rules",
        common=True,
        least=0,
        most=100,
        python=False,
    )
