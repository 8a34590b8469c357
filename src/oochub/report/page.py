"""The report as one HTML file: no script, no request, a policy that allows nothing else."""

import base64
import functools
import hashlib
from importlib import resources
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from oochub.errors import OochubError
from oochub.report import numbers, svg, theme, wording
from oochub.report.page_sections import sections

if TYPE_CHECKING:
    from oochub.report.report import Report

_TEXT_LIMIT = 300_000  # bytes of a page without its pictures
_PAGE_LIMIT = 600_000  # bytes of the whole file


def render_page(report: "Report", *, images: bool = True) -> str:
    """Render a report as a self-contained HTML page; the same report gives the same bytes.

    Every text of the report is escaped, names are cut at 120 characters, control and bidi characters become U+FFFD.
    The page may load nothing: its policy names the hash of its one style block and allows `data:` pictures only.
    Pictures beyond 240 kB in all are left out, worst mistakes first kept, and the captions say so.

    Args:
        report: Any report; what it lacks is said, or left out.
        images: False leaves the pictures out, for data that may not be passed on; ids and words stay.

    Raises:
        OochubError: The report has a picture that is not a JPEG, or so many slices or such long texts that the page
            would exceed 300 kB without pictures or 600 kB with them.
    """
    template = _environment().get_template("report.html.jinja")
    style = _style()  # our own CSS and palette, no text of the report
    shown = sections(report, images=images)
    page = template.render(report=report, style=Markup(style), policy=_policy(style), **shown)  # noqa: S704
    pictures = sum(len(card["picture"] or "") for card in (shown["mistakes"] or {"shown": []})["shown"])
    size = len(page.encode())
    if size - pictures > _TEXT_LIMIT or size > _PAGE_LIMIT:
        raise OochubError(
            f"The page would be {size / 1000:.0f} kB, {pictures / 1000:.0f} of them pictures; at most "
            f"{_TEXT_LIMIT / 1000:.0f} kB without and {_PAGE_LIMIT / 1000:.0f} kB with pictures are allowed. "
            f"It has {len(report.slices)} slices and {len(report.notes)} notes: evaluate fewer splits at once."
        )
    return page


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("oochub", "report/templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.globals.update(svg=svg, theme=theme, numbers=numbers, wording=wording)
    return environment


def _finalize(value: Any) -> Any:
    # Whatever reaches the page as text is cleaned once more; fragments of our own are Markup and pass.
    return value if isinstance(value, Markup) else wording.clean(str(value))


@functools.cache
def _style() -> str:
    css = resources.files("oochub").joinpath("report/templates/page.css").read_text(encoding="utf-8")
    return theme.css_variables() + css


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
