"""Accuracy percentile: a low percentile of the group accuracies."""
