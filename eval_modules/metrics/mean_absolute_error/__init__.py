"""Mean absolute error: how far the predicted number is from the true one, on average over the rows."""
