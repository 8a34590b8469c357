"""The numbers that papers report, one JSON file per benchmark."""
