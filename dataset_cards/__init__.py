"""One Hub card per benchmark, generated from its declaration."""
