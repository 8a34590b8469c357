"""What is asked of a model: its pictures, its logits, its head and features; `oochub.prediction.predict` uses it."""
