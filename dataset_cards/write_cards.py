"""Writes the card of every benchmark and the README of every metric; run by `make cards`."""

from pathlib import Path

from oochub import catalog
from oochub.dataset_cards.card import card
from oochub.dataset_cards.metric_card import metric_card


def write_cards(root: Path = Path(__file__).parents[1]) -> list[Path]:
    """Writes `dataset_cards/<benchmark>.md` and `eval_modules/metrics/<metric>/README.md`, and returns their paths.

    Args:
        root: The folder that holds `dataset_cards` and `eval_modules`.

    >>> import tempfile
    >>> {"celebA.md", "waterbirds.md"} <= {path.name for path in write_cards(Path(tempfile.mkdtemp()))}
    True
    """
    texts = {
        root / "dataset_cards" / f"{name}.md": str(card(catalog.get("benchmark", name))) for name in _own("benchmark")
    }
    texts |= {root / "eval_modules" / "metrics" / name / "README.md": metric_card(name) for name in _own("metric")}
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return list(texts)


def _own(kind: str) -> list[str]:
    return [name for name in catalog.names(kind) if catalog.module_name(kind, name).startswith("oochub.")]


if __name__ == "__main__":
    write_cards()
