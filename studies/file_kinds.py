"""What the studies and their commands write, each kind declared once, see `oochub.storage.artifacts`."""

from pathlib import Path

from oochub.storage.artifacts import FileKind, find_configs, has_keys, holds, when

_ROWS = has_keys("schema_version", "benchmark", "slices")  # of a report
_RANKING = when("*.csv", holds("rank,proposed,about,"))


def _is_composed(folder: Path) -> bool | tuple[str, ...]:
    own = ("correlations.csv", "o2o*", "m2m*", "features/*")
    configs = find_configs(folder)
    return (*configs, *own) if configs or _RANKING(folder) else False


STUDY = FileKind(
    "a study",
    (),
    when("numbers.csv", holds("model,seed,detector,in,out,")),
    is_folder=True,
    names=("numbers.csv", "tables/*", "rows/*", "reports/*.json", "predictions/*/*"),
)
"""What `oochub imagenet_ood detect` writes: predictions, reports, tables."""
COMPOSED = FileKind("a composition", (), _is_composed, is_folder=True, names=("correlations.csv", "o2o*", "m2m*"))
"""What `oochub spawrious compose` writes: a Parquet repository, or what a search proposes."""
CLEANLINESS = FileKind(
    "a check of cleanliness",
    (),
    when("rater_*.html", holds("oochub", "no-referrer")),
    is_folder=True,
    names=("sample.csv", "rater_*.html"),
)
"""What `oochub spawrious cleanliness` writes: pages beside their sample."""
PROMPT_CHECK = FileKind(
    "a check of a prompt",
    (),
    when("prompt.html", holds("oochub", "no-referrer")),
    is_folder=True,
    names=("pictures.jsonl", "pictures/*.png", "prompt.html"),
)
"""What `oochub spawrious prompt_check` writes: the images of a prompt, beside a page and what became of each."""
GENERATION = FileKind(
    "generated images",
    (),
    when("generation.json", has_keys("plan", "model", "captioner", "shares")),
    is_folder=True,
    names=("generation.json", "contact_sheet.png", "manifest.parquet", "tries/*.jsonl", "[0-9]/*.png"),
)
"""What `oochub spawrious generate` writes: images, their captions and the record of both."""
WATERBIRDS = FileKind(
    "constructed Waterbirds",
    (),
    when("construction.json", has_keys("seed", "species", "categories", "rows")),
    is_folder=True,
    names=("construction.json", "metadata.csv", "[0-2][0-9][0-9].*/*"),
)
"""What `oochub waterbirds construct` writes: images beside their metadata.csv."""
SUBMISSION = FileKind(
    "prediction files of WILDS, or their scores",
    (),
    when("reports/*.json", _ROWS),
    is_folder=True,
    names=("scores.csv", "numbers.csv", "reports/*.json", "*/*_pred.csv", "*/*_pred.jsonl"),
)
"""What `oochub wilds submission` writes."""
DEMO = FileKind("the demo", (), when("runs/*/report.json", _ROWS), is_folder=True)
"""Toy worlds, runs and reports."""
PHOTOGRAPHS = FileKind(
    "photographs",
    (),
    when("benchmark.toml", holds("Objects in photographs")),
    is_folder=True,
    names=("benchmark.toml", "ATTRIBUTION.tsv", "objects/*", "objects/masks/*.png", "photographs/*.jpg"),
)
"""What `oochub example --photographs` writes."""
EXAMPLE = FileKind("an example", (), when("pictures/toy_world.json", has_keys()), is_folder=True)
"""What `oochub example` writes: images, and a model trained on them."""
