"""Correct discarded: the share of correctly classified rows lost when a given share of OOD rows is rejected."""
