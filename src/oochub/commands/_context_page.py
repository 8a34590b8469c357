"""The page on which people judge found contexts, written by two commands, and the command that comes after it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oochub import catalog
from oochub.commands._options import out_console
from oochub.storage.artifacts import PAGE


def write_context_page(
    data: Mapping[str, Any], page: Path, *, rows: int, seed: int, folder: Path, as_json: bool
) -> None:
    """Writes the page and, where the result is not JSON, says what to do with it.

    Args:
        data: The splits with contexts.
        page: Where to.
        rows: Of each context.
        seed: Of the sample.
        folder: The repository, for the next command.
        as_json: Whether the command answers in JSON.
    """
    from oochub.storage.files import write_whole

    text = catalog.find_functions("context_page")["reviewing"](data, rows=rows, seed=seed)
    with write_whole(page, kind=PAGE) as draft:
        draft.write_text(text, "utf-8")
    if not as_json:
        out_console.print(
            f"Judge the images of this page, save, then: oochub check_contexts {folder} contexts.csv",
            markup=False,
            soft_wrap=True,
        )
