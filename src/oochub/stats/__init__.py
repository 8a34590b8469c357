"""How a number gets its 95% interval, a file a method; `estimation` chooses among them."""
