"""Accuracy percentile: the accuracy that a share of the groups does not reach."""
