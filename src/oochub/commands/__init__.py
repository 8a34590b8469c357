"""The commands of the hub: one file, one command; the folder is the registry."""
