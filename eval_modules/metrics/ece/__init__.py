"""Expected calibration error: how far confidence is from accuracy, averaged over bins of confidence."""
