"""The programs that run a network: one file each, found by its name, and what they share."""
