"""What counts as out of context: one file, one criterion."""
