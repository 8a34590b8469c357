"""Token accuracy: the share of the tokens of some kinds that are predicted right."""
