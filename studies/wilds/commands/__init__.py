"""The commands of this study: one file, one command."""
