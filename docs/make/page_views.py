"""Takes the images of docs/pages.md: one of each kind of page, of made-up answers; needs Chromium.

Run by `python docs/make/page_views.py`. The pages are those at which the tests of accessibility look.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from oochub.errors import OochubError
from oochub.storage.files import write_whole

_ROOT = Path(__file__).resolve().parents[2]
_FIGURES = _ROOT / "docs" / "figures"
_LARGEST = 150_000  # bytes of an image
_WIDTH, _HEIGHT = 1040, 1160
_VIEWS: dict[str, dict[str, Any]] = {
    "nooch": {},
    "spawrious": {"scheme": "dark"},
    "detection": {"section": "detection"},
    "own_two_classes": {},
    "found_contexts": {"section": "contexts", "height": 640},
    "background": {"section": "background", "height": 920},
    "text": {"section": "mistakes", "height": 640},
    "number": {},
    "labels": {},
    "thousand_classes": {"section": "mistakes", "height": 740},
    "no_context": {},
    "comparison": {},
    "paired": {},
    "nooch-phone": {"width": 420, "scheme": "dark", "height": 900},
    "nooch-paper": {"width": 688, "media": "print", "height": 973},
}
"""What is seen of each page: from a section on, how wide, how high; `-phone` and `-paper` are further views of one."""


def main() -> None:
    """Writes docs/figures/page_<name>.webp."""
    sys.path[:0] = [str(_ROOT / "tests" / folder) for folder in ("helpers", "evaluation", "report")]
    from browsed import browsed_predictions, write_browsed
    from browser import Browser
    from every_page import PAGES

    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(folder)
        for name, view in _VIEWS.items():
            file = Path(folder) / "page.html"
            file.write_text(PAGES[name.partition("-")[0]](), encoding="utf-8")
            _take(browser, file, _FIGURES / f"page_{name}.webp", **view)
        rows = _AtLink(write_browsed(Path(folder) / "browsed", browsed_predictions(1_200)) / "index.html")
        _take(browser, rows, _FIGURES / "page_browse.webp", height=1_060)
        browser.close()


class _AtLink:
    """The page of all rows at a selection."""

    def __init__(self, page: Path) -> None:
        self._page = page

    def as_uri(self) -> str:
        """The address."""
        return self._page.as_uri() + "#label=dog&context=snow"


def _take(
    browser: Any,
    page: "Path | _AtLink",
    picture: Path,
    *,
    section: str = "",
    width: int = _WIDTH,
    height: int = _HEIGHT,
    **look: str,
) -> None:
    browser.show(page, width=width, **look)
    top = browser.evaluate(f"document.getElementById('{section}').getBoundingClientRect().top") if section else 0
    whole = Image.fromarray(browser.screenshot())
    with write_whole(picture) as draft:
        seen = whole.crop((0, int(top), width, min(int(top) + height, whole.height)))
        seen.save(draft, format="webp", quality=75, method=6)
        size = draft.stat().st_size
        if size > _LARGEST:
            raise OochubError(f"{picture.name} has {size:,} bytes, at most {_LARGEST:,} are allowed: show less of it.")


if __name__ == "__main__":
    main()
