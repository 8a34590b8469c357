"""Every page as one HTML file: no script, no request, a policy that allows nothing else."""

import base64
import functools
import hashlib
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from oochub.errors import OochubError
from oochub.report import numbers, svg, theme, wording

_TEXT_LIMIT = 300_000  # bytes of a page without its pictures
_PAGE_LIMIT = 600_000  # bytes of the whole file


def self_contained_page(template: str, *, pictures: int = 0, advice: str, **shown: Any) -> str:
    """Renders a template into one file; the same content gives the same bytes.

    Every text is escaped, control and bidi characters become U+FFFD. The page may load nothing: its policy names the
    hash of its one style block and allows `data:` pictures only.

    Args:
        template: The name of its file.
        pictures: Bytes of the pictures in it.
        advice: What to do where the page would be too large.
        **shown: What the template prints.

    Raises:
        OochubError: The page would exceed 300 kB without pictures or 600 kB with them.
    """
    style = _style()  # our own CSS and palette, no text of the data
    page = environment().get_template(template).render(style=Markup(style), policy=_policy(style), **shown)  # noqa: S704
    size = len(page.encode())
    if size - pictures > _TEXT_LIMIT or size > _PAGE_LIMIT:
        raise OochubError(
            f"The page would be {size / 1000:.0f} kB, {pictures / 1000:.0f} of them pictures; at most "
            f"{_TEXT_LIMIT / 1000:.0f} kB without and {_PAGE_LIMIT / 1000:.0f} kB with pictures are allowed. {advice}"
        )
    return page


@functools.cache
def environment() -> jinja2.Environment:
    """What renders the templates of this folder."""
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
