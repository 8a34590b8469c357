"""The report: its record, its words, tables, pages and drawings."""
