"""The numbers that papers report, one JSON file a benchmark."""
