"""Every kind of page, for everybody: no serious fault by axe-core, no text fainter than 4.5 to 1, nothing cut off.

On a wide screen and a phone, light and dark, and on A4 from a browser that is light or dark.
"""

import pytest
from accessibility import AXE, axe_faults, broken_pictures, crowded_labels, faint_texts
from every_page import PAGES, leaderboard

pytestmark = pytest.mark.skipif(not AXE.exists(), reason=f"no axe-core at {AXE}: `make test` fetches it, from PyPI")
VIEWS = [(media, width, scheme) for media, width in (("screen", 1280), ("screen", 420), ("print", 688))
         for scheme in ("light", "dark")]  # fmt: skip
"""688 px are A4 without its margins."""
_FEW = [("screen", 1280, "light"), ("screen", 420, "dark"), ("print", 688, "light")]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return leaderboard(tmp_path_factory.mktemp("board"))


@pytest.fixture
def page(request, tmp_path):
    """The file of a page by its name."""
    if request.param not in PAGES:
        return request.getfixturevalue("site")[request.param]
    path = tmp_path / "page.html"
    path.write_text(PAGES[request.param](), encoding="utf-8")
    return path


_NAMES = (*PAGES, "leaderboard", "board", "entry")


@pytest.mark.parametrize(
    ("page", "views"),
    [
        *(pytest.param(name, _FEW, marks=() if name == "nooch" else pytest.mark.slow) for name in _NAMES),
        *(pytest.param(name, VIEWS, marks=pytest.mark.campaign) for name in _NAMES),
    ],
    indirect=["page"],
)
def test_everybody_can_read_the_page(browser, page, views):
    """Planted faults: images without words; a gray of rules for the text of charts; tables that scroll on paper."""
    for media, width, scheme in views:
        view = f"{media}, {width} px, {scheme}"
        browser.show(page, width=width, scheme=scheme, media=media)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width, view
        if (width, scheme) in ((1280, "light"), (420, "dark")):
            assert axe_faults(browser) == [], view
        assert crowded_labels(browser) == [], view
        assert broken_pictures(browser) == 0, view
        faint, seen = faint_texts(browser)
        assert seen > 10 and faint == [], view
        assert browser.requests() <= {"file", "data"}, view
