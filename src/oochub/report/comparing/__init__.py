"""Models and reports set side by side: paired on the same examples, in a table, along a line, in a matrix."""
