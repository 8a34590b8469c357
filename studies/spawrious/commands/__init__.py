"""Spawrious: compose challenges, generate images, and check them with people or CLIP."""
