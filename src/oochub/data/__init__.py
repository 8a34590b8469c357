"""Data sets: loading, tasks, and challenge sets of a user's own data."""
