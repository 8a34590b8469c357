"""The 171 NOOCH tasks on one data set: their columns, losses, reports and selection."""
