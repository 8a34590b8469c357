"""Names in print: classes of ImageNet by one word, all of them apart."""

from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.report.wording import words


def test_classes_of_imagenet_stay_apart():
    """Planted fault: the first word of every class; two are cardigans then, and two maillots."""
    shown = [words(name) for name in IMAGENET_1K_NAMES]
    assert len({word.casefold() for word in shown}) == len(shown) == 1000
    assert [word for word in shown if "," in word] == ["Cardigan, Cardigan Welsh corgi", "maillot, tank suit"]
    assert not [word for word in shown if "…" in word]


def test_other_names_keep_their_commas():
    """Only a name of ImageNet is a list of words for one thing. Planted fault: every name cut at its first comma."""
    assert words("at night, rain") == "at night, rain"
