"""ImageNet-OOD: run the paper's experiments and review images by hand."""
