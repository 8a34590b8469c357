"""What a model can be asked about altered images: a file each, found by its name."""
