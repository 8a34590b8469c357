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
        help="Over all found contexts that are tested.",
        more='"holm" keeps the chance of one false finding among all at 5%, "benjamini_hochberg" the expected share of '
        "false ones among those shown.",
        panel="Intervals",
    )
    resamples: int = option(
        1000,
        help="Bootstrap replicates of the intervals that are bootstraps.",
        panel="Intervals",
        commands=(),
    )
    seed: int = option(
        0,
        help="Of the bootstrap.",
        more="In an audit also of the rows that a probe alters.",
        panel="Intervals",
        least=0,
        hint="Usual is 0.",
    )

    def __post_init__(self) -> None:
        from oochub.stats.estimate import Sampling

        super().__post_init__()
        Sampling(resamples=self.resamples, seed=self.seed)
