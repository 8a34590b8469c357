"""OpenOOD v1.5's four benchmarks: the sets of each, the lists that say which images they have, and the classes.

How many images a list has was counted in copies of OpenOOD's lists that others publish: those of CIFAR-10 in
glhr/ood-labelnoise 12cecfc, the others in glhr/COOkeD 217223b. The copies lack the training lists of ImageNet, so these
counts are not checked.
"""

from collections.abc import Mapping
from typing import NamedTuple

from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES, IMAGENET_R_WNIDS, LABELS

CLASSIC, LARGE = "images_classic/", "images_largescale/"
LISTS = "benchmark_imglist/"
SHIFTS = ("none", "covariate", "semantic")

_CIFAR_10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_CIFAR_100 = (
    "apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can "
    "castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin "
    "elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard "
    "lobster man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree pear "
    "pickup_truck pine_tree plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal shark "
    "shrew skunk skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper table tank telephone "
    "television tiger tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm"
)
IMAGENET_200 = tuple(sorted(LABELS[wnid] for wnid in IMAGENET_R_WNIDS))
"""The numbers of the 200 classes, those of ImageNet-R, among ImageNet's 1,000, in the order of OpenOOD's labels."""

CLASSES: dict[str, tuple[str, ...]] = {
    "cifar10": _CIFAR_10,
    "cifar100": tuple(_CIFAR_100.split()),
    "imagenet200": tuple(IMAGENET_1K_NAMES[number] for number in IMAGENET_200),
    "imagenet": tuple(IMAGENET_1K_NAMES),
}
"""The classes of each benchmark in the order of its labels."""


class ListedSet(NamedTuple):
    """One set of a benchmark, as its lists say it.

    Attributes:
        benchmark: The benchmark: "cifar10", "cifar100", "imagenet200" or "imagenet".
        name: What OpenOOD calls the set: "tin".
        folder: Where the paths of its lists begin, in OpenOOD's data.
        lists: The file of each split, in `benchmark_imglist/<benchmark>/`.
        images: How many lines each of them has; None where nobody's copy has the list.
        shift: "none", "covariate" (known classes in other images) or "semantic" (new classes).
        context: "known", "shifted", "near" or "far".
    """

    benchmark: str
    name: str
    folder: str
    lists: Mapping[str, str]
    images: Mapping[str, int | None]
    shift: str
    context: str


def _make_test(benchmark: str, name: str, folder: str, images: int, context: str, file: str = "") -> ListedSet:
    shift = "covariate" if context == "shifted" else "semantic"
    return ListedSet(benchmark, name, folder, {"test": file or f"test_{name}.txt"}, {"test": images}, shift, context)


def _make_known(benchmark: str, folder: str, train: int | None, validation: int, test: int) -> ListedSet:
    lists = {split: f"{of}_{benchmark}.txt" for split, of in _SPLITS.items()}
    images = {"train": train, "validation": validation, "test": test}
    return ListedSet(benchmark, benchmark, folder, lists, images, "none", "known")


_SPLITS = {"train": "train", "validation": "val", "test": "test"}


def _make_cifar(benchmark: str, other: str, images: int, tin: int, places: int) -> dict[str, ListedSet]:
    return {
        benchmark: _make_known(benchmark, CLASSIC, 50_000, 1_000, 9_000),
        f"{benchmark}_{other}": _make_test(benchmark, other, CLASSIC, images, "near"),
        f"{benchmark}_tin": _make_test(benchmark, "tin", CLASSIC, tin, "near"),
        f"{benchmark}_mnist": _make_test(benchmark, "mnist", CLASSIC, 70_000, "far"),
        f"{benchmark}_svhn": _make_test(benchmark, "svhn", CLASSIC, 26_032, "far"),
        f"{benchmark}_texture": _make_test(benchmark, "texture", CLASSIC, 5_640, "far"),
        f"{benchmark}_places365": _make_test(benchmark, "places365", CLASSIC, places, "far"),
    }


def _make_imagenet(benchmark: str, known: ListedSet, v2: int, c: int, r: int) -> dict[str, ListedSet]:
    shifted = {"v2": v2, "c": c, "r": r}
    return {
        benchmark: known,
        **{
            f"{benchmark}_{letter}": _make_test(
                benchmark, f"imagenet_{letter}", LARGE, images, "shifted", f"test_{benchmark}_{letter}.txt"
            )
            for letter, images in shifted.items()
        },
        f"{benchmark}_ssb_hard": _make_test(benchmark, "ssb_hard", LARGE, 49_000, "near"),
        f"{benchmark}_ninco": _make_test(benchmark, "ninco", LARGE, 5_879, "near"),
        f"{benchmark}_inaturalist": _make_test(benchmark, "inaturalist", LARGE, 10_000, "far"),
        f"{benchmark}_textures": _make_test(benchmark, "textures", CLASSIC, 5_160, "far"),
        f"{benchmark}_openimage_o": _make_test(benchmark, "openimage_o", LARGE, 15_869, "far"),
    }


SETS: dict[str, ListedSet] = {
    **_make_cifar("cifar10", "cifar100", 9_000, 7_793, 35_195),
    **_make_cifar("cifar100", "cifar10", 10_000, 6_526, 33_773),
    **_make_imagenet("imagenet200", _make_known("imagenet200", LARGE, None, 1_000, 9_000), 2_000, 2_000, 30_000),
    **_make_imagenet("imagenet", _make_known("imagenet", LARGE, None, 5_000, 45_000), 10_000, 10_000, 30_000),
}
"""Every config: "cifar10" has the known classes, "cifar10_tin" a set beside them."""
