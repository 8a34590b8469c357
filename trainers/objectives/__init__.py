"""The training objectives: one file, one objective."""
