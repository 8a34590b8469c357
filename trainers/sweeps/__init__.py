"""What a sweep is made of: recipe, methods, runs, workers, table and selection; `oochub.trainers.sweep` does it."""
