"""Every record that is stored or shown, and schema.py, which writes and reads them."""
