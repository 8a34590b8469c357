"""Predictions: made by `predict`, once; the record that everything after works on."""
