"""How a report is put into words, tables, pages and drawings; `oochub.report` and `oochub.page` use it."""
