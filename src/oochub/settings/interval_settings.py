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
        "holm", help="Over all found contexts that are tested.", panel="Intervals"
    )
    resamples: int = option(
        1000,
        help="Bootstrap replicates.",
        panel="Intervals",
        least=100,
        most=1_000_000,
        commands=(),
    )
    seed: int = option(0, help="Of the bootstrap.", panel="Intervals", least=0, most=2**32 - 1)

    def __post_init__(self) -> None:
        from oochub.stats.estimate import Sampling

        Sampling(resamples=self.resamples, seed=self.seed)
        super().__post_init__()
