"""Readers of raw formats, shared by the builders."""
