"""Waterbirds: construct the data from CUB and Places365."""
