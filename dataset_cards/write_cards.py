"""Writes `dataset_cards/<name>.md` of every benchmark; run by `make cards`."""

from pathlib import Path

from oochub import get, names
from oochub.dataset_cards.card import card


def write_cards(folder: Path = Path(__file__).parent) -> list[Path]:
    """Writes the cards and returns their paths.

    >>> import tempfile
    >>> "nooch.md" in [path.name for path in write_cards(Path(tempfile.mkdtemp()))]
    True
    """
    paths = []
    for name in names("benchmark"):
        path = folder / f"{name}.md"
        path.write_text(str(card(get("benchmark", name))), "utf-8")
        paths.append(path)
    return paths


if __name__ == "__main__":
    write_cards()
