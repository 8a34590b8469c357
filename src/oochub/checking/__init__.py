"""Rules for a report: how they are read and checked, what came of it, and its files for other programs."""
