"""FPR at TPR: the share of negatives taken for positives once a given share of the positives is found."""
