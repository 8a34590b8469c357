"""Accuracy: the share of rows whose predicted class is the true one."""
