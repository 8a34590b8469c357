"""Built-in models, a file each."""
