"""A toy of DomainBed's data sets of images: drawn classes in the folders of PACS, VLCS and four others."""

from pathlib import Path

from oochub.builders.toy_worlds._folder import Files, World
from oochub.builders.toy_worlds._things import draw_domains

_WORLD = World("toy_domains", {"small": 4, "medium": 40}, 1, counts="pictures_per_class", version={"drawing": 2})
_DATA_SETS = {  # the domains, each with its way of drawing, and the classes
    "PACS": (
        "art_painting=art, cartoon=cartoon, photo=photo, sketch=sketch",
        "dog elephant giraffe guitar horse house person",
    ),
    "VLCS": ("Caltech101=product, LabelMe=sand, SUN09=meadow, VOC2007=photo", "bird car chair dog person"),
    "office_home": (
        "Art=art, Clipart=clipart, Product=product, Real World=photo",
        "Alarm_Clock Backpack Bike Hammer Mug",
    ),
    "terra_incognita": (
        "location_100=night, location_38=meadow, location_43=sand, location_46=snow",
        "bird bobcat cat coyote dog empty opossum rabbit raccoon squirrel",
    ),
    "domain_net": (
        "clipart=clipart, infograph=poster, painting=art, quickdraw=quickdraw, real=photo, sketch=sketch",
        "airplane backpack car soccer_ball umbrella",
    ),
    "public_dg_0416/train": (
        "autumn=sand, dim=night, grass=meadow, outdoor=photo, rock=product, water=snow",
        "bear bicycle bird boat bus",
    ),
}


def toy_domains(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws small data sets of `<data set>/<domain>/<class>/<image>`: every one that a config of `domains` reads.

    PACS, VLCS and Terra Incognita have their published domains and classes, Office-Home, DomainNet and NICO++ their
    domains and five classes. A class is a shape, which need not be its likeness; a domain is a way of drawing, such as
    sketches, or a ground, so that a model of some domains does worse on another one.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Images of each class in each domain: "small" (4), "medium" (40), or a number.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of `domains` takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_domains(tempfile.mkdtemp() + "/domains", size=1)
    >>> sorted(path.name for path in root.glob("PACS/*"))
    ['art_painting', 'cartoon', 'photo', 'sketch']
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    for number, (name, (domains, classes)) in enumerate(_DATA_SETS.items()):
        for path, picture in draw_domains(domains, classes, count=count, stream=(seed, number)):
            yield f"{name}/{path}", picture
