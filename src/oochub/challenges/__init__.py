"""A challenge set of a user's own data, made by a criterion."""
