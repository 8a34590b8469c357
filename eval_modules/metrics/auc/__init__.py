"""Area under the ROC curve: the chance that a positive row scores higher than a negative one."""
