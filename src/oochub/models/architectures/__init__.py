"""Networks that transformers does not have, and a layer on an encoder."""
