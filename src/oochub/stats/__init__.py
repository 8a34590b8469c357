"""How a number gets its 95% interval, one file per method; `estimation` chooses among them."""
