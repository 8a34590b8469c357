"""WILDS: score prediction files and reproduce Tables 1 and 2 of the paper."""
