"""Worst group: accuracy, error and NLL of the group where each is worst, with its name and size."""
