"""Opened pictures as rows that the inputs of a model read."""

from collections.abc import Sequence

import datasets

from oochub.context_finder import OpenedPicture


def picture_rows(pictures: Sequence[OpenedPicture]) -> datasets.Dataset:
    """A data set of the column `image`, of the bytes of the pictures.

    >>> picture_rows([]).column_names
    ['image']
    """
    features = datasets.Features({"image": datasets.Image()})
    return datasets.Dataset.from_dict(
        {"image": [{"bytes": picture.content, "path": None} for picture in pictures]}, features
    )
