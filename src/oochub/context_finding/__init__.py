"""Contexts that nobody labelled: the ways to find them, a file each in ways/, and their columns."""
