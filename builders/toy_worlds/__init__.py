"""Tiny raw folders rendered in exactly the real raw formats: one file, one world."""
