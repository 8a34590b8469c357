"""Ways to fit a new last layer on features, one file each."""
