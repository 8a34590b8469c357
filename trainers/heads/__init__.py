"""Heads trained on fixed features: one, or a whole grid in a stack."""
