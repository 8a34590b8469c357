"""What is asked of a model: its images, its logits, its head and features; `oochub.prediction.predict` uses it."""
