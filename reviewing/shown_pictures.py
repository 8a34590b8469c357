"""Small JPEGs of chosen examples, for a page."""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from oochub.errors import OochubError

_EDGE = 256  # pixels of a picture's longer side


def shown_pictures(data: Any, ids: Sequence[str], *, what: str) -> dict[str, str]:
    """The pictures of these examples as `data:` addresses, at most 256 pixels a side; no other picture is read.

    Args:
        data: A Dataset or a dict of splits, with `example_id` and `image`.
        ids: The examples.
        what: What they are called in messages ("OOD").

    Raises:
        OochubError: An example that is not in the data, or a picture that cannot be read.
    """
    import datasets
    from tqdm import tqdm

    from oochub.inputs.pictures.preprocessing import decode
    from oochub.inputs.pictures.stored_pictures import picture_bytes

    parts = list(data.values()) if isinstance(data, Mapping) else [data]
    row_of = {
        example: (number, row)
        for number, part in enumerate(parts)
        for row, example in enumerate(part.select_columns(["example_id"])["example_id"])
    }
    wanted = list(dict.fromkeys(ids))
    missing = [example for example in wanted if example not in row_of]
    if missing:
        raise OochubError(
            f"{len(missing):,} of the {len(wanted):,} {what} images to show are not in the data, first {missing[0]}. "
            "Give the data that were predicted (--data-dir)."
        )
    pictures = {}
    raw = [part.select_columns(["image"]).cast_column("image", datasets.Image(decode=False)) for part in parts]
    for example in tqdm(wanted, desc=f"{what} pictures", unit="img", delay=2, disable=None):
        number, row = row_of[example]
        where = f"{what} image {example}"
        pictures[example] = shown_picture(decode(picture_bytes(raw[number][row]["image"], where), where))
    return pictures


def shown_picture(picture: Image.Image) -> str:
    """One picture as a `data:` address of a JPEG, at most 256 pixels a side; the picture itself is left as it is."""
    small = picture.convert("RGB")
    small.thumbnail((_EDGE, _EDGE))
    file = io.BytesIO()
    small.save(file, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode()
