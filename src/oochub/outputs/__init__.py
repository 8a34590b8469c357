"""Kinds of output: one file, one kind; the folder is the registry."""
