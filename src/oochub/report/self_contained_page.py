"""Every page as one HTML file: no request, no script but one of ours, a policy that allows nothing else.

In a notebook a page stands in a frame of its own, as high as the page and as dark as the notebook. The frame's sandbox
allows no script, so that neither the page nor a name in it can do anything; its policy allows no request. What fits the
height is an attribute of the frame itself. The colors follow `color-scheme`, which a frame takes from the element that
holds it: JupyterLab, VS Code and Colab say on an element around it whether they are dark.
"""

import base64
import functools
import hashlib
from html import escape
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from oochub.errors import OochubError
from oochub.report import format_numbers, svg, theme, wording
from oochub.report.footnotes import Footnotes, describe_interval

_TEXT_LIMIT = 300_000  # bytes of a page without its images
_PAGE_LIMIT = 600_000  # bytes of the whole file


_STYLE = (
    ".oochub-page{color-scheme:inherit}"
    ".oochub-page iframe{display:block;width:100%;height:640px;border:0}"
    '[data-jp-theme-light="true"] .oochub-page iframe,.vscode-light .oochub-page iframe{color-scheme:light}'
    '[data-jp-theme-light="false"] .oochub-page iframe,.vscode-dark .oochub-page iframe,'
    '.vscode-high-contrast .oochub-page iframe,html[theme="dark"] .oochub-page iframe{color-scheme:dark}'
    ".oochub-page details{margin:.4em 0}"
)
_FIT = (
    "const page=this.contentDocument.body,fit=()=>{this.style.height=Math.ceil(page.getBoundingClientRect().height)+"
    "'px'};fit();new ResizeObserver(fit).observe(page)"
)
_OURS = 'rel="noopener noreferrer"'
_SUMMARY = "As tables"


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
    style = theme.css_variables(has_values=True) + _read_file("page.css") + _read_file(f"{own}.css")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src 'self' file:; img-src 'self' file:; "
        "base-uri 'none'; form-action 'none'"
    )
    return environment().get_template(template).render(style=Markup(style), policy=policy, **shown)  # noqa: S704


@functools.cache
def environment() -> jinja2.Environment:
    """What renders the templates of all rooms."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_list_template_folders()),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Whatever reaches the page as text is cleaned once more; fragments of our own are Markup and pass.
        finalize=lambda value: value if isinstance(value, Markup) else wording.clean(str(value)),
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


@functools.cache
def _read_file(name: str) -> str:
    return next(file for folder in _list_template_folders() if (file := folder / name).is_file()).read_text("utf-8")


@functools.cache
def _list_template_folders() -> list[Path]:
    """The folder `templates` of each room that has one."""
    return sorted(Path(__file__).parents[1].glob("*/templates"))


def _write_policy(style: str, script: str) -> str:
    scripts = f" script-src {_hash(script)};" if script else ""
    return f"default-src 'none'; style-src {_hash(style)};{scripts} img-src data:; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def frame_page(page: str, *, title: str, tables: str) -> str:
    """A page as HTML for a notebook, then its tables, folded, which stay where frames are taken out, as on GitHub.

    Args:
        page: A self-contained page, see `oochub.report.self_contained_page`.
        title: What the page is, for readers of screens.
        tables: HTML of a short form.

    >>> '<iframe sandbox="' in frame_page("<p>1</p>", title="A report", tables="")
    True
    """
    page = page.replace(_OURS, f'{_OURS} target="_blank"')  # a name cannot hold these quotes: the page escapes them
    return (
        f'<div class="oochub-page"><style>{_STYLE}</style>'
        f'<iframe sandbox="allow-same-origin allow-popups" title="{escape(title)}" onload="{escape(_FIT)}" '
        f'srcdoc="{escape(page)}"></iframe>'
        f"<details><summary>{_SUMMARY}</summary>\n{tables}\n</details></div>"
    )
