"""The classes of a raw folder that make no task, found before any is built."""

from pathlib import Path

from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.builders.sources.nooch.images import NoochImages
from oochub.errors import OochubError


def without_context(folder: Path, *, alpha: float, area: str = "field", splits: str | None = None) -> dict[str, str]:
    """The classes without a context, each with what the builder says of it, in the order of the 171.

    Args:
        folder: The raw folder.
        alpha: See `NoochImages.contexts`.
        area: See `NoochImages.read`.
        splits: See `NoochImages.read`.

    Raises:
        OochubError: What `NoochImages.read` raises.

    Source: Madras and Zemel 2021, Section 3.2.1, and Figure 10: about 70 of 171 have one at alpha = 0.05.
    """
    images = NoochImages.read(folder, area=area, splits=splits)
    reasons: dict[str, str] = {}
    for name in CATEGORY_IDS:
        try:
            images.contexts(name, alpha)
        except OochubError as error:
            reasons[name] = str(error)
    return reasons
