"""The page of a report, a comparison, a ranking or a repair in a browser; where there is none, its path."""

import os
import sys
import tempfile
import webbrowser
from pathlib import Path

import typer

from oochub.comparison.comparison import Comparison
from oochub.comparison.paired_report import PairedReport
from oochub.comparison.rank_models import Ranking
from oochub.errors import OochubError
from oochub.repairs.repair import Repair
from oochub.report.report import Report
from oochub.storage.artifacts import PAGE
from oochub.storage.files import check_writable, write_whole

_KINDS = (Report, PairedReport, Comparison, Ranking, Repair)


def show(
    thing: Report | PairedReport | Comparison | Ranking | Repair | str | Path, path: str | Path | None = None
) -> Path:
    """Opens the page of a report in a browser; without a display it prints where the page is.

    Args:
        thing: A report, what `oochub.compare` or `oochub.repair` returned, or the path of a report.json.
        path: File that the page is written to; None takes a new one in the folder for temporary files.

    Returns:
        The path of the page.

    Raises:
        OochubError: Something else, no such report, or a path that cannot be written.

    >>> import io, contextlib
    >>> show(7)
    Traceback (most recent call last):
    oochub.errors.OochubError: show takes a report, a comparison, a ranking, a repair or the path of a report.json, ...
    """
    if isinstance(thing, str | Path):
        thing = Report.load(thing)
    if not isinstance(thing, _KINDS):
        raise OochubError(
            "show takes a report, a comparison, a ranking, a repair or the path of a report.json, got "
            f"{type(thing).__name__}. What `oochub show` says of a benchmark or a metric is of the command line."
        )
    if path is not None:
        check_writable(path, kind=PAGE)
    text = _render(thing)
    file = Path(tempfile.mkdtemp(prefix="oochub-"), "report.html") if path is None else Path(path).expanduser()
    with write_whole(file, kind=PAGE) as draft:
        draft.write_text(text, "utf-8")
    if not (_has_display() and webbrowser.open(file.absolute().as_uri())):
        typer.echo(f"No browser can be opened here. The page is {file}")
    return file


def _render(thing: Report | PairedReport | Comparison | Ranking | Repair) -> str:
    if isinstance(thing, Repair):
        from oochub.repairs.repair import repair_page

        return repair_page(thing)
    return thing.to_html()


def _has_display() -> bool:
    """Whether a window can open: on Linux a display is named, or a browser is."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
