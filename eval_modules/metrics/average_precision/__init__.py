"""Average precision: the mean precision at the score of each positive, the area under precision over recall."""
