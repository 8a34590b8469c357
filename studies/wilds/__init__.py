"""What the WILDS paper does: its models, Tables 1 and 2, prediction files, all ten data sets on toy folders."""
