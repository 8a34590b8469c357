"""A model's last layer, fitted anew so that it relies less on context: rows divided, methods tried, one proven."""
