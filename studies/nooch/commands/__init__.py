"""NOOCH: compare hard examples with the published ones, select the tasks of a suite."""
