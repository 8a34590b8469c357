"""Spawrious: compose challenges, generate images, check them by people or by CLIP."""
