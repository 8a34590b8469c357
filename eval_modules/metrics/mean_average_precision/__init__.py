"""Mean average precision: the mean of each label's average precision, for rows with several labels."""
