"""What makes rows ready for a model and is stored with it, as a processor of transformers is: a kind a file."""
