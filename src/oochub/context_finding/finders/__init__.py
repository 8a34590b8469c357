"""Ways to find contexts that nobody labelled: a file each."""
