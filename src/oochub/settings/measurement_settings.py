"""How images are measured, and halves drawn, where contexts are found."""

from dataclasses import dataclass

from oochub.settings.option import Settings, option


@dataclass(frozen=True, kw_only=True)
class MeasurementSettings(Settings):
    """The settings of `oochub.contexts` besides the way and the data.

    >>> MeasurementSettings(cache=False).words()
    ('--no-cache',)
    """

    skip_broken: bool = option(
        False,
        help="Leave out and count pictures that cannot be read.",
        more="Their rows have no context; else the first is an error.",
        panel="Data",
        flag="--skip-broken",
    )
    cache: bool = option(
        True,
        help="Take what was measured before of the same pictures.",
        more="What is measured is kept for that.",
        panel="Speed",
    )
    seed: int = option(0, help="Of the halves and of rows to check.", panel="Contexts", least=0, hint="Usual is 0.")
