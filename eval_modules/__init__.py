"""What predictions are scored with: metrics and out-of-distribution detectors."""
