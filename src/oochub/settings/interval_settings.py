"""How intervals and adjusted p values are found."""

from dataclasses import dataclass
from typing import Literal

from oochub.settings.option import Settings, option


@dataclass(frozen=True, kw_only=True)
class IntervalSettings(Settings):
    """The bootstrap, and the correction over several tests.

    >>> IntervalSettings().resamples
    1000
    """

    correction: Literal["holm", "benjamini_hochberg"] = option(
        "holm",
        help="Correction for testing several found contexts.",
        more='"holm" keeps the chance of any false finding at 5%; "benjamini_hochberg" keeps the expected share of '
        "false ones among those shown at 5%.",
        panel="Intervals",
    )
    resamples: int = option(
        1000,
        help="Bootstrap replicates, for intervals that are bootstrapped.",
        panel="Intervals",
        commands=(),
    )
    seed: int = option(
        0,
        help="Random seed for the bootstrap.",
        more="In an audit, also for the rows that a probe alters.",
        panel="Intervals",
        least=0,
        hint="The default is 0.",
    )

    def __post_init__(self) -> None:
        from oochub.stats.estimate import Sampling

        super().__post_init__()
        Sampling(resamples=self.resamples, seed=self.seed)
