"""Kinds of input, a file each, found by its name: from the rows of a data set to what a model is called with."""
