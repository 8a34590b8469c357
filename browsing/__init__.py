"""All rows of a report as a folder of static files, opened from disk: what is filtered, shown, linked and exported."""
