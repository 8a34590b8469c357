"""The parts of an evaluation: slices, gaps, matching, detection, mistakes; `evaluate` joins them."""
