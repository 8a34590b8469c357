"""A toy of a user's own domains: drawn things in the folders domain/class/image, by a name for the light."""

from pathlib import Path

from oochub.builders.toy_worlds._folder import Files, World
from oochub.builders.toy_worlds._things import draw_domains

_WORLD = World("toy_domain_folder", {"small": 6, "medium": 40}, 2, counts="pictures_per_class")
_DOMAINS = "drawn=sketch, by day=meadow, by night=night"


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
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    return draw_domains(_DOMAINS, "boat cup lamp tie", count=count, stream=(seed, 0))
