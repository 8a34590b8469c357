"""Which processes share the work of a model on many rows."""

from dataclasses import dataclass
from typing import Literal

from oochub.errors import OochubError, choose_wording
from oochub.settings.option import Settings, option


@dataclass(frozen=True, kw_only=True)
class EngineSettings(Settings):
    """The engine, and the cluster of one that has a cluster.

    Raises:
        OochubError: An engine that there is not, or settings of a cluster without one.

    >>> EngineSettings(engine="ray", actors=2).words()
    ('--engine', 'ray', '--actors', '2')
    """

    engine: Literal["local", "ray"] = option(
        "local",
        help="local: this process, or those of torchrun, not for a repair; ray: a Ray cluster.",
        more="Each process of torchrun has its own device and its own parts. On a cluster (`pip install "
        "'oochub[ray]'`) tasks read and actors hold the model. Rows, ids and numbers stay the same.",
        panel="Speed",
        commands=("predict", "contexts", "repair"),
        is_keyed=False,
    )
    ray_address: str | None = option(
        None,
        help="Address of a Ray cluster; without it one is started on this machine.",
        more='For example "auto".',
        panel="Speed",
        commands=("predict", "contexts", "repair"),
        is_keyed=False,
    )
    actors: int | None = option(
        None,
        help="Copies of the model in the cluster; default one per GPU, or one per CPU without GPUs.",
        panel="Speed",
        least=1,
        hint="Leave it out for the default.",
        commands=("predict", "contexts", "repair"),
        is_keyed=False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.engine != "ray" and (self.ray_address is not None or self.actors is not None):
            words = choose_wording("ray_address= and actors=", "--ray-address and --actors")
            raise OochubError(f"{words} need {choose_wording('engine=', '--engine ')}ray.")
