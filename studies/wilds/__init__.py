"""What the WILDS paper does: its models, Tables 1 and 2, all ten data sets end to end on toy folders."""
