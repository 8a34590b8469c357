"""Two or many models, methods or reports on the same rows: paired tests, places, tables beside a paper's."""
