"""How a model answers with a logit for each class of a data set: one file a mode."""
