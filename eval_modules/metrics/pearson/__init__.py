"""Pearson correlation: how closely the predicted numbers follow the true ones on a line."""
