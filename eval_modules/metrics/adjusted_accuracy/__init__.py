"""Adjusted accuracy: group accuracies weighted by the group's share of the training rows."""
