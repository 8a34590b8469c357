"""A page of tables alone, made of many reports."""

from collections.abc import Sequence

from oochub.records.table import Table
from oochub.report import wording
from oochub.report.comparing.comparison_page import _table
from oochub.report.report import Report
from oochub.report.self_contained_page import self_contained_page


def tables_page(headline: str, reports: Sequence[Report], tables: Sequence[tuple[Table, Sequence[str]]]) -> str:
    """Renders tables as a self-contained HTML page; the same reports give the same bytes.

    Args:
        headline: Of the page.
        reports: What the tables are of.
        tables: Each with the sentences below it.

    Raises:
        OochubError: Tables so large that the page would exceed its limits.
    """
    return self_contained_page(
        "tables.html.jinja",
        advice="Take fewer tables at once.",
        headline=headline,
        tables=[_table(table, notes) for table, notes in tables],
        oochub=wording.name(reports[0].provenance.oochub, 40),
        files=len(reports),
    )
