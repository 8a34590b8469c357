"""Pearson of the worst group: the correlation in the group where it is lowest."""
