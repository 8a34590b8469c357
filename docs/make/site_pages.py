"""Writes the whole source of the docs site, so that a site builder finds every page as a file and needs no hooks.

`python docs/make/site_pages.py FOLDER` writes `FOLDER/mkdocs.yml` and `FOLDER/docs/`: the guides, the reference of
commands and of Python, and the files at the root that the pages link to; `make docs` builds that. The guides stay what
a reader of the repository sees: here a link that leaves docs/ is turned to a page that holds that file, so that the
site is whole without the repository.
"""

import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from api_pages import api_pages
from command_pages import command_pages, command_panel, command_path, literal

from oochub.report.theme import DARK, LIGHT

_ROOT = Path(__file__).resolve().parents[2]
_TOP = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
_LINK = re.compile(r"(\]\()(?!\w+:|#)([^)\s#]+)((?:#[^)\s]*)?\))")
_LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json"}
_NO_SEARCH = "---\nsearch:\n  exclude: true\n---\n\n"
_NO_NAVIGATION = "---\nhide:\n  - navigation\n---\n\n"  # the home has no pages beside it
_NO_PARTS = (".py", ".json", ".parquet", ".toml", ".yaml", ".jsonl")  # of docs/: what pages are made of


def write_site(folder: Path) -> Path:
    """Writes the source of the site into a folder, in the place of an earlier one; gives its mkdocs.yml."""
    pages = folder / "docs"
    shutil.rmtree(pages, ignore_errors=True)
    docs = _ROOT / "docs"
    for file in sorted(docs.rglob("*")):
        if file.is_file() and file.suffix not in _NO_PARTS and "__pycache__" not in file.parts:
            target = pages / file.relative_to(docs)
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".md":
                target.write_text(_guide(file), "utf-8")
            else:
                shutil.copyfile(file, target)
    for path, text in _generated_pages().items():
        target = pages / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    (pages / "site" / "colors.css").write_text(_colors(), "utf-8")
    config = folder / "mkdocs.yml"
    config.write_text(_config((_ROOT / "mkdocs.yml").read_text("utf-8")), "utf-8")
    return config


def _config(text: str) -> str:
    """The site's mkdocs.yml: its pages in the navigation, and the paths of the repository in full."""
    chapters: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for page in api_pages():
        chapters[page.chapter].append((page.title, page.path))
    commands = ["- commands/index.md", *(f"- {name}: {command_path(name)}" for name in command_pages())]
    api = ["- api/index.md"]
    for chapter, pages in chapters.items():
        api += [f"- {chapter}:", *(f"    - {title}: {path}" for title, path in pages)]
    for name, lines in (("commands/", commands), ("api/", api)):
        text = _replaced(text, rf"^( *)(- \w+:) {name}$", lambda at, lines=lines: "\n".join(_nested(at, lines)))
    text = _replaced(text, r"paths: \[src\]", f"paths: [{_ROOT / 'src'}]")
    return _replaced(text, r"\[docs/site/docstring_forms\.py\]", f"[{_ROOT}/docs/site/docstring_forms.py]")


def _colors() -> str:
    """The colors of the report page, by the names that site.css uses."""
    schemes = {"default": LIGHT, "slate": DARK}
    return "\n".join(
        f'[data-md-color-scheme="{name}"] {{ {" ".join(f"--{key}: {value};" for key, value in colors.items())} }}'
        for name, colors in schemes.items()
    )


def _nested(place: re.Match[str], lines: list[str]) -> Iterator[str]:
    """A line of the navigation with these below it."""
    yield f"{place[1]}{place[2]}"
    yield from (f"{place[1]}    {line}" for line in lines)


def _replaced(text: str, pattern: str, by: object) -> str:
    """The text with the one place of a pattern replaced."""
    result, count = re.subn(pattern, by if callable(by) else str(by), text, flags=re.M)
    if count != 1:
        raise SystemExit(f"mkdocs.yml has {count} places of {pattern}, but one is wanted.")
    return result


def _generated_pages() -> dict[str, str]:
    """The text of each page that is no file of docs/, by its path from the top of the site."""
    texts = {target: _at_top((_ROOT / source).read_text("utf-8")) for source, target in _TOP.items()}
    texts["index.md"] = f"{_NO_NAVIGATION}{texts['index.md']}"
    texts |= {page.path: page.text() for page in api_pages()}
    texts |= {command_path(name): text for name, text in command_pages().items()}
    texts |= {"api/index.md": _api_index(), "commands/index.md": _commands_index()}
    for place in [*sorted((_ROOT / "docs").rglob("*.md")), *(_ROOT / source for source in _TOP)]:
        for link in _LINK.finditer(place.read_text("utf-8")):
            file = (place.parent / link[2]).resolve()
            if _source_page(file):
                texts[_source_page(file)] = _source_text(file)
    return texts


def _guide(file: Path) -> str:
    """A guide, its links that leave docs/ turned to the pages that hold those files."""
    return _LINK.sub(lambda link: link[1] + _turned(file, link[2]) + link[3], file.read_text("utf-8"))


def _at_top(text: str) -> str:
    """A file at the root of the repository, its links as from the top of the site."""
    text = re.sub(r'\b(src|srcset)="docs/', r'\1="', text)
    return _LINK.sub(lambda link: link[1] + _turned(_ROOT / "README.md", link[2]).removeprefix("docs/") + link[3], text)


def _turned(place: Path, link: str) -> str:
    """Where a link of the file `place` leads in the site; a link within docs/ stays, and so does one to nothing."""
    file = (place.parent / link).resolve()
    target = _TOP.get(str(file.relative_to(_ROOT))) if file.is_relative_to(_ROOT) else None
    target = target or _source_page(file)
    return target or link


def _source_page(file: Path) -> str:
    """The page that shows a file of the repository that is no page and no part of docs/; "" of any other."""
    if not file.is_file() or not file.is_relative_to(_ROOT) or file.is_relative_to(_ROOT / "docs"):
        return ""
    name = str(file.relative_to(_ROOT))
    return "" if name in _TOP else f"source/{name}.md"


def _source_text(file: Path) -> str:
    """A page that shows the text of a file; the search leaves it out."""
    fence = "`" * 8
    language = _LANGUAGES.get(file.suffix, "text")
    return f"{_NO_SEARCH}# {file.name}\n\n{fence}{language}\n{file.read_text('utf-8')}\n{fence}\n"


def _api_index() -> str:
    """The list of the reference of Python."""
    lines = ["# Python", "", "Every public name of `oochub`, from its docstring."]
    chapter = ""
    for page in api_pages():
        if page.chapter != chapter:
            chapter = page.chapter
            lines += ["", f"## {chapter}", ""]
        lines.append(f"- [{page.title}]({page.path.removeprefix('api/')}): {literal(page.summary())}")
    return "\n".join(lines) + "\n"


def _commands_index() -> str:
    """The list of the commands, with the first sentence of each."""
    lines = ["# Commands", "", "What `oochub COMMAND --help-all` says."]
    panel = ""
    for name, text in command_pages().items():
        if command_panel(name) != panel:
            panel = command_panel(name)
            lines += ["", f"## {panel}", ""]
        lines.append(f"- [{name}]({command_path(name).removeprefix('commands/')}): {text.splitlines()[2]}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_site(Path(sys.argv[1]))
