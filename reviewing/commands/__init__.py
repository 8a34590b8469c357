"""The commands of reviewing."""
