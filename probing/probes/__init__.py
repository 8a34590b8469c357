"""What a model can be asked about altered images: one file each, found by its name."""
