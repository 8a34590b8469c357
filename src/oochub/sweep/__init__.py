"""Sweeps: recipes, runs, how each run is measured, and what is selected."""
