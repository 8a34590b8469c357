"""New-class AUROC: the chance that an in-distribution row scores higher than one of an unknown class."""
