"""How a number, a name and a color are shown, the same on every page, table and plot."""
