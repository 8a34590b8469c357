"""The options of the commands and of the public functions, each declared once: a small frozen record a concern."""

from oochub.settings.keywords import listing, only, with_options, without

__all__ = ["listing", "only", "with_options", "without"]
