"""OOD breakdown: the three AUROCs between correct ID, incorrect ID and OOD rows that both goals are made of."""
