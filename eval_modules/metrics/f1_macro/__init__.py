"""F1, macro: the harmonic mean of precision and recall, averaged over the classes."""
