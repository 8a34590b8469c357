"""The commands of attention."""
