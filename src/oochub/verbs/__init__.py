"""The verbs of the command line: one file, one verb; the folder is the registry."""
