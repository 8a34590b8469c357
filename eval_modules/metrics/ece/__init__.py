"""Expected calibration error: the difference between confidence and accuracy, averaged over confidence bins."""
