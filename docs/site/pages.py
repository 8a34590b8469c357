"""What the site has beside the files of docs/: the reference, and the files at the root that the pages link to.

mkdocs calls the functions `on_...`. The guides stay what a reader of the repository sees: here a link that leaves
docs/ is turned to a page that holds that file, so that the site is whole without the repository.
"""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from api_pages import api_pages
from command_pages import command_pages, literal
from mkdocs.structure.files import File

_ROOT = Path(__file__).parents[2]
_TOP = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
_LINK = re.compile(r"(\]\()(?!\w+:|#)([^)\s#]+)((?:#[^)\s]*)?\))")
_LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json"}
_NO_SEARCH = "---\nsearch:\n  exclude: true\n---\n\n"


def on_config(config: Any) -> Any:
    """Puts the pages of the reference where the navigation says `commands/` and `api/`."""
    chapters: dict[str, list[Any]] = defaultdict(list)
    for page in api_pages():
        chapters[page.chapter].append({page.title: page.path})
    commands = [{name: f"commands/{name}.md"} for name in command_pages()]
    filled = {
        "commands/": ["commands/index.md", *commands],
        "api/": ["api/index.md", *({chapter: pages} for chapter, pages in chapters.items())],
    }
    config.nav = _filled(config.nav, filled)
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """Adds the pages that are no files of docs/."""
    texts = {target: _at_top((_ROOT / source).read_text("utf-8")) for source, target in _TOP.items()}
    texts |= {page.path: page.text() for page in api_pages()}
    texts |= {f"commands/{name}.md": text for name, text in command_pages().items()}
    texts |= {"api/index.md": _api_index(), "commands/index.md": _commands_index()}
    guides = [(Path(file.abs_src_path), file.content_string) for file in files.documentation_pages()]
    guides += [(_ROOT / source, (_ROOT / source).read_text("utf-8")) for source in _TOP]
    for place, text in guides:
        for link in _LINK.finditer(text):
            file = (place.parent / link[2]).resolve()
            if _source_page(file):
                texts[_source_page(file)] = _source_text(file)
    for path, text in texts.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Turns the links of a guide that leave docs/ to the pages that hold those files."""
    if not page.file.abs_src_path:
        return markdown
    return _LINK.sub(lambda link: link[1] + _turned(Path(page.file.abs_src_path), link[2]) + link[3], markdown)


def on_post_build(*, config: Any) -> None:
    """Takes away the page for servers: opened from disk, it names its files from the root of the disk."""
    (Path(config.site_dir) / "404.html").unlink()


def _at_top(text: str) -> str:
    """A file at the root of the repository, its links as from the top of the site."""
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


def _filled(nav: Any, filled: dict[str, list[Any]]) -> Any:
    """The navigation, lists in the place of names that end with a slash."""
    if isinstance(nav, list):
        return [_filled(one, filled) for one in nav]
    if isinstance(nav, dict):
        return {title: _filled(one, filled) for title, one in nav.items()}
    return filled.get(nav, nav)


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
    lines = ["# Commands", "", "What `oochub COMMAND --help` says.", ""]
    for name, text in command_pages().items():
        lines.append(f"- [{name}]({name}.md): {text.splitlines()[2]}")
    return "\n".join(lines) + "\n"
