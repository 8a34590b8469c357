"""Results that anybody sends, computed again from their predictions, on one static site."""
