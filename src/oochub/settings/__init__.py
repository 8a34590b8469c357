"""The options of the commands and of the public functions, each declared once: a small frozen record a concern."""
