"""AUC over the rows out of context: hard positives against hard negatives."""
