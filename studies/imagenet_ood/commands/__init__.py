"""ImageNet-OOD: run the experiments of the paper, review images by hand."""
