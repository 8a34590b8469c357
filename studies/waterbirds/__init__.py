"""Waterbirds as Sagawa et al. made it: birds of CUB-200-2011 cut out and put in front of places of Places365."""
