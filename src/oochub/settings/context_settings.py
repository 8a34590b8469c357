"""How contexts that nobody labelled are found, and how images are measured for that."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from oochub.errors import OochubError, choose_wording
from oochub.settings.option import Settings, option, parse_names, parse_pairs
from oochub.settings.prediction_settings import EngineSettings


@dataclass(frozen=True, kw_only=True)
class ContextSettings(Settings):
    """The way that finds contexts, its settings, and the rows that they are chosen on.

    Raises:
        OochubError: A setting of a way without the way.

    >>> ContextSettings(contexts="zero_shot", context_names=("grass", "road")).of_way
    {'names': ['grass', 'road']}
    """

    contexts: Any = option(
        None,
        help="Find contexts in the images first, with a method from `oochub list context`, such as properties.",
        more="Or the method itself. For data without a context column; see `oochub.contexts`. What it measures is "
        "cached.",
        panel="Contexts",
        common=True,
        metavar="METHOD",
        typed=str | None,
    )
    context_model: str | None = option(
        None,
        help="Model for the method: a folder or Hub id. In an audit, clusters uses the audited model by default.",
        panel="Contexts",
        common=True,
        python=False,
    )
    context_names: Any = option(
        None,
        help="zero_shot: names of the contexts to look for, grass,beach,road.",
        panel="Contexts",
        common=True,
        typed=str | None,
        parse=parse_names,
        python=False,
    )
    context_settings: Mapping[str, Any] | None = option(
        None,
        help="Another option of the method.",
        form="key=value",
        more='By name, such as {"model": "my-encoder"}.',
        panel="Contexts",
        flag="--context-option",
        typed=list[str] | None,
        parse=parse_pairs,
    )
    choose_on: Literal["auto", "train", "half"] = option(
        "auto",
        help="Rows used to choose contexts: train, half (of the other splits), or auto (train if present, otherwise "
        "half).",
        more='These rows also decide what is usual, see `mark_selection_rows`. Use "half" if each class of train has '
        "its context and no other.",
        panel="Contexts",
        noun="choice of rows",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        first = next((name for name, value in self.given().items() if value), None)
        if self.contexts is None and first:
            raise OochubError(
                choose_wording(
                    f"{first}= requires a method that finds contexts. Pass contexts=.",
                    "--context-model, --context-names, --context-option and --choose-on require --contexts METHOD.",
                )
            )

    @property
    def of_way(self) -> dict[str, Any]:
        """The settings of the way that were given, by name."""
        named = {"model": self.context_model, "names": self.context_names and list(self.context_names)}
        return {**(self.context_settings or {}), **{name: value for name, value in named.items() if value is not None}}


@dataclass(frozen=True, kw_only=True)
class MeasurementSettings(EngineSettings):
    """The settings of `oochub.contexts` besides the way and the data.

    >>> MeasurementSettings(cache=False).words()
    ('--no-cache',)
    """

    skip_broken: bool = option(
        False,
        help="Skip unreadable images and report how many were skipped.",
        more="Their rows get no context. Otherwise the first one is an error.",
        panel="Data",
        flag="--skip-broken",
    )
    cache: bool = option(
        True,
        help="Reuse cached measurements of the same images.",
        more="New measurements are added to the cache.",
        panel="Speed",
    )
    seed: int = option(
        0,
        help="Random seed for the halves and the rows to review.",
        panel="Contexts",
        least=0,
        hint=("The default is 0."),
    )
