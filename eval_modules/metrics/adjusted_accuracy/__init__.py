"""Adjusted accuracy: the accuracies of the groups, each weighed as its group is in training."""
