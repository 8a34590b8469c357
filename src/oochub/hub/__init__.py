"""The only code that asks the Hub on its own account."""
