"""Figures by name: which of `oochub.figures` is drawn, of which sources, into which file."""
