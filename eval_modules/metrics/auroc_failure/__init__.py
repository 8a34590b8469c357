"""Failure AUROC: the chance that a correctly classified row scores higher than a failure."""
