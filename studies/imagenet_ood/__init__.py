"""The experiments of the ImageNet-OOD paper over a list of models: extract once, then every table from those files."""
