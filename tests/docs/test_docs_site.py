"""The docs site: each guide, command and public name has a page, no link is dead, it opens from disk and is silent."""

import html
import importlib.util
import inspect
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from api_pages import api_pages
from browser import CHROMIUM, Browser
from command_pages import command_pages, command_path
from markdown_it import MarkdownIt
from site_pages import write_site
from typer.models import ArgumentInfo

import oochub
from oochub import catalog
from oochub.commands._options import with_options
from oochub.settings.keywords import list_records
from oochub.settings.option import list_options

ROOT = Path(__file__).parents[2]
TOP = {"README.md": "index.html", "CONTRIBUTING.md": "contributing.html", "CHANGELOG.md": "changelog.html"}
_ESTIMATES = (
    "bootstrap.bootstrap",
    "bootstrap.draw_replicates",
    "delong.delong",
    "delong.delong_covariance",
    "delong.paired_delong",
    "estimate.Estimate",
    "estimate.Sampling",
    "estimation.difference",
    "estimation.estimate",
    "estimation.gap",
    "group_intervals.worst_group_interval",
    "mean_interval.mean_estimate",
    "proportion.clopper_pearson",
    "proportion.wilson",
)
NO_PAGES = {"command"}  # they have pages of their own
needs_mkdocs = pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None, reason='no mkdocs: pip install -e ".[docs]"'
)
needs_browser = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")


def test_each_guide_stands_in_the_navigation() -> None:
    """Planted fault: speed.md left out of mkdocs.yml."""
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    named = re.findall(r"[\w/]+\.md$", text[text.index("\nnav:") : text.index("\ntheme:")], flags=re.M)
    ours = {file.relative_to(ROOT / "docs").as_posix() for file in (ROOT / "docs").rglob("*.md")}
    assert sorted(named) == sorted(ours | {"index.md", "contributing.md", "changelog.md"})


@pytest.mark.slow
def test_each_public_name_is_a_page() -> None:
    """Faults planted: the kind `figure` left out of the list; `Estimate` beside `estimate`; a name that has moved."""
    pages = api_pages()
    assert len({page.path.lower() for page in pages}) == len(pages)  # some disks do not tell a from A
    wanted = {f"oochub.{name}" for name in oochub.__all__}
    wanted |= {f"oochub.stats.{name}" for name in _ESTIMATES}
    for kind in set(catalog.kinds()) - NO_PAGES:
        modules = {catalog.module_name(kind, name) for name in catalog.names(kind)}
        wanted |= {module for module in modules if module.startswith("oochub.")}
    assert wanted - {page.identifier for page in pages} == set()
    assert all(len(page.summary()) > 15 for page in pages)


@pytest.mark.slow
def test_every_page_is_a_file_before_a_site_builder_runs(tmp_path: Path) -> None:
    """So the site needs no hooks of one builder. Faults planted: a hook; a command that the navigation leaves out."""
    config = write_site(tmp_path)
    text = config.read_text("utf-8")
    assert not re.search(r"^hooks:", text, flags=re.M)
    named = set(re.findall(r"[\w/]+\.md$", text[text.index("\nnav:") : text.index("\ntheme:")], flags=re.M))
    written = {file.relative_to(tmp_path / "docs").as_posix() for file in (tmp_path / "docs").rglob("*.md")}
    assert {name for name in written if not name.startswith("source/")} == named
    assert {page.path for page in api_pages()} | {command_path(name) for name in command_pages()} <= named
    first = (tmp_path / "docs" / "speed.md").read_text("utf-8")
    write_site(tmp_path)  # again, over the first
    assert (tmp_path / "docs" / "speed.md").read_text("utf-8") == first


def test_each_command_is_a_page_with_its_options() -> None:
    """Planted fault: the first argument and the first option alone."""
    pages = command_pages()
    assert sorted(pages) == catalog.names("command")
    for name, text in pages.items():
        for parameter in inspect.signature(with_options(catalog.get("command", name), name)).parameters.values():
            facts = parameter.annotation.__metadata__[0]
            option = f"--{parameter.name.replace('_', '-')}"
            default = facts.metavar or parameter.name if isinstance(facts, ArgumentInfo) else option
            given = [one for one in (facts.default, *(facts.param_decls or ())) if isinstance(one, str)]
            for written in given or [default]:
                assert facts.hidden or f"`{written.split('/')[0]}" in text.replace(", ", "`"), (name, written)
            assert facts.hidden or _bare(facts.help)[:60] in _bare(html.unescape(text)), (name, facts.help)


class _Page(HTMLParser):
    """The links of a page, what it loads, and the places in it that a link may name."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.words: list[str] = []
        self.tags: Counter[str] = Counter()
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        given = {name: value or "" for name, value in attributes}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" or "src" in given:
            self.loaded.append(given.get("src", given.get("href", "")))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site that `make docs` has just built, in `.ci/run`, or one built here."""
    if built := os.environ.get("OOCHUB_SITE"):
        return Path(built)
    folder = tmp_path_factory.mktemp("docs") / "site"
    environment = {
        **os.environ,
        "NO_MKDOCS_2_WARNING": "1",
        "PYTHONPATH": f"{ROOT / 'src'}:{os.environ.get('PYTHONPATH', '')}",
    }
    config = write_site(folder.parent / "source")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config)]
    done = subprocess.run([*command, "--site-dir", str(folder)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr[-3000:]
    (folder / "404.html").unlink()  # for servers: opened from disk, it names its files from the root of the disk
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, _Page]:
    return {file: _Page(file) for file in sorted(site.rglob("*.html"))}


@needs_mkdocs
@pytest.mark.slow
def test_each_public_name_has_its_docstring_on_its_page(site: Path, pages: dict[Path, _Page]) -> None:
    """The first sentence of what Python finds under the name stands there, and its examples are code."""
    for page in api_pages():
        built = pages[site / page.path.replace(".md", ".html")]
        thing = importlib.import_module(page.identifier) if page.whole_file else _found(page.identifier)
        first = re.split(r"\n\s*\n|(?<=\.)\s", inspect.getdoc(thing) or "")[0]
        assert len(first) > 15 and _bare(first) in _bare("".join(built.words)), (page.identifier, first)
        assert built.tags["blockquote"] == 0, (page.path, "an example that is no code")
        if not page.whole_file:
            assert page.title in "".join(built.words) and any(page.title in one for one in built.ids), page.title
        for option, text in _list_option_texts(thing):
            assert _bare(text) in _bare("".join(built.words)), (page.title, option)


def _list_option_texts(thing: object) -> Iterator[tuple[str, str]]:
    """The options that are keywords of a public function, and what is said of them."""
    for taken in list_records(thing).values() if inspect.isfunction(thing) else ():
        yield from ((name, list_options(taken.kind)[name].help.partition("<")[0]) for name in taken.listed)


def _found(identifier: str) -> object:
    module, _, name = identifier.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _bare(text: str) -> str:
    """Letters and digits alone: Markdown turns the rest into marks."""
    return re.sub(r"[\W_]+", "", text)


@needs_mkdocs
@pytest.mark.slow
def test_guides_have_the_parts_that_github_shows(site: Path) -> None:
    """The site's Markdown is not CommonMark: it would lose a list without an empty line before it."""
    renderer = MarkdownIt("commonmark").enable("table")
    guides = {file: f"{file.stem}.html" for file in (ROOT / "docs").glob("*.md")}
    guides |= {ROOT / source: target for source, target in TOP.items()}
    for source, target in guides.items():
        built = (site / target).read_text("utf-8")
        article = built[built.index("<article") : built.index("</article>")]
        expected, got = (_parts(text) for text in (renderer.render(source.read_text("utf-8")), article))
        assert got == expected and got["h1"] == 1, source.name


def _parts(html: str) -> Counter[str]:
    """How many headings, items, rows, images, codes and emphases there are."""
    return Counter(re.findall(r"<(h[1-6]|ul|ol|li|tr|pre|code|img|strong|em|blockquote)\b", html))


@needs_mkdocs
@pytest.mark.slow
def test_no_link_is_dead(site: Path, pages: dict[Path, _Page]) -> None:
    """Planted faults: a link of cache.md to nosuch.md turns the build red; a page removed after the build this test."""
    checked = 0
    for file, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data"):
                assert link in page.links, (file, f"{link} is fetched from a server")
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file() and target.is_relative_to(site.resolve()), (file, link)
            if parts.fragment and target in pages and not parts.fragment.startswith("__"):
                assert unquote(parts.fragment) in pages[target].ids, (file, link)
            checked += 1
    assert len(pages) > 200 and checked > 5000


@needs_mkdocs
@needs_browser
@pytest.mark.parametrize(
    "every", [pytest.param(False, marks=pytest.mark.slow), pytest.param(True, marks=pytest.mark.campaign)]
)
def test_each_page_is_silent_and_fits(browser: Browser, site: Path, every: bool) -> None:
    """The guides and a page of each folder, in a campaign all."""
    widths = (1280, 420)
    pages = sorted(site.rglob("*.html"))
    first = {page.parent: page for page in reversed(pages)}.values()
    chosen = [page for page in pages if every or page.parent == site or page in first]
    assert len(chosen) > 20
    for page in chosen:
        browser.events.clear()
        browser.show(page, width=widths[0])
        for width in widths if page.parent == site else widths[:1]:
            browser.resize(width)
            assert browser.evaluate("document.documentElement.scrollWidth") <= width, (page.name, width)
        assert browser.said() == [] and browser.requests() <= {"file", "data", "blob"}, page


@needs_mkdocs
@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("start", ["index.html", "api/metric/ece.html"])
@pytest.mark.parametrize(("words", "target"), [("GroupDRO", "group_dro"), ("hold-out", "commands/train")])
def test_the_search_works_from_disk(browser: Browser, site: Path, start: str, words: str, target: str) -> None:
    """What is found is opened. Planted fault: no worker for pages from disk."""
    browser.events.clear()
    browser.show(site / start, width=1280)
    query = "document.querySelector('[data-md-component=search-query]')"
    browser.evaluate(f"{query}.focus()")
    browser.evaluate(f"{query}.value = '{words}'; {query}.dispatchEvent(new KeyboardEvent('keyup', {{key: 'o'}}))")
    found = "[...document.querySelectorAll('.md-search-result__link')].map(link => link.href)"
    deadline = time.monotonic() + 60
    while not (links := browser.evaluate(found)):
        assert time.monotonic() < deadline, "nothing is found"
    named = [link for link in links if target in link]
    assert named and all(link.startswith("file:") for link in links), links
    browser.show(Path(unquote(urlsplit(named[0]).path)), width=1280)
    assert words.lower() in browser.evaluate("document.body.innerText").lower()
    assert browser.said() == [] and browser.requests() <= {"file", "data", "blob"}
