"""Two reports or more side by side, beside what papers reported."""
