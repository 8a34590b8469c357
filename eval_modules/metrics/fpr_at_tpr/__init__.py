"""FPR at TPR: the share of negatives classified as positive at a given true positive rate."""
