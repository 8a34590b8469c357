"""What the studies and their commands write, each kind declared once, see `oochub.storage.artifacts`."""

from pathlib import Path

from oochub.storage.artifacts import holds, holds_only, is_repository
from oochub.storage.files import FileKind


def _is_composed(folder: Path) -> bool:
    return is_repository(folder) or holds("features", "o2o.csv", "m2m.csv")(folder)


STUDY = FileKind("a study", (), holds("numbers.csv", "predictions"), is_folder=True)
"""What `oochub imagenet_ood detect` writes: predictions, reports, tables."""
COMPOSED = FileKind("a composition", (), _is_composed, is_folder=True)
"""What `oochub spawrious compose` writes: a Parquet repository, or what a search proposes."""
CLEANLINESS = FileKind("a check of cleanliness", (), holds_only("sample.csv", "rater_*.html"), is_folder=True)
"""What `oochub spawrious cleanliness` writes: pages beside their sample."""
PROMPT_CHECK = FileKind(
    "a check of a prompt", (), holds_only("pictures.jsonl", "pictures", "prompt.html"), is_folder=True
)
"""What `oochub spawrious prompt_check` writes: the images of a prompt, beside a page and what became of each."""
GENERATION = FileKind("generated images", (), holds("generation.json"), is_folder=True)
"""What `oochub spawrious generate` writes: images, their captions and the record of both."""
WATERBIRDS = FileKind(
    "constructed Waterbirds", (), holds_only("construction.json", "metadata.csv", "[0-2][0-9][0-9].*"), is_folder=True
)
"""What `oochub waterbirds construct` writes: images beside their metadata.csv."""
SUBMISSION = FileKind(
    "prediction files of WILDS, or their scores", (), holds("scores.csv", "*/*_pred.*"), is_folder=True
)
"""What `oochub wilds submission` writes."""
DEMO = FileKind("the demo", (), holds("runs", "raw"), is_folder=True)
"""Toy worlds, runs and reports."""
EXAMPLE = FileKind("an example", (), holds("pictures"), is_folder=True)
"""What `oochub example` writes: images, and a model trained on them."""
