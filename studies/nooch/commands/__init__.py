"""NOOCH: verify hard examples against the published ones and select the tasks of a suite."""
