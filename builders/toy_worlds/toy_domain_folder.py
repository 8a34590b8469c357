"""A toy of a user's own domains: drawn things in the folders domain/class/image, by a name for the light."""

from functools import partial
from pathlib import Path

from oochub.builders.toy_worlds import _folder
from oochub.builders.toy_worlds._domain_painting import draw_domains

_SIZES = {"small": 6, "medium": 40}
_DOMAINS = {"drawn": "sketch", "by day": "meadow", "by night": "night"}
_CLASSES = ("boat", "cup", "lamp", "tie")


def toy_domain_folder(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws three domains of four classes, `<domain>/<class>/<image>`, as `domains/folder` takes any.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Images of each class in each domain: "small" (6), "medium" (40), or a number of at least 2.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_domain_folder(tempfile.mkdtemp() + "/domains", size=2)
    >>> len(list(root.glob("*/*/*.jpg")))
    24
    """
    count = _folder.count_of(size, _SIZES, least=2)
    record = {"world": "toy_domain_folder", "drawing": 1, "pictures_per_class": count, "seed": seed}
    return _folder.toy_world(folder, record, partial(_draw, count=count, seed=seed))


def _draw(draft: Path, *, count: int, seed: int) -> None:
    draw_domains(draft, _DOMAINS, _CLASSES, count=count, seed=seed, number=0)
