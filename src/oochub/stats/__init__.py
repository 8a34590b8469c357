"""How a number gets its 95% interval, one file per method; `estimation` chooses among them."""

RESAMPLES = 1000
"""Bootstrap replicates of an interval, where nothing else is asked for."""
