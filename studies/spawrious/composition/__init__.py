"""Compositions of Spawrious: which are one-to-one or many-to-many, and a search for hard ones (Sections 3 and 4.2)."""
