"""Labels of a few images of a folder, and what stands in for the others."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oochub.errors import OochubError, choose_wording
from oochub.settings.option import Settings, option, parse_path, parse_paths


@dataclass(frozen=True, kw_only=True)
class LabelSettings(Settings):
    """The table of labels, more images without one, and other models' answers.

    Raises:
        OochubError: What belongs to a table of labels, without it.

    >>> LabelSettings(labels="few.csv").words()
    ('--labels', 'few.csv')
    """

    labels: str | None = option(
        None,
        help="Table with the labels of a few images of SOURCE: file_name, label, context.",
        more="A CSV, JSON Lines or Parquet file; file_name is relative to the folder. The images with a label must be "
        "a random choice. A row may have a context and no label. See `oochub.evaluation.unlabeled_rows`.",
        panel="Data",
        metavar="FILE",
        typed=Path | None,
        parse=parse_path,
    )
    unlabeled: str | None = option(
        None,
        help="With --labels: folder of more images like those of SOURCE, without labels.",
        more="All images below it.",
        panel="Data",
        metavar="FOLDER",
        typed=Path | None,
        parse=parse_path,
    )
    proxy: Any = option(
        (),
        help="With --labels: predictions of another model on the same images, used in place of the model's own "
        "confidence.",
        more="A list of predictions, or their paths; several are averaged.",
        panel="Data",
        typed=list[Path] | None,
        parse=parse_paths,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        first = next((name for name in ("unlabeled", "proxy") if getattr(self, name)), None)
        if self.labels is None and first:
            named, needed = choose_wording(f"{first}=", f"--{first}"), choose_wording("labels=", "--labels FILE")
            raise OochubError(f"{named} requires a table with the labels of a few images. Pass {needed}.")
