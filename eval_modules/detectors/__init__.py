"""The out-of-distribution detectors: one file, one detector; a higher score is more in-distribution."""
