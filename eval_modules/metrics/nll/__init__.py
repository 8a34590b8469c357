"""Negative log-likelihood: the mean of minus the log of the probability given to the true class."""
