"""The report as one HTML file: no script, no request, a policy that allows nothing else."""

from typing import TYPE_CHECKING

from oochub.report.background_section import bytes_of_pictures
from oochub.report.page_sections import sections
from oochub.report.self_contained_page import self_contained_page

if TYPE_CHECKING:
    from oochub.report.report import Report


def render_page(report: "Report", *, images: bool = True) -> str:
    """Render a report as a self-contained HTML page; the same report gives the same bytes.

    Every text of the report is escaped, names are cut at 120 characters, control and bidi characters become U+FFFD.
    The page may load nothing: its policy names the hash of its one style block and allows `data:` pictures only.
    Pictures beyond 240 kB in all are left out: of contexts those beyond 120 kB, then the mistakes that are less bad,
    and the captions say so.

    Args:
        report: Any report; what it lacks is said, or left out.
        images: False leaves the pictures out, for data that may not be passed on; ids and words stay.

    Raises:
        OochubError: The report has a picture that is not a JPEG, or so many slices or such long texts that the page
            would exceed 300 kB without pictures or 600 kB with them.
    """
    shown = sections(report, images=images)
    strips = (shown["contexts"] or {"strips": []})["strips"]
    cards = [card for strip in strips for _, side, _ in strip["sides"] for card in side]
    cards += (shown["mistakes"] or {"shown": []})["shown"]
    pictures = sum(len(card["picture"] or "") for card in cards)
    pictures += bytes_of_pictures(report.background) if images else 0
    advice = f"It has {len(report.slices)} slices and {len(report.notes)} notes: evaluate fewer splits at once."
    return self_contained_page("report.html.jinja", pictures=pictures, advice=advice, report=report, **shown)
