"""Detection accuracy: the share of boxes and true boxes that match, averaged over sessions."""
