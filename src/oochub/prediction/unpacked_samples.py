"""The samples of a built WebDataset as plain `datasets` reads them, as the rows that were built: one column each."""

from collections.abc import Mapping
from typing import Any

from oochub.records.build_record import BUILD_COLUMN

_JSON = "json"
_IMAGE = "image"


def unpacked_samples(data: Any) -> Any:
    """The data with the columns of the JSON as columns and the picture as `image`; other data as they are.

    Args:
        data: A Dataset, an IterableDataset, whose pictures stay bytes, or a dict of them. Samples are known by their
            columns: `json` with the column `build` in it, and the picture, if there is one.

    >>> import datasets
    >>> features = datasets.Features({"json": {"label": datasets.Value("int64"), "build": datasets.Value("string")}})
    >>> rows = datasets.Dataset.from_dict({"json": [{"label": 1, "build": "{}"}]}, features)
    >>> unpacked_samples(rows)[0]
    {'label': 1, 'build': '{}'}
    """
    if isinstance(data, Mapping):
        return type(data)({name: unpacked_samples(part) for name, part in data.items()})  # type: ignore[call-arg]
    features = getattr(data, "features", None) or {}
    inner, pictures = features.get(_JSON), [name for name in features if name != _JSON]
    if not isinstance(inner, dict) or BUILD_COLUMN not in inner or len(pictures) > 1:
        return data
    return _unpacked(data, pictures)


def _unpacked(part: Any, pictures: list[str]) -> Any:
    from datasets import Dataset, Features, Image

    inner = dict(part.features[_JSON])
    if pictures:
        inner[_IMAGE] = part.features[pictures[0]]  # in its place among the columns
    if isinstance(part, Dataset):
        names = {f"{_JSON}.{name}": name for name in inner if name != _IMAGE} | dict.fromkeys(pictures, _IMAGE)
        flat = part.flatten(max_depth=2).select_columns(list(names))
        return flat.rename_columns(names).select_columns(list(inner))
    for name in pictures:  # decoded, they would be encoded anew by who asks for their bytes
        inner[_IMAGE] = Image(decode=False)
        part = part.cast_column(name, Image(decode=False))
    return part.map(_row, remove_columns=[_JSON, *pictures], features=Features(inner))


def _row(sample: Mapping[str, Any]) -> dict[str, Any]:
    row = dict(sample[_JSON])
    for name in sample:
        if name != _JSON:
            row[_IMAGE] = sample[name]
    return row
