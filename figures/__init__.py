"""The figures of the papers: one file, one function that draws on an axes; the folder is the registry."""
