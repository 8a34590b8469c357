"""Detectors of images of other sets: their scores, near and far sets, and how their numbers are estimated."""
