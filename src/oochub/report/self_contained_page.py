"""Every page as one HTML file: no request, no script but one of ours, a policy that allows nothing else."""

import base64
import functools
import hashlib
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from oochub.errors import OochubError
from oochub.report import format_numbers, svg, theme, wording
from oochub.report.footnotes import Footnotes, describe_interval

_TEXT_LIMIT = 300_000  # bytes of a page without its images
_PAGE_LIMIT = 600_000  # bytes of the whole file


def self_contained_page(
    template: str, *, pictures: int = 0, advice: str, own: str = "", most: int = _TEXT_LIMIT, **shown: Any
) -> str:
    """Renders a template into one file; the same content gives the same bytes.

    Every text is escaped, control and bidi characters become U+FFFD. The page may load nothing: its policy names the
    hash of its one style block, and of its script where it has one, and allows `data:` images only.

    Args:
        template: The name of its file.
        pictures: Bytes of the images in it.
        advice: What to do where the page would be too large.
        own: The stem of a style of its own, `<own>.css`, and a script, `<own>.js`, which the template gets as `script`.
        most: Bytes of the page without its images.
        **shown: What the template prints.

    Raises:
        OochubError: The page would exceed `most` (300 kB) without images or 600 kB with them.
    """
    style = (
        theme.css_variables() + _read_file("page.css") + (_read_file(f"{own}.css") if own else "")
    )  # ours, no text of the data
    script = _read_file(f"{own}.js") if own else ""
    page = (
        environment()
        .get_template(template)
        .render(
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            policy=_write_policy(style, script),
            **shown,
        )
    )
    size, whole = len(page.encode()), max(most, _PAGE_LIMIT)
    if size - pictures > most or size > whole:
        raise OochubError(
            f"The page would be {size / 1000:.0f} kB, {pictures / 1000:.0f} of them images; at most "
            f"{most / 1000:.0f} kB without and {whole / 1000:.0f} kB with images are allowed. {advice}"
        )
    return page


def render_folder_page(template: str, *, own: str, **shown: Any) -> str:
    """Renders a template into the page of a folder, whose scripts and images are files beside it.

    Its policy names the hash of its one style block, and allows scripts and images of its own folder only. A page
    that is opened from a disk is of no origin in some browsers, so files are named as such; a server has none.

    Args:
        template: The name of its file.
        own: The stem of a style of its own, `<own>.css`.
        **shown: What the template prints.
    """
    style = theme.css_variables() + _read_file("page.css") + _read_file(f"{own}.css")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src 'self' file:; img-src 'self' file:; "
        "base-uri 'none'; form-action 'none'"
    )
    return environment().get_template(template).render(style=Markup(style), policy=policy, **shown)  # noqa: S704


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
    environment.globals.update(
        svg=svg,
        theme=theme,
        numbers=format_numbers,
        wording=wording,
        Footnotes=Footnotes,
        interval_words=describe_interval,
    )
    return environment


def _finalize(value: Any) -> Any:
    # Whatever reaches the page as text is cleaned once more; fragments of our own are Markup and pass.
    return value if isinstance(value, Markup) else wording.clean(str(value))


@functools.cache
def _read_file(name: str) -> str:
    return resources.files("oochub").joinpath(f"report/templates/{name}").read_text(encoding="utf-8")


def _write_policy(style: str, script: str) -> str:
    scripts = f" script-src {_hash(script)};" if script else ""
    return f"default-src 'none'; style-src {_hash(style)};{scripts} img-src data:; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
