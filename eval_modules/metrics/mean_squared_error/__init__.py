"""Mean squared error: the mean of the squared distances of the predicted numbers from the true ones."""
