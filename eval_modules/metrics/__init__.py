"""The metrics: one folder, one metric."""
