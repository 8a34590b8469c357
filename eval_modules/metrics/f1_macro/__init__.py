"""Macro F1: the harmonic mean of precision and recall, averaged over the classes."""
