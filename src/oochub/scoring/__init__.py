"""The parts of an evaluation: slices, gaps, matching, detection, mistakes; `oochub.evaluation` joins them."""
