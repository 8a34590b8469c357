"""How a number gets its 95% interval, a file a method; `oochub.statistics` chooses among them."""
