"""What may be replaced where a command writes."""

from dataclasses import dataclass

from oochub.settings.option import Settings, option


@dataclass(frozen=True, kw_only=True)
class OutputSettings(Settings):
    """The settings of every command that writes; see `oochub.storage.ownership`.

    >>> OutputSettings(overwrite=True).words()
    ('--overwrite',)
    """

    overwrite: bool = option(
        False,
        help="Replace files that oochub did not write, or that were edited since.",
        panel="Output",
        flag="--overwrite",
        python=False,
        is_keyed=False,
    )
