"""ImageNet-1K and the sets beside it: where each lies, what shift it has, and what a row says of an image.

OpenOOD v1.5 (Zhang et al. 2024, Section 4) calls SSB-hard and NINCO near and iNaturalist, Textures and OpenImage-O far,
by how well detectors do on them; the context of the first four says so.
"""

from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from oochub.builders.sources.imagenet import codec_and_size
from oochub.builders.sources.imagenet_ood_classes import OOD_CLASSES
from oochub.builders.sources.objectnet import BETWEEN
from oochub.builders.sources.stored import Enter, Stored
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES, LABELS

CORRUPTIONS = (
    *("gaussian_noise", "shot_noise", "impulse_noise"),
    *("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    *("snow", "frost", "fog", "brightness"),
    *("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
)
"""The 15 corruptions over which ImageNet-C's error is a mean, in the paper's order."""
SEVERITIES = ("1", "2", "3", "4", "5")
_NOT_OF_THE_15 = ("extra", "speckle_noise", "gaussian_blur", "spatter", "saturate")
RENDITIONS = (
    *("art", "cartoon", "deviantart", "embroidery", "graffiti", "graphic", "misc", "origami"),
    *("painting", "sculpture", "sketch", "sticker", "tattoo", "toy", "videogame"),
)
"""What the names of ImageNet-R's files begin with."""
SHIFTS = ("none", "covariate", "semantic")


class ImagenetSet(NamedTuple):
    """One of the sets.

    Attributes:
        folder: Its folder, below the data folder.
        shift: "none", "covariate" (the same classes, other images) or "semantic" (other classes).
        contexts: The contexts that an image can have.
        images: Number of published images.
        classes: Number of their classes; 0 if it is not known.
    """

    folder: str
    shift: str
    contexts: tuple[str, ...]
    images: int
    classes: int


SETS: dict[str, ImagenetSet] = {
    "imagenet_1k": ImagenetSet("imagenet/val/", "none", ("photo",), 50_000, 1000),
    "imagenet_c": ImagenetSet("imagenet-c/", "covariate", CORRUPTIONS, 75 * 50_000, 1000),
    "imagenet_r": ImagenetSet("imagenet-r/", "covariate", RENDITIONS, 30_000, 200),
    "imagenet_sketch": ImagenetSet("sketch/", "covariate", ("sketch",), 50_889, 1000),
    "imagenet_ood": ImagenetSet("imagenet-21k/", "semantic", ("photo",), 31_802, len(OOD_CLASSES)),
    "openimage_o": ImagenetSet("openimage_o/", "semantic", ("photo",), 17_632, 0),
    "ssb_hard": ImagenetSet("ssb_hard/", "semantic", ("near",), 49_000, 980),  # OpenOOD v1.5, Section 4
    "ninco": ImagenetSet("ninco/", "semantic", ("near",), 5_879, 0),  # the same
    "inaturalist": ImagenetSet("inaturalist/", "semantic", ("far",), 10_000, 0),  # MOS, Section 4.1
    "textures": ImagenetSet("texture/", "semantic", ("far",), 5_640, 0),  # the same
    "imagenet_a": ImagenetSet("imagenet-a/", "covariate", ("photo",), 7_500, 200),
    "imagenet_v2": ImagenetSet("imagenetv2-matched-frequency-format-val/", "covariate", ("photo",), 10_000, 1000),
    "objectnet": ImagenetSet("objectnet-1.0/", "covariate", ("photo",), 50_000, 313),  # 113 of them in ImageNet-1K
}
_BY_CLASS = ("imagenet_r", "imagenet_sketch", "imagenet_a")
"""Sets whose published names are <wnid>/<file>."""
LISTED = ("openimage_o", "ssb_hard", "ninco", "inaturalist", "textures")
"""Sets of which every image counts, or those that a list names."""
OPENOOD_LISTS = {"openimage_o": 15_869, "textures": 5_160}
"""How many images OpenOOD's lists for tests name where these are fewer than the published ones.

Counted in a copy of its lists, glhr/COOkeD 217223b.
"""


def set_of(config: str) -> str:
    """The set that a config shows: itself, or "imagenet_c" for one corruption at one severity.

    >>> set_of("fog_3"), set_of("imagenet_r")
    ('imagenet_c', 'imagenet_r')
    """
    return config if config in SETS else "imagenet_c"


def name_validation_image(example_id: str) -> str:
    """The validation image that a row shows, as it is or corrupted; the row's own id for any other image.

    >>> name_validation_image("fog/3/ILSVRC2012_val_00000293"), name_validation_image("imagenet_r/n01440764/art_0")
    ('ILSVRC2012_val_00000293', 'imagenet_r/n01440764/art_0')
    """
    name = example_id.rpartition("/")[2]
    return name if name.startswith("ILSVRC2012_val_") else example_id


def entering(config: str) -> Enter:
    """Which folders and archives of its set a config looks into: those of its corruption, of classes that are OOD."""
    if config == "imagenet_ood":
        return lambda name: name not in LABELS
    if set_of(config) != "imagenet_c":
        return lambda name: True
    if config == "imagenet_c":
        return lambda name: name not in _NOT_OF_THE_15
    own = config.rpartition("_")[::2]
    return lambda name: name in own or name not in (*_NOT_OF_THE_15, *CORRUPTIONS, *SEVERITIES)


def published_name(environment: str, stored: Stored) -> str:
    """The name that an image has in its published set, wherever and however it is stored.

    >>> published_name("imagenet_ood", Stored("0012/n02925009_2846.webp", "n02925009"))
    'n02925009/n02925009_2846.JPEG'
    >>> published_name("imagenet_c", Stored("weather/fog/3/n01440764/ILSVRC2012_val_00000293.JPEG", "n01440764"))
    'fog/3/n01440764/ILSVRC2012_val_00000293.JPEG'
    """
    path = PurePosixPath(stored.name)
    if environment in ("imagenet_v2", "objectnet"):
        return "/".join(path.parts[-2:])
    if environment == "imagenet_ood":
        return f"{stored.label}/{path.stem}.JPEG"
    if environment == "imagenet_c":
        return "/".join(path.parts[-4:])
    if environment in _BY_CLASS or path.name.startswith(f"{stored.label}_"):
        return f"{stored.label}/{path.name}"
    return path.name


def rendition(stem: str) -> str:
    """What an image of ImageNet-R is, which its file's name begins with; "" for a word that the published lack.

    >>> rendition("art_0"), rendition("collage_2")
    ('art', '')
    """
    word = stem.partition("_")[0]
    return word if word in RENDITIONS else ""


def columns_of(environment: str, stored: Stored, place: Path, *, within: Path | None = None) -> dict[str, Any]:
    """Every column of an image, its bytes read from below `place`; no link leads out of `within`, where it is given.

    Raises:
        OochubError: The bytes are missing, cut off or not an image, or lie outside `within`; the file is named.
    """
    data = stored.read(place, within=within)
    name = published_name(environment, stored)
    codec, width, height = codec_and_size(data, f"{stored.name} in {place / stored.archive}")
    wnid, *others = stored.label.split(BETWEEN)  # several are right in ObjectNet alone
    file, label = PurePosixPath(name), LABELS.get(wnid, -1)
    imagenet_set = SETS[environment]
    context = imagenet_set.contexts[0]
    example, severity = file.stem, None
    if environment == "imagenet_c":
        context, severity = file.parts[0], int(file.parts[1])
        example = f"{context}/{severity}/{file.stem}"
    elif environment in (*_BY_CLASS, "imagenet_v2"):
        context = rendition(file.stem) or "misc" if environment == "imagenet_r" else context
        example = f"{environment}/{stored.label}/{file.stem}"  # a stem such as art_0 is in every class
    also = {"also_right": [IMAGENET_1K_NAMES[LABELS[wnid]] for wnid in others]} if environment == "objectnet" else {}
    return {
        "example_id": example,
        "image": {"bytes": data, "path": file.name},
        "label": label,
        "environment": environment,
        "group": f"{environment}/{context}",
        "shift": imagenet_set.shift,
        "is_ood": imagenet_set.shift == "semantic",
        "context": context,
        "severity": severity,
        "wnid": wnid,
        "class_name": IMAGENET_1K_NAMES[label].partition(", ")[0] if label >= 0 else OOD_CLASSES.get(wnid, ""),
        **also,
        "file_name": name,
        "codec": codec,
        "width": width,
        "height": height,
    }
