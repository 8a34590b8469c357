"""A page inside a notebook: a frame of its own, in which nothing runs, as high as the page and as dark as the notebook.

The frame's sandbox allows no script, so that neither the page nor a name in it can do anything; its policy allows no
request. What fits the height is an attribute of the frame itself. The colors follow `color-scheme`, which a frame takes
from the element that holds it: JupyterLab, VS Code and Colab say on an element around it whether they are dark.
"""

from html import escape

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
