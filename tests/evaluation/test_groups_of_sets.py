"""Which rows of sets of data are made of one image, by hand."""

from types import SimpleNamespace

import numpy as np

from oochub.detection.full_spectrum import _find_images


def test_rows_of_one_image_are_told_where_an_image_is_there_twice():
    """Rows out of distribution do not count. Planted fault seen: images that are all there once."""

    def make(*ids, ood=()):
        column = {"example_id": np.array(ids)}
        return SimpleNamespace(predictions=SimpleNamespace(column=column.get), is_ood=np.isin(ids, ood))

    spectrum = SimpleNamespace(image_of=lambda name: name.partition("/")[0])
    plain, blurred = make("a/0", "b/0"), make("a/blur", "c/blur", "c/new", ood=["c/new"])
    assert _find_images([plain], spectrum) is None
    assert _find_images([plain, blurred], spectrum).tolist() == ["a", "b", "a", "c"]
    assert _find_images([plain, make("x", "b/1", ood=["b/1"])], spectrum) is None
    assert _find_images([plain, blurred], SimpleNamespace(image_of=None)) is None
