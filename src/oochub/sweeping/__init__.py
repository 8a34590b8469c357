"""How one run of a sweep is measured, with its own network or on features extracted once."""
