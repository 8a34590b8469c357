"""Mean average precision: of rows with several labels, the mean of each label's average precision."""
