"""Waterbirds: make the data from CUB and Places."""
