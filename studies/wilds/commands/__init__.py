"""WILDS: score prediction files, make Tables 1 and 2 of the paper."""
